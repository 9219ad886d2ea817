// Reads, creates and deletes roles. Changes of a role are in updating.ts, of its permissions in role-permissions.ts, of
// its groups in group-links.ts.
import type { AccessPreviewEnvelope } from '@castellan/contract/access-changes';
import type { PageQuery, Pagination } from '@castellan/contract/common';
import type {
  CreateRoleBody,
  Role,
  RoleListQuery,
  RoleSummariesQuery,
  SummarizedRole,
} from '@castellan/contract/roles';
import { wildcardToLike } from '../../platform/db/sql.ts';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import { canonicalIds } from '../../platform/http/ids.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import { newId } from '../../platform/ids.ts';
import { paginationOf } from '../../platform/pages.ts';
import { cleanDescription, cleanNewName } from '../../platform/security/record-text.ts';
import { authorIdOf, type Caller } from '../authz/caller.ts';
import { change, type Run } from '../authz/change.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { preview } from '../authz/impact/preview.ts';
import { allRolesText } from './all-roles.ts';
import { deleteRoles, requireDeletable } from './deletion.ts';
import { linkRoles, lockGroupTree, requireGroup } from './group-links.ts';
import { requireGrantable } from './permission-plans.ts';
import {
  MAX_NAME_LENGTH,
  type RoleDeps,
  requireRole,
  roleEntry,
  snapshotOf,
  versionedRole,
  withoutVersion,
} from './record.ts';
import {
  addPermissions,
  countHolders,
  countRoles,
  findAllRoles,
  findRole,
  findRoleIds,
  insertRole,
  listRoles as listRecords,
  listSummaries,
  type RoleFilter,
  type RoleRecord,
  readRole,
} from './store.ts';

export {
  previewRoleAuthentication,
  type RoleAuthenticationDeps,
  setRoleAuthentication,
} from './authentication.ts';
export { copyLinks, linkRoles, lockGroupTree, lockRoles, syncLinks, unlinkRoles } from './group-links.ts';
export type { RoleDeps } from './record.ts';
export { changePermissions, previewPermissions } from './role-permissions.ts';
export { previewRoleUpdate, updateRole } from './updating.ts';

export async function getRole(deps: RoleDeps, id: string): Promise<Versioned<Role>> {
  const role = await findRole(deps.db, id);
  if (!role) throw new AppError('role_not_found');
  return versionedRole(role);
}

/**
 * Returns one page of roles, sorted by name. `*` in the pattern matches any characters; without it the match is exact.
 */
export async function listRoles(
  deps: RoleDeps,
  query: PageQuery & RoleListQuery,
): Promise<{ data: Role[]; pagination: Pagination }> {
  const filter = filterOf(query);
  const [total, roles] = await Promise.all([
    countRoles(deps.db, filter),
    listRecords(deps.db, filter, query),
  ]);
  return { data: await presented(deps, roles, query.include), pagination: paginationOf(query, total) };
}

/** Returns the number of holders of each role. */
export const countAllHolders = async ({ db }: RoleDeps): Promise<ReadonlyMap<string, number>> =>
  countHolders(db, await findRoleIds(db));

/** Returns the text of a response with all roles, in parts. With `holders`, as `countAllHolders` returned them, they have them too. */
export const writeAllRoles = async (
  { db }: RoleDeps,
  holders: ReadonlyMap<string, number> | null,
): Promise<Generator<string, void>> => allRolesText(await findAllRoles(db), holders);

/** Like `listRoles`, without the records of permissions. */
export async function summarizeRoles(
  deps: RoleDeps,
  query: PageQuery & RoleSummariesQuery,
): Promise<{ data: SummarizedRole[]; pagination: Pagination }> {
  const { include = [] } = query;
  const filter = filterOf(query);
  const [total, roles] = await Promise.all([
    countRoles(deps.db, filter),
    listSummaries(deps.db, filter, query, include.includes('permission_ids')),
  ]);
  const data = include.includes('holders') ? await withHolders(deps, roles) : roles;
  return { data, pagination: paginationOf(query, total) };
}

const filterOf = ({ name_pattern, holders, permissions }: Omit<RoleListQuery, 'include'>): RoleFilter => ({
  ...(name_pattern === undefined ? {} : { likePattern: wildcardToLike(name_pattern.normalize('NFC')) }),
  ...(holders === undefined ? {} : { withoutHolders: true }),
  ...(permissions === undefined ? {} : { withoutPermissions: true }),
});

async function withHolders<R extends { id: string }>(
  deps: RoleDeps,
  roles: readonly R[],
): Promise<(R & { holders: number })[]> {
  const counts = await countHolders(
    deps.db,
    roles.map(({ id }) => id),
  );
  return roles.map((role) => ({ ...role, holders: counts.get(role.id) ?? 0 }));
}

async function presented(
  deps: RoleDeps,
  roles: readonly RoleRecord[],
  include: RoleListQuery['include'],
): Promise<Role[]> {
  return include === undefined ? roles.map(withoutVersion) : withHolders(deps, roles);
}

export const createRole = async (
  deps: RoleDeps,
  caller: Caller,
  body: CreateRoleBody,
  settle: Settle<Versioned<Role>>,
): Promise<Versioned<Role>> => change(deps, caller, creating(caller, body), settle);

export const previewRoleCreation = async (
  deps: RoleDeps,
  caller: Caller,
  body: CreateRoleBody,
): Promise<AccessPreviewEnvelope> => preview(deps, caller, { resourceType: 'role' }, creating(caller, body));

function creating(caller: Caller, body: CreateRoleBody): Run<Versioned<Role>> {
  const { name: given, description: text = '', permission_ids = [], role_group_id = null, ...rest } = body;
  allHandled(rest);
  const name = cleanNewName(given, MAX_NAME_LENGTH);
  const description = cleanDescription(text);
  const permissionIds = canonicalIds(permission_ids);
  const groupId = role_group_id?.toLowerCase() ?? null;
  const id = newId();
  return async (locking) => {
    const { tx } = locking;
    if (groupId !== null) {
      await lockGroupTree(tx);
      await requireGroup(tx, groupId);
    }
    const entitled = await requireGrantable(locking, permissionIds);
    const created_by_id = authorIdOf(caller);
    await insertRole(entitled, { id, name, description, role_group_id: groupId, created_by_id });
    await addPermissions(
      entitled,
      permissionIds.map((permissionId) => ({ roleId: id, permissionId })),
    );
    if (groupId !== null) await linkRoles(entitled, groupId, [id]);
    const role = await readRole(tx, id);
    const entry = roleEntry('role_created', role, { before: null, after: snapshotOf(role) });
    const delta = { rolePermissions: [{ roleId: id, added: permissionIds, removed: [] }] };
    return entitled.done(versionedRole(role), delta, entry);
  };
}

export const deleteRole = (deps: RoleDeps, caller: Caller, id: string): Promise<void> =>
  change(deps, caller, deleting(id));

export const previewRoleDeletion = (
  deps: RoleDeps,
  caller: Caller,
  id: string,
): Promise<AccessPreviewEnvelope> =>
  preview(deps, caller, { resourceType: 'role', resourceId: id }, deleting(id));

// A role with holders or permissions cannot be deleted, so a deletion changes nobody's access.
const deleting =
  (id: string): Run<void> =>
  async (locking) => {
    // Locked first, as in every change of a group, because the deletion changes the groups of the role.
    await lockGroupTree(locking.tx);
    const role = await requireRole(locking, id);
    const entitled = await locking.entitle();
    requireDeletable([{ role }]);
    return entitled.done(undefined, sameAccess, ...(await deleteRoles(entitled, [{ role }])));
  };
