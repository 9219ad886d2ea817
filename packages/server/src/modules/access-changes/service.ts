// Changes the permissions of roles and the roles of users and service accounts: many records in one transaction, all or
// none. Every rule is one of the single operations, whose code it calls.
import type {
  AccessPreviewEnvelope,
  ChangeAccessBody,
  ChangedAccess,
} from '@castellan/contract/access-changes';
import { requireAllFound } from '../../platform/http/ids.ts';
import { newId } from '../../platform/ids.ts';
import {
  lockRoles,
  lockRolesForChange,
  type RoleNames,
  requireRoles,
  rolesDelta,
  rolesEntry,
  rolesToLock,
  takenBy,
} from '../assignments/service.ts';
import type { Caller } from '../authz/caller.ts';
import {
  type ChangeDeps,
  change,
  type Entitled,
  type Entry,
  isNonEmpty,
  type Locking,
  lockSubjects,
  type Run,
} from '../authz/change.ts';
import { requireMayTake } from '../authz/delegation.ts';
import { type PreviewDeps, preview } from '../authz/impact/preview.ts';
import { requireMayUse } from '../authz/requirements/call.ts';
import { type DeletedRole, deleteRoles, lockGroupTree, requireDeletable } from '../roles/deletion.ts';
import {
  carryOut,
  changesAnything,
  permissionsDelta,
  permissionsEntry,
  planPermissions,
  readRoles,
  requireMayChangePermissions,
  requireNoSystemRoles,
  requirePermissions,
  type WantedPermissions,
} from '../roles/permission-plans.ts';
import {
  type AccountChange,
  type LockedAccounts,
  planAccountRoles,
  requireAccounts,
  requireMayChangeRoles,
  wantedAccountRoles,
  writeAccountRoles,
} from '../service-accounts/role-changes.ts';
import {
  type LockedUsers,
  planLocked,
  plannedRolesOf,
  requireUsers,
  type UserChange,
  wantedRoles,
} from '../users/changes/change-plans.ts';
import { write } from '../users/changes/changes.ts';
import {
  fieldsOf,
  type Item,
  itemsOf,
  pathsOf,
  permissionsFor,
  readItems,
  requireVersions,
} from './items.ts';

/**
 * Changes all of the records or none. Escalation is judged by what the caller and the others hold before the request.
 * Throws, in this order, 422, 403 (the caller lacks the permission of an item), 404, 401 or 403 (the caller lost access),
 * 412, 403, 409 (a role to delete is still in use).
 */
export async function changeAccess(
  deps: ChangeDeps,
  caller: Caller,
  body: ChangeAccessBody,
): Promise<ChangedAccess> {
  const items = readItems(body);
  requireItemPermissions(caller, items);
  return change(deps, caller, changing(items));
}

export async function previewAccess(
  deps: PreviewDeps,
  caller: Caller,
  body: ChangeAccessBody,
): Promise<AccessPreviewEnvelope> {
  const items = readItems(body);
  requireItemPermissions(caller, items);
  return preview(deps, caller, { resourceType: 'access' }, changing(items));
}

function requireItemPermissions(caller: Caller, items: readonly Item[]): void {
  for (const one of permissionsFor(items))
    requireMayUse(caller, one, `These changes require the permission ${one}, which you do not have.`);
}

const changing =
  (items: readonly Item[]): Run<ChangedAccess> =>
  async (locking) => {
    const locked = await lockRecords(locking, items);
    const entitled = await locking.entitle(permissionsFor(items));
    requireVersions(items, locked.versionOf);
    const plans = await plan(entitled, locked);
    const changeId = newId();
    const { versionOf, entries } = await writeAll(entitled, locked, plans);
    const result = {
      change_id: changeId,
      items: items.map((item) => ({ [item.kind]: item.id, version: versionOf(item) })),
    };
    const named: readonly Entry[] = entries.map((entry) => ({
      ...entry,
      details: { ...entry.details, change_id: changeId },
    }));
    const delta = {
      ...permissionsDelta(plans.permissions),
      ...rolesDelta([...plannedRolesOf(plans.users), ...plans.accounts]),
    };
    return isNonEmpty(named) ? entitled.done(result, delta, ...named) : entitled.unchanged(result);
  };

/** The records of the items, locked, and what the items want of them. */
type Locked = {
  roles: readonly WantedPermissions[];
  deletions: readonly DeletedRole[];
  users: readonly UserChange[];
  accounts: readonly AccountChange[];
  lockedUsers: LockedUsers;
  lockedAccounts: LockedAccounts;
  roleNames: RoleNames;
  versionOf: (item: Item) => number;
};

