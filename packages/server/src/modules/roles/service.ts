// Rules of roles: who may make and change them, and what a system role withstands.
// Its permissions stand in role-permissions.ts, its groups in group-links.ts.
import type { PageQuery, Pagination } from '@castellan/contract/common';
import type { CreateRoleBody, Role, UpdateRoleBody } from '@castellan/contract/roles';
import type { Tx } from '../../database.ts';
import { wildcardToLike } from '../../platform/db/sql.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { canonicalIds, requireAllFound } from '../../platform/http/ids.ts';
import { paginationOf } from '../../platform/http/pages.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import { newId } from '../../platform/ids.ts';
import { cleanDescription, cleanName } from '../../platform/security/record-text.ts';
import { requireMayGrantRoles, requireStillEntitled } from '../authz/delegation.ts';
import type { Actor } from '../authz/guard.ts';
import { linkRoles, lockGroups, lockGroupTree, moveRole, touchGroupsOf } from './group-links.ts';
import {
  type RoleDeps,
  recordRole,
  requireRole,
  snapshotOf,
  versionedRole,
  withoutVersion,
} from './record.ts';
import { carryOut, planPermissions, requireGrantable } from './role-permissions.ts';
import {
  addPermissions,
  countRoles,
  countUsersOfRole,
  deleteRoleRow,
  findRole,
  insertRole,
  listRoles as listRecords,
  lockRoleNames,
  type RoleRecord,
  updateRoleFields,
} from './store.ts';

export { copyLinks, linkRoles, lockGroupTree, lockRoles, syncLinks, unlinkRoles } from './group-links.ts';
export type { RoleDeps } from './record.ts';
export { changePermissions } from './role-permissions.ts';

/** Longest name, characters (decisions: 1 to 250). */
const MAX_NAME_LENGTH = 250;

export async function getRole(deps: RoleDeps, id: string): Promise<Versioned<Role>> {
  const role = await findRole(deps.db, id);
  if (!role) throw new AppError('role_not_found');
  return versionedRole(role);
}

/** By name. `*` in the pattern stands for any characters; without one the match is exact. */
export async function listRoles(
  deps: RoleDeps,
  query: PageQuery & { name_pattern?: string },
): Promise<{ data: Role[]; pagination: Pagination }> {
  const pattern =
    query.name_pattern === undefined ? null : wildcardToLike(query.name_pattern.normalize('NFC'));
  const [total, roles] = await Promise.all([
    countRoles(deps.db, pattern),
    listRecords(deps.db, pattern, query),
  ]);
  return { data: roles.map(withoutVersion), pagination: paginationOf(query, total) };
}

export async function listAllRoles(deps: RoleDeps): Promise<Role[]> {
  return (await listRecords(deps.db, null, null)).map(withoutVersion);
}

export async function createRole(
  deps: RoleDeps,
  client: Client,
  actor: Actor,
  body: CreateRoleBody,
): Promise<Versioned<Role>> {
  const name = cleanName(body.name, MAX_NAME_LENGTH);
  const description = cleanDescription(body.description ?? '');
  const permissionIds = canonicalIds(body.permission_ids ?? []);
  const groupId = body.role_group_id?.toLowerCase() ?? null;
  const id = newId();
  return inTransaction(deps.db, async (tx) => {
    if (groupId !== null) {
      await lockGroupTree(tx);
      await requireGroup(tx, groupId);
    }
    await requireGrantable(tx, actor, permissionIds);
    await insertRole(tx, { id, name, description, role_group_id: groupId, created_by_id: actor.user_id });
    await addPermissions(tx, id, permissionIds);
    if (groupId !== null) await linkRoles(tx, groupId, [id]);
    const role = (await findRole(tx, id)) as RoleRecord;
    await recordRole(tx, deps, client, actor, 'role_created', id, { before: null, after: snapshotOf(role) });
    return versionedRole(role);
  });
}

export async function updateRole(
  deps: RoleDeps,
  client: Client,
  actor: Actor,
  id: string,
  body: UpdateRoleBody,
  ifMatch: readonly number[] | null,
): Promise<Versioned<Role>> {
  const name = body.name === undefined ? undefined : cleanName(body.name, MAX_NAME_LENGTH);
  const description = body.description === undefined ? undefined : cleanDescription(body.description);
  const groupId = body.role_group_id === undefined ? undefined : (body.role_group_id?.toLowerCase() ?? null);
  return inTransaction(deps.db, async (tx) => {
    if (groupId !== undefined) await lockGroupTree(tx);
    const before = await requireRole(tx, id, ifMatch);
    if (before.is_system && name !== undefined && name !== before.name)
      throw new AppError('system_role', { detail: 'The name of a system role cannot be changed.' });
    if (name !== undefined) await requireMayRename(tx, deps, actor, before, name);
    if (groupId) await requireGroup(tx, groupId);
    // Every lock before the first write: a write holds up all other changes of roles.
    if (name !== undefined && name !== before.name) await lockRoleNames(tx);
    if (!body.permission_ids) await requireStillEntitled(tx, actor);
    const permissions =
      body.permission_ids && (await planPermissions(tx, actor, before, { replace: body.permission_ids }));
    if (groupId !== undefined) await moveRole(tx, id, before.role_group_id, groupId);
    await updateRoleFields(tx, id, {
      name: name ?? before.name,
      description: description ?? before.description,
    });
    if (permissions) await carryOut(tx, id, permissions);
    const after = (await findRole(tx, id)) as RoleRecord;
    const change = { before: snapshotOf(before), after: snapshotOf(after) };
    await recordRole(tx, deps, client, actor, 'role_updated', id, change);
    if (permissions && permissions.added.length + permissions.removed.length > 0)
      await recordRole(tx, deps, client, actor, 'role_permissions_changed', id, {
        before: { permissions: change.before.permissions },
        after: { permissions: change.after.permissions },
      });
    return versionedRole(after);
  });
}

// Registrations give the role of this name to everybody: whoever takes the name hands out what the role holds.
async function requireMayRename(
  tx: Tx,
  deps: RoleDeps,
  actor: Actor,
  role: RoleRecord,
  name: string,
): Promise<void> {
  const isDefault = (one: string): boolean => one.toLowerCase() === deps.settings.defaultRole.toLowerCase();
  if (isDefault(role.name) === isDefault(name)) return;
  if (isDefault(role.name))
    throw new AppError('conflict', {
      detail: 'New accounts get this role by its name (DEFAULT_ROLE). Change that setting first.',
    });
  await requireMayGrantRoles(tx, actor, [role.id]);
}

export async function deleteRole(
  deps: RoleDeps,
  client: Client,
  actor: Actor,
  id: string,
  ifMatch: readonly number[] | null,
): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    // First, as in every change of a group: the groups that the role leaves change with it.
    await lockGroupTree(tx);
    const role = await requireRole(tx, id, ifMatch);
    await requireStillEntitled(tx, actor);
    if (role.is_system) throw new AppError('system_role', { detail: 'A system role cannot be deleted.' });
    const users = await countUsersOfRole(tx, id);
    const permissions = role.permissions.length;
    if (users > 0 || permissions > 0)
      throw new AppError('role_in_use', {
        detail: `The role has ${permissions} permissions and ${users} users. Remove them first.`,
      });
    await touchGroupsOf(tx, id);
    await deleteRoleRow(tx, id);
    await recordRole(tx, deps, client, actor, 'role_deleted', id, { before: snapshotOf(role), after: null });
  });
}

async function requireGroup(tx: Tx, groupId: string): Promise<void> {
  requireAllFound('role_group_not_found', 'role_group_id', [groupId], await lockGroups(tx, [groupId]));
}
