// What a request assigns to and takes from users and service accounts: which roles to lock, and what changes.
// It must not write anything.
import { canonicalIds, requireAllFound } from '../../platform/http/ids.ts';
import type { LockedRole } from './assignment-store.ts';

export { lockRoles, lockRolesForChange } from './assignment-store.ts';

/**
 * Canonical ids of roles. Adding one that is assigned, or removing one that is not, changes nothing.
 */
export type RoleChange =
  | { replace: readonly string[] }
  | { add?: readonly string[]; remove: readonly string[] };

/** A wanted change of the roles of one locked user or service account. */
export type WantedRoles = {
  roles: RoleChange;
  /** Ids of the roles that are assigned now. */
  held: readonly string[];
  /** Returns the path of a field in the request, for errors; the roles are `role_id`. */
  at: (field: string) => string;
};

/** Names of roles by id. */
export type RoleNames = ReadonlyMap<string, string>;

const requested = ({ roles }: Pick<WantedRoles, 'roles'>): string[] => Object.values(roles).flat();

/** Returns the requested roles and those that are assigned: the names of all of them are recorded. */
export const rolesToLock = (wanted: readonly WantedRoles[]): string[] =>
  canonicalIds(wanted.flatMap((one) => [...requested(one), ...one.held]));

/** Returns the names of the locked roles. Throws `role_not_found` if a requested one is not among them. */
export function requireRoles(wanted: readonly WantedRoles[], locked: readonly LockedRole[]): RoleNames {
  const names = new Map(locked.map((role) => [role.id, role.name]));
  const fieldOf = (id: string): string =>
    wanted.find((one) => requested(one).includes(id))?.at('role_id') ?? 'role_id';
  requireAllFound('role_not_found', fieldOf, canonicalIds(wanted.flatMap(requested)), [...names.keys()]);
  return names;
}

/** Returns the ids of the roles that a wanted change adds and removes. */
export function differenceOf({ roles, held }: Pick<WantedRoles, 'roles' | 'held'>): {
  added: string[];
  removed: string[];
} {
  const assigned = new Set(held);
  const kept = new Set('replace' in roles ? roles.replace : held);
  const removed = new Set('replace' in roles ? [] : roles.remove);
  const added = new Set('replace' in roles ? roles.replace : roles.add);
  return {
    added: [...added].filter((id) => !assigned.has(id)),
    removed: held.filter((id) => !kept.has(id) || removed.has(id)),
  };
}

/** Returns the names of the roles before and after, for the audit log. */
export function recordedRoles(
  names: RoleNames,
  held: readonly string[],
  { added, removed }: { added: readonly string[]; removed: readonly string[] },
): { before: { roles: string[] }; after: { roles: string[] } } {
  const namesOf = (ids: readonly string[]) => ids.map((id) => names.get(id) ?? id).sort();
  const kept = held.filter((id) => !removed.includes(id));
  return { before: { roles: namesOf(held) }, after: { roles: namesOf([...kept, ...added]) } };
}