/** Locks everything that the items name, in the order of all transactions. Throws 404. */
async function lockRecords(locking: Locking, items: readonly Item[]): Promise<Locked> {
  const { tx } = locking;
  const roleItems = itemsOf(items, 'role_id');
  if (roleItems.some(({ isDeletion }) => isDeletion)) await lockGroupTree(tx);
  const users = itemsOf(items, 'user_id')
    .map(assignmentOf)
    .map((one) => ({ ...one, fields: {} }));
  const accounts = itemsOf(items, 'service_account_id').map(assignmentOf);
  const fieldOf = fieldsOf(items);
  await lockSubjects(locking, { users: idsOf(users), accounts: idsOf(accounts) });
  const lockedUsers = await requireUsers(tx, users, fieldOf);
  const lockedAccounts = await requireAccounts(tx, accounts, fieldOf);
  const wanted = [...wantedRoles(users, lockedUsers), ...wantedAccountRoles(accounts, lockedAccounts)];
  const roleIds = [...new Set([...idsOf(roleItems), ...rolesToLock(wanted)])];
  const found = roleItems.length > 0 ? await lockRolesForChange(tx, roleIds) : await lockRoles(tx, roleIds);
  requireAllFound('role_not_found', fieldOf, idsOf(roleItems), idsOf(found));
  const roleNames = requireRoles(wanted, found);
  const records = await readRoles(tx, idsOf(roleItems), fieldOf);
  const roles = roleItems.flatMap((item) => {
    const role = records.get(item.id);
    return role ? [{ role, item, wanted: { add: item.add, remove: item.remove }, at: pathsOf(item) }] : [];
  });
  const deletions = roles.filter(({ item }) => item.isDeletion);
  await requirePermissions(tx, roles);
  const versionOf = versionsIn(records, lockedUsers, lockedAccounts);
  return { roles, deletions, users, accounts, lockedUsers, lockedAccounts, roleNames, versionOf };
}

/** Returns the versions of records by id; no two records of any kind have the same id. */
function versionsIn(...maps: ReadonlyMap<string, { version: number }>[]): (item: Item) => number {
  return ({ id }) => maps.find((map) => map.has(id))?.get(id)?.version ?? 0;
}

const idsOf = (records: readonly { id: string }[]): string[] => records.map(({ id }) => id);

const assignmentOf = (item: Item): AccountChange => ({
  id: item.id,
  roles: { add: item.add, remove: item.remove },
  at: pathsOf(item),
});

type Plans = Awaited<ReturnType<typeof plan>>;

/** Checks every item before the first write. Throws 403. */
async function plan(entitled: Entitled, locked: Locked) {
  requireNoSystemRoles(locked.roles);
  requireDeletable(locked.deletions);
  const permissions = locked.roles.map(planPermissions).filter(changesAnything);
  await requireMayChangePermissions(entitled, permissions);
  const users = await planLocked(entitled, locked.users, {
    users: locked.lockedUsers,
    roleNames: locked.roleNames,
  });
  const accounts = planAccountRoles(locked.accounts, locked.lockedAccounts);
  await requireMayChangeRoles(entitled, accounts);
  // At once: a role that leaves a permission to somebody may lose it in the same request.
  await requireMayTake(entitled, {
    assignments: takenBy([...plannedRolesOf(users), ...accounts]),
    permissions,
  });
  return { permissions, users, accounts };
}

/**
 * Writes the roles last: a change of their permissions holds up all others of its kind. Returns the new versions. Throws
 * `role_in_use`.
 */
async function writeAll(
  entitled: Entitled,
  locked: Locked,
  { users, accounts, permissions }: Plans,
): Promise<{ versionOf: (item: Item) => number; entries: readonly Entry[] }> {
  const { tx } = entitled;
  const written = await write(users);
  await writeAccountRoles(entitled, accounts);
  await carryOut(entitled, permissions);
  const accountsAfter = await requireAccounts(tx, locked.accounts, String);
  const rolesAfter = await readRoles(
    tx,
    locked.roles.map(({ role }) => role.id),
    String,
  );
  const usersAfter = new Map(written.users.map((user) => [user.user_id, user]));
  const entries = [
    ...written.entries,
    ...accounts.map((one) => rolesEntry(one, locked.roleNames)),
    ...permissions.flatMap(({ role }) => {
      const after = rolesAfter.get(role.id);
      return after ? [permissionsEntry(role, after)] : [];
    }),
    ...(await carryOutDeletions(entitled, locked.deletions, rolesAfter)),
  ];
  return { versionOf: versionsIn(rolesAfter, usersAfter, accountsAfter), entries };
}

async function carryOutDeletions(
  entitled: Entitled,
  deletions: readonly DeletedRole[],
  rolesAfter: ReadonlyMap<string, DeletedRole['role']>,
): Promise<readonly Entry[]> {
  const [first, ...others] = deletions.map(({ role, ...rest }) => ({
    ...rest,
    role: rolesAfter.get(role.id) ?? role,
  }));
  return first ? deleteRoles(entitled, [first, ...others]) : [];
}
