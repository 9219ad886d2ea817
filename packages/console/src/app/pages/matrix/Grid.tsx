// The table of roles and permissions. One change renders one row: rows are memoised, and clicks and keys are handled once
// for all cells. It must not know what saves the changes.
import type { Permission } from '@castellan/sdk';
import { IconChevronDown, IconLock, IconUsers } from '@tabler/icons-react';
import { type KeyboardEvent, type MouseEvent, memo, type ReactElement, useEffect, useRef } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { addressOf } from '../../../common/page-settings.ts';
import {
  type Cell,
  type Held,
  noMarks,
  type Pending,
  type RowMarks,
} from '../../components/role-changes/pending.ts';
import type { CountedRole } from '../../data/catalogue.ts';
import { t } from '../../text.ts';
import type { Section } from './groups.ts';
import { ensureTabStop, makeTabStop, moveFocus } from './keys.ts';

type Props = {
  columns: readonly CountedRole[];
  sections: readonly Section[];
  held: Held;
  pending: Pending;
  total: number;
  isOpen: (section: Section) => boolean;
  onToggle: (section: Section) => void;
  /** A cell that may be changed. */
  onFlip: (cell: Cell) => void;
  /** A cell that may not: null for a system role. */
  onLocked: (roleId: string) => void;
  onOpenRole: (id: string) => void;
  isReadOnly: boolean;
};

export function Grid(props: Props): ReactElement {
  const { columns, sections, held, pending, isReadOnly } = props;
  const grid = useRef<HTMLTableElement>(null);
  const column = useRef(0);
  useEffect(() => {
    if (grid.current) ensureTabStop(grid.current);
  });
  const onClick = (event: MouseEvent): void => {
    if (!(event.target instanceof Element) || !grid.current) return;
    const stop = event.target.closest<HTMLElement>('[data-stop]');
    if (!stop) return;
    makeTabStop(grid.current, stop);
    const { role, permission, section } = stop.dataset;
    if (section !== undefined) {
      const found = sections.find(({ id }) => id === section);
      if (found) props.onToggle(found);
    } else if (role !== undefined && permission !== undefined) {
      if (stop.ariaDisabled === 'true') props.onLocked(role);
      else props.onFlip({ roleId: role, permissionId: permission });
    } else if (role !== undefined && !event.metaKey && !event.ctrlKey && !event.shiftKey) {
      event.preventDefault();
      props.onOpenRole(role);
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!grid.current || event.altKey || event.metaKey) return;
    const moved = moveFocus(grid.current, event, column.current);
    if (moved === null) return;
    column.current = moved;
    event.preventDefault();
  };
  return (
    <table
      className="matrix"
      // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the cells are reached and changed by keys
      role="grid"
      aria-label={t.matrix.grid}
      aria-describedby="matrix-help"
      aria-readonly={isReadOnly}
      ref={grid}
      onClick={onClick}
      onKeyDown={onKeyDown}
    >
      <colgroup>
        <col className="matrix-names" />
        <col className="matrix-roles" span={Math.max(1, columns.length)} />
      </colgroup>
      <thead>
        <tr>
          <th scope="col">{t.matrix.permission}</th>
          {columns.map((role) => (
            <RoleHead
              key={role.id}
              role={role}
              count={(held.get(role.id)?.size ?? 0) + netOf(pending, role.id)}
              total={props.total}
            />
          ))}
        </tr>
      </thead>
      {sections.map((section) => (
        <SectionRows
          key={section.id}
          section={section}
          columns={columns}
          held={held}
          pending={pending}
          isOpen={props.isOpen(section)}
          isReadOnly={isReadOnly}
        />
      ))}
    </table>
  );
}

/** Returns how many more permissions the role has with its unsaved changes. */
function netOf(pending: Pending, roleId: string): number {
  let net = 0;
  for (const row of pending.values()) {
    const mark = row.get(roleId);
    if (mark) net += mark === 'add' ? 1 : -1;
  }
  return net;
}

const RoleHead = memo(function RoleHead({
  role: { id, name, is_system, holders },
  count,
  total,
}: {
  role: CountedRole;
  count: number;
  total: number;
}): ReactElement {
  return (
    <th scope="col" data-system={is_system || undefined}>
      <a
        href={addressOf(`/roles/${id}`)}
        className="matrix-role"
        data-stop
        data-role={id}
        tabIndex={-1}
        title={is_system ? `${name}\n${t.matrix.locked}` : name}
      >
        {name}
        {is_system && (
          <>
            {' '}
            <IconLock size={13} aria-hidden />
            <span className="visually-hidden">{t.matrix.locked}</span>
          </>
        )}
      </a>
      <span className="matrix-counts">
        <span title={t.matrix.holders(holders)}>
          <IconUsers size={12} aria-hidden /> {formatNumber(holders)}
          <span className="visually-hidden"> {t.matrix.holders(holders)}</span>
        </span>
        <span>{t.matrix.of(formatNumber(count), formatNumber(total))}</span>
      </span>
    </th>
  );
});

type SectionProps = {
  section: Section;
  columns: readonly CountedRole[];
  held: Held;
  pending: Pending;
  isOpen: boolean;
  isReadOnly: boolean;
};

/** Renders only when something of its own has changed. */
const SectionRows = memo(
  function SectionRows({ section, columns, held, pending, isOpen, isReadOnly }: SectionProps): ReactElement {
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
