// Leads the focus to a role or permission that was created here, as soon as its column or row shows.
import { useEffect, useRef } from 'react';
import type { CountedRole } from '../../data/catalogue.ts';

/** The newest role and permission that were created on the page. */
export type Created = { roleId?: string; permission?: { id: string; name: string } };

/** Focuses the head of a role's column as soon as the column is there, once. */
export function useFocusOnColumn(
  region: { current: HTMLElement | null },
  roleId: string | null,
  columns: readonly CountedRole[],
): void {
  const done = useRef<string | null>(null);
  useEffect(() => {
    if (roleId === null || done.current === roleId || !columns.some(({ id }) => id === roleId)) return;
    done.current = roleId;
    const head = region.current?.querySelector<HTMLElement>(`thead [data-role="${roleId}"]`);
    head?.scrollIntoView({ block: 'nearest', inline: 'center' });
    head?.focus({ preventScroll: true });
  }, [region, roleId, columns]);
}

/** Focuses a cell of the permission once it is there; finds it by its name first where the filters hide it. */
export function useFocusOnRow(
  region: { current: HTMLElement | null },
  { roleId, permission }: Created,
  find: (name: string) => Promise<void>,
): void {
  const done = useRef<string | null>(null);
  const found = useRef<string | null>(null);
  // The row may appear with any render.
  useEffect(() => {
    if (permission === undefined || done.current === permission.id) return;
    const cells = [
      ...(region.current?.querySelectorAll<HTMLElement>(`tbody [data-permission="${permission.id}"]`) ?? []),
    ];
    const cell =
      cells.find(({ dataset }) => dataset.role === roleId) ??
      cells.find(({ ariaDisabled }) => ariaDisabled !== 'true') ??
      cells[0];
    if (cell) {
      done.current = permission.id;
      cell.scrollIntoView({ block: 'center', inline: 'nearest' });
      cell.focus({ preventScroll: true });
    } else if (found.current !== permission.id) {
      found.current = permission.id;
      void find(permission.name);
    }
  });
}
