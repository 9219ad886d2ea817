// Plans which roles users and service accounts get and lose: the roles to lock, the difference, its delta and its entry.
// It has no side effects.
import { canonicalIds, requireAllFound } from '../../platform/http/ids.ts';
import type { Entry } from '../authz/change.ts';
import type { Taken } from '../authz/delegation.ts';
import type { AccessDelta } from '../authz/impact/impact.ts';
import type { LockedRole } from './store.ts';

/** A user or a service account, with the ids of its roles as they are before the change. */
export type Assignee = { type: 'user' | 'service_account'; id: string; role_ids: readonly string[] };

/**
 * Canonical ids of roles. Adding one that is assigned, or removing one that is not, changes nothing.
 */
export type RoleChange =
  | { replace: readonly string[] }
  | { add?: readonly string[]; remove: readonly string[] };

/** A wanted change of the roles of one subject, which is locked or new. */
export type WantedRoles = {
  assignee: Assignee;
  roles: RoleChange;
  /** Returns the path of a field in the request, for errors; the roles are `role_id`. */
  at: (field: string) => string;
};

/** The roles that a subject gets and loses; ids. */
export type PlannedRoles = Pick<WantedRoles, 'assignee' | 'at'> & {
  added: readonly string[];
  removed: readonly string[];
};

/** Names of roles by id. */
export type RoleNames = ReadonlyMap<string, string>;

const requested = ({ roles }: WantedRoles): string[] => Object.values(roles).flat();

/** Returns the requested roles and those that are assigned: the names of all of them are recorded. */
export const rolesToLock = (wanted: readonly WantedRoles[]): string[] =>
  canonicalIds(wanted.flatMap((one) => [...requested(one), ...one.assignee.role_ids]));

/** Returns the names of the locked roles. Throws `role_not_found` if a requested one is not among them. */
export function requireRoles(wanted: readonly WantedRoles[], locked: readonly LockedRole[]): RoleNames {
  const names = new Map(locked.map((role) => [role.id, role.name]));
  const fieldOf = (id: string): string =>
    wanted.find((one) => requested(one).includes(id))?.at('role_id') ?? 'role_id';
  requireAllFound('role_not_found', fieldOf, canonicalIds(wanted.flatMap(requested)), [...names.keys()]);
  return names;
}

/** Returns what the wanted change adds and removes. */
export function planRoles({ assignee, roles, at }: WantedRoles): PlannedRoles {
  const held = assignee.role_ids;
  const assigned = new Set(held);
  const kept = new Set('replace' in roles ? roles.replace : held);
  const removed = new Set('replace' in roles ? [] : roles.remove);
  const added = new Set('replace' in roles ? roles.replace : roles.add);
  return {
    assignee,
    added: [...added].filter((id) => !assigned.has(id)),
    removed: held.filter((id) => !kept.has(id) || removed.has(id)),
    at,
  };
}

export const changesRoles = ({ added, removed }: PlannedRoles): boolean => added.length + removed.length > 0;

/** Names the subject in an error, such as `service account 3f2c…`. */
export const nameOf = ({ type, id }: Assignee): string => `${type.replace('_', ' ')} ${id}`;

/** Returns the roles that subjects lose by the plans, for `requireMayTake`. */
export const takenBy = (plans: readonly PlannedRoles[]): NonNullable<Taken['assignments']> =>
  plans.map(({ assignee, removed, at }) => ({ id: assignee.id, removed, at, about: nameOf(assignee) }));

/** Returns what the plans do to access. */
export const rolesDelta = (plans: readonly PlannedRoles[]): AccessDelta => ({
  subjectRoles: plans.map(({ assignee, added, removed }) => ({ subjectId: assignee.id, added, removed })),
});

const actions = { user: 'user_roles_changed', service_account: 'service_account_roles_changed' } as const;

/** Returns the audit entry of changed roles, with the names of all roles before and after. */
export function rolesEntry({ assignee, added, removed }: PlannedRoles, names: RoleNames): Entry {
  const { type, id, role_ids: held } = assignee;
  const namesOf = (ids: readonly string[]) => ids.map((one) => names.get(one) ?? one).sort();
  const kept = held.filter((one) => !removed.includes(one));
  return {
    action: actions[type],
    resourceType: type,
    resourceId: id,
    before: { roles: namesOf(held) },
    after: { roles: namesOf([...kept, ...added]) },
  };
}
