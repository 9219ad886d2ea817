// Changes of the permissions of roles that are not saved. Pure functions on immutable values: a row whose map is the same has not changed.
import type { CountedRole } from '../../data/catalogue.ts';

type Mark = 'add' | 'remove';
export type RowMarks = ReadonlyMap<string, Mark>;
/** Permission → role → mark. */
export type Pending = ReadonlyMap<string, RowMarks>;

export const nothingPending: Pending = new Map();
export const noMarks: RowMarks = new Map();

export type Cell = { permissionId: string; roleId: string };

/** What each role holds, by id. */
export type Held = ReadonlyMap<string, ReadonlySet<string>>;

export const heldBy = (roles: readonly CountedRole[]): Held =>
  new Map(roles.map(({ id, permission_ids }) => [id, new Set(permission_ids)]));

/** Sets or removes the mark of a cell; null removes it. */
function mark(pending: Pending, { permissionId, roleId }: Cell, wanted: Mark | null): Pending {
  const row = new Map(pending.get(permissionId));
  if (wanted === null) row.delete(roleId);
  else row.set(roleId, wanted);
  const next = new Map(pending);
  if (row.size === 0) next.delete(permissionId);
  else next.set(permissionId, row);
  return next;
}

/** Marks the cell, or takes its mark away. */
export function flip(pending: Pending, cell: Cell, held: Held): Pending {
  const isMarked = pending.get(cell.permissionId)?.has(cell.roleId) ?? false;
  if (isMarked) return mark(pending, cell, null);
  return mark(pending, cell, held.get(cell.roleId)?.has(cell.permissionId) ? 'remove' : 'add');
}

export type RoleChange = { roleId: string; add: string[]; remove: string[] };

/** Returns the marks by role; ids of permissions. */
export function changesByRole(pending: Pending): RoleChange[] {
  const changes = new Map<string, RoleChange>();
  for (const [permissionId, row] of pending)
    for (const [roleId, one] of row) {
      const change = changes.get(roleId) ?? { roleId, add: [], remove: [] };
      change[one].push(permissionId);
      changes.set(roleId, change);
    }
  return [...changes.values()];
}

/** Removes marks of roles and permissions that are gone, and marks that the roles already have. */
export function stillApplying(pending: Pending, held: Held, permissionIds: ReadonlySet<string>): Pending {
  let next = pending;
  for (const [permissionId, row] of pending)
    for (const [roleId, one] of row) {
      const has = held.get(roleId);
      const applies = has && permissionIds.has(permissionId) && has.has(permissionId) === (one === 'remove');
      if (!applies) next = mark(next, { permissionId, roleId }, null);
    }
  return next;
}

/** A cell of a role that somebody else changed, or that has a mark. */
export type Difference = Cell & {
  /** As the person saw the cell when they marked the role. */
  before: boolean;
  theirs: boolean;
  mine: boolean;
};

/**
 * Returns the cells in which the roles differ from what the person saw, and their own marks in those roles. Roles that
 * nobody else changed have none.
 */
export function differences(pending: Pending, seen: Held, current: Held): Difference[] {
  return changesByRole(pending).flatMap(({ roleId, add, remove }) => {
    const before = seen.get(roleId) ?? new Set<string>();
    const now = current.get(roleId) ?? new Set<string>();
    const theirs = [
      ...[...before].filter((one) => !now.has(one)),
      ...[...now].filter((one) => !before.has(one)),
    ];
    if (theirs.length === 0) return [];
    return [...new Set([...theirs, ...add, ...remove])].map((permissionId) => ({
      permissionId,
      roleId,
      before: before.has(permissionId),
      theirs: now.has(permissionId),
      mine: add.includes(permissionId) || (before.has(permissionId) && !remove.includes(permissionId)),
    }));
  });
}

/** Whether the person must choose: both changed nothing alike, and one value is lost. */
export const differs = ({ theirs, mine }: Difference): boolean => theirs !== mine;

export const countOf = (pending: Pending): number =>
  [...pending.values()].reduce((sum, row) => sum + row.size, 0);

/** Whether the value of the cell that the person wants is theirs, where they differ; the key is that of `keyOf`. */
export type Choices = ReadonlyMap<string, 'mine' | 'theirs'>;

export const keyOf = ({ roleId, permissionId }: Cell): string => `${roleId} ${permissionId}`;

/** Returns the marks after the choices: what somebody else saved is the new basis. */
export function resolved(pending: Pending, found: readonly Difference[], choices: Choices): Pending {
  let next = pending;
  for (const one of found) {
    const wanted = choices.get(keyOf(one)) === 'mine' ? one.mine : one.theirs;
    next = mark(next, one, wanted === one.theirs ? null : wanted ? 'add' : 'remove');
  }
  return next;
}
