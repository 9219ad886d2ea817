// The rows of one permission group: its sums, and its permissions while it is open. A row renders only when one of its own
// cells has changed.
import type { Permission } from '@castellan/sdk';
import { IconChevronDown } from '@tabler/icons-react';
import { memo, type ReactElement } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { type Held, noMarks, type Pending, type RowMarks } from '../../components/role-changes/pending.ts';
import type { CountedRole } from '../../data/catalogue.ts';
import type { Section } from '../../data/permissions/permission-sections.ts';
import { t } from '../../text.ts';

type Props = {
  section: Section;
  columns: readonly CountedRole[];
  held: Held;
  pending: Pending;
  isOpen: boolean;
  isReadOnly: boolean;
};

export const SectionRows = memo(
  function SectionRows({ section, columns, held, pending, isOpen, isReadOnly }: Props): ReactElement {
    const { id, name, permissions } = section;
    return (
      <tbody>
        <tr className="matrix-group">
          <th scope="rowgroup">
            <button type="button" data-stop data-section={id} tabIndex={-1} aria-expanded={isOpen}>
              <IconChevronDown size={15} aria-hidden />
              {name} <span className="muted">{formatNumber(permissions.length)}</span>
            </button>
          </th>
          {columns.map((role) => (
            <td key={role.id}>{sumOf(permissions, role.id, held, pending)}</td>
          ))}
        </tr>
        {isOpen &&
          permissions.map((permission) => (
            <PermissionRow
              key={permission.id}
              permission={permission}
              columns={columns}
              held={held}
              marks={pending.get(permission.id) ?? noMarks}
              isReadOnly={isReadOnly}
            />
          ))}
      </tbody>
    );
  },
  (a, b) =>
    a.section === b.section &&
    a.columns === b.columns &&
    a.held === b.held &&
    a.isOpen === b.isOpen &&
    a.isReadOnly === b.isReadOnly &&
    (a.pending === b.pending ||
      a.section.permissions.every(({ id }) => a.pending.get(id) === b.pending.get(id))),
);

/** Such as "3/5"; empty for none. */
function sumOf(permissions: readonly Permission[], roleId: string, held: Held, pending: Pending): string {
  const has = held.get(roleId);
  const count = permissions.filter(
    ({ id }) => (has?.has(id) ?? false) !== (pending.get(id)?.has(roleId) ?? false),
  ).length;
  return count === 0 ? '' : t.matrix.of(formatNumber(count), formatNumber(permissions.length));
}

type RowProps = {
  permission: Permission;
  columns: readonly CountedRole[];
  held: Held;
  marks: RowMarks;
  isReadOnly: boolean;
};

const PermissionRow = memo(function PermissionRow({
  permission: { id, name, description },
  columns,
  held,
  marks,
  isReadOnly,
}: RowProps): ReactElement {
  return (
    <tr>
      <th scope="row" className="mono" title={description || undefined}>
        {name}
      </th>
      {columns.map((role) => {
        const mark = marks.get(role.id);
        const isOn = mark ? mark === 'add' : (held.get(role.id)?.has(id) ?? false);
        const isLocked = role.is_system || isReadOnly;
        return (
          <td key={role.id} data-locked={role.is_system || undefined}>
            {/* biome-ignore lint/a11y/useSemanticElements: a plain checkbox cannot be reached by arrows alone */}
            <button
              type="button"
              role="checkbox"
              aria-checked={isOn}
              aria-label={mark ? t.matrix.unsavedCell(role.name, name) : t.matrix.cell(role.name, name)}
              aria-disabled={isLocked || undefined}
              data-mark={mark}
              data-stop
              data-role={role.id}
              data-permission={id}
              tabIndex={-1}
            />
          </td>
        );
      })}
    </tr>
  );
});
