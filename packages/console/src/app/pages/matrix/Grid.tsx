// The table of roles and permissions. Clicks and keys are handled once for all cells. It must not know what saves the changes.
import { type MouseEvent, type ReactElement, useEffect, useRef } from 'react';
import { type KeyPress, useKeys } from '../../components/keyboard/keys.ts';
import type { Cell, Held, Pending } from '../../components/role-changes/pending.ts';
import type { CountedRole } from '../../data/catalogue.ts';
import type { Section } from '../../data/permissions/permission-sections.ts';
import { t } from '../../text.ts';
import { ensureTabStop, makeTabStop, moveFocus } from './keys.ts';
import { RoleHead } from './RoleHead.tsx';
import { SectionRows } from './SectionRows.tsx';

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
  const move = (event: KeyPress): boolean => {
    const moved = grid.current && moveFocus(grid.current, event, column.current);
    if (moved === null) return false;
    column.current = moved;
    return true;
  };
  const onKeyDown = useKeys([
    { keys: ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight'], does: 'cells', run: move },
    { keys: ['Home', 'End'], does: 'rowEnds', run: move },
    { keys: ['Mod+Home', 'Mod+End'], does: 'corners', run: move },
    // Of the buttons in the cells.
    { keys: ['Enter', ' '], does: 'flip', isOn: () => !isReadOnly },
  ]);
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
