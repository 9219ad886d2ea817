// The interface of the module for other modules: what an administrator's change of roles requires, and its writes.
// The caller locks the users and service accounts before, and writes their new versions.
import type { Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';
import { requireMayAssign } from '../authz/delegation.ts';
import {
  nameOf,
  type PlannedRoles,
  type RoleNames,
  requireRoles,
  rolesToLock,
  type WantedRoles,
} from './plans.ts';
import { addRoles, lockRoles, removeRoles } from './store.ts';

export {
  type Assignee,
  changesRoles,
  nameOf,
  type PlannedRoles,
  planRoles,
  type RoleChange,
  type RoleNames,
  requireRoles,
  rolesDelta,
  rolesEntry,
  rolesToLock,
  takenBy,
  type WantedRoles,
} from './plans.ts';
export { lockRoles, lockRolesForChange } from './store.ts';

/** Locks the requested roles and those that are assigned. Returns their names. Throws `role_not_found`. */
export const lockWantedRoles = async (tx: Tx, wanted: readonly WantedRoles[]): Promise<RoleNames> =>
  requireRoles(wanted, await lockRoles(tx, rolesToLock(wanted)));

/**
 * Requires that the caller holds what the added roles grant. What the plans take away is checked by `requireMayTake`,
 * together with everything else that the transaction takes away. Throws `privilege_escalation`.
 */
export const requireMayAdd = (entitled: Entitled, plans: readonly PlannedRoles[]): Promise<void> =>
  requireMayAssign(
    entitled,
    plans.map(({ assignee, added, at }) => ({ added, at, about: nameOf(assignee) })),
  );

/** Writes the plans: for each kind of subject, first what is removed and then what is added. */
export async function writeRoles(entitled: Entitled, plans: readonly PlannedRoles[]): Promise<void> {
  for (const type of ['user', 'service_account'] as const) {
    const ofType = plans.filter(({ assignee }) => assignee.type === type);
    await removeRoles(entitled, type, linksOf(ofType, 'removed'));
    await addRoles(entitled, type, linksOf(ofType, 'added'));
  }
}

const linksOf = (plans: readonly PlannedRoles[], which: 'added' | 'removed') =>
  plans.flatMap((plan) => plan[which].map((roleId) => ({ subjectId: plan.assignee.id, roleId })));
