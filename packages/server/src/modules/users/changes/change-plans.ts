// Plans changes of one or many users on behalf of an administrator: locks and checks everything that a change depends on.
// It writes nothing; changes.ts carries out the plan.
import { AppError } from '../../../platform/errors.ts';
import { requireAllFound } from '../../../platform/http/ids.ts';
import { requireVersion } from '../../../platform/http/record-version.ts';
import type { Tx } from '../../../schema/database.ts';
import {
  type Assignee,
  changesRoles,
  lockWantedRoles,
  type PlannedRoles,
  planRoles,
  type RoleChange,
  type RoleNames,
  takenBy,
  type WantedRoles,
} from '../../assignments/service.ts';
import { type Entitled, type Locking, lockSubjects } from '../../authz/change.ts';
import { requireMayTake } from '../../authz/delegation.ts';
import { toUser, type VersionedUser } from '../presentation.ts';
import { type PlannedChange, requireMayChange } from '../protection.ts';
import { findUsersByIds } from '../store.ts';
import type { FieldChanges } from './change-store.ts';

/** A requested change of one user, with cleaned texts and canonical ids. */
export type UserChange = {
  id: string;
  fields: FieldChanges;
  roles?: RoleChange;
  /** True if other code sets a password in the same transaction. */
  setsPassword?: boolean;
  at: (field: string) => string;
};

/** The changes that a request makes to the locked records. */
export type Plan = {
  entitled: Entitled;
  ids: readonly string[];
  changes: readonly PlannedChange[];
  roleNames: RoleNames;
};
/** The users of a request by id, locked. */
export type LockedUsers = ReadonlyMap<string, VersionedUser>;

/**
 * Locks the users and the caller, and plans the changes. `idsField` names the field with the ids in a request for many
 * users; without it the request is for one user, and If-Match counts. Throws, in this order, 404, 401 or 403 (the
 * caller lost access), 412, 403.
 */
export async function planChanges(
  locking: Locking,
  wanted: readonly UserChange[],
  idsField?: string,
): Promise<Plan> {
  const { tx, caller } = locking;
  await lockSubjects(locking, { users: wanted.map((one) => one.id) });
  const users = await requireUsers(tx, wanted, idsField);
  const roleNames = await lockWantedRoles(tx, wantedRoles(wanted, users));
  const entitled = await locking.entitle();
  if (idsField === undefined)
    for (const user of users.values())
      await requireVersion(caller.ifMatch, user.version, () => toUser(user, caller.graph));
  const plan = await planLocked(entitled, wanted, { users, roleNames });
  await requireMayTake(entitled, { assignments: takenBy(plannedRolesOf(plan)) });
  return plan;
}

/** Returns the roles that users get and lose by a plan. */
export const plannedRolesOf = ({ changes }: Plan): PlannedRoles[] => changes.map(({ roles }) => roles);

/**
 * Returns the locked users by id. `idsField` names the field with the ids, or returns the field of an id; without it the
 * request is for one user. Throws `user_not_found`.
 */
export async function requireUsers(
  tx: Tx,
  wanted: readonly UserChange[],
  idsField?: string | ((id: string) => string),
): Promise<LockedUsers> {
  const ids = wanted.map((one) => one.id);
  const users = new Map((await findUsersByIds(tx, ids)).map((user) => [user.user_id, user]));
  if (idsField === undefined && users.size < ids.length) throw new AppError('user_not_found');
  requireAllFound('user_not_found', idsField ?? 'id', ids, [...users.keys()]);
  return users;
}

export const wantedRoles = (wanted: readonly UserChange[], users: LockedUsers): WantedRoles[] =>
  wanted.flatMap(({ id, roles, at }) => {
    const user = users.get(id);
    return roles && user ? [{ assignee: assigneeOf(user), roles, at }] : [];
  });

const assigneeOf = ({ user_id, role_ids }: VersionedUser): Assignee => ({
  type: 'user',
  id: user_id,
  role_ids,
});

/**
 * Plans changes of users that are locked with their roles. Throws 403. What the plan takes away is for the caller to check
 * (`requireMayTake`), together with everything else that the transaction takes away.
 */
export async function planLocked(
  entitled: Entitled,
  wanted: readonly UserChange[],
  { users, roleNames }: { users: LockedUsers; roleNames: RoleNames },
): Promise<Plan> {
  const planned = wanted.map((one) => {
    const before = users.get(one.id);
    if (!before) throw new AppError('user_not_found');
    return planOne(one, before);
  });
  const changes = planned.filter((one) => one.setsPassword || changesRecord(one));
  await requireMayChange(entitled, changes);
  return { entitled, ids: wanted.map((one) => one.id), changes, roleNames };
}

/** Returns whether the change gives the record a new version: a password alone does not. */
export const changesRecord = ({ fields, roles }: PlannedChange): boolean =>
  changesRoles(roles) || Object.keys(fields).length > 0;

function planOne(
  { fields, roles = { remove: [] }, setsPassword = false, at }: UserChange,
  before: VersionedUser,
): PlannedChange {
  const current: Readonly<Record<string, unknown>> = before;
  // An administrator who says whether an account is active decides about it, whatever its owner planned.
  const decides = before.deletion_due_at !== null;
  const differing = Object.entries(fields).filter(
    ([field, value]) => current[field] !== value || (decides && field === 'is_active'),
  );
  return {
    before,
    fields: Object.fromEntries(differing),
    roles: planRoles({ assignee: assigneeOf(before), roles, at }),
    setsPassword,
    at,
  };
}
