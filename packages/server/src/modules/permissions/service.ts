// Rules of permissions: their names begin with their group, and permissions in use cannot be deleted.
import type { PageQuery, Pagination } from '@castellan/contract/common';
import type { CreatePermissionBody, Permission } from '@castellan/contract/permission-records';
import { allPermissions } from '@castellan/contract/permissions';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import { newId } from '../../platform/ids.ts';
import { paginationOf } from '../../platform/pages.ts';
import { cleanDescription, cleanName } from '../../platform/security/record-text.ts';
import { authorIdOf, type Caller } from '../authz/caller.ts';
import { type ChangeDeps, change, type Locking } from '../authz/change.ts';
import { requireMayLift } from '../authz/requirements/changing.ts';
import {
  countPermissions,
  deletePermissionRow,
  findHolders,
  findPermission,
  insertPermission,
  listPermissions as listRecords,
  lockGroupName,
  lockPermission,
  type PermissionFilter,
  readPermission,
} from './store.ts';

export {
  authenticationVersion,
  type PermissionAuthenticationDeps,
  previewPermissionAuthentication,
  setPermissionAuthentication,
} from './authentication.ts';
export { requirePermissionIds } from './by-name.ts';

export type PermissionDeps = ChangeDeps;

/** Maximum characters of a name with its prefix. The database repeats it as a CHECK constraint. */
export const MAX_PERMISSION_NAME_LENGTH = 100;

/** The built-in permissions, without which nobody could administer the service. */
const builtIn: ReadonlySet<string> = new Set(allPermissions);

export async function getPermission(deps: PermissionDeps, id: string): Promise<Permission> {
  const permission = await findPermission(deps.db, id);
  if (!permission) throw new AppError('permission_not_found');
  return permission;
}

/** Returns one page of permissions, sorted by name. */
export async function listPermissions(
  deps: PermissionDeps,
  query: PageQuery & { group_id?: string; roles?: 'none'; is_builtin?: boolean },
): Promise<{ data: Permission[]; pagination: Pagination }> {
  const { group_id, roles, is_builtin } = query;
  const filter: PermissionFilter = {
    ...(group_id === undefined ? {} : { groupId: group_id }),
    ...(roles === undefined ? {} : { inNoRole: true }),
    ...(is_builtin === undefined ? {} : { isBuiltin: is_builtin }),
  };
  const [total, data] = await Promise.all([
    countPermissions(deps.db, filter),
    listRecords(deps.db, filter, query),
  ]);
  return { data, pagination: paginationOf(query, total) };
}

export async function createPermission(
  deps: PermissionDeps,
  caller: Caller,
  body: CreatePermissionBody,
  settle: Settle<Permission>,
): Promise<Permission> {
  const { name: given, description: text = '', group_id, ...rest } = body;
  allHandled(rest);
  const action = cleanAction(given);
  const description = cleanDescription(text);
  const groupId = group_id.toLowerCase();
  const id = newId();
  const create = async (locking: Locking) => {
    const group = await lockGroupName(locking.tx, groupId);
    const entitled = await locking.entitle();
    if (group === undefined) throw new AppError('permission_group_not_found');
    const name = permissionName(group, action);
    const fields = { name, description, group_id: groupId };
    const roleIds = await insertPermission(entitled, { id, ...fields, created_by_id: authorIdOf(caller) });
    const delta = { rolePermissions: roleIds.map((roleId) => ({ roleId, added: [id], removed: [] })) };
    return entitled.done(await readPermission(locking.tx, id), delta, {
      action: 'permission_created',
      resourceType: 'permission',
      resourceId: id,
      before: null,
      after: fields,
    });
  };
  return change(deps, caller, create, settle);
}

/** Returns the normalized action of a name. Throws `validation_failed` for white space, or a dot at either end. */
function cleanAction(value: string): string {
  const action = cleanName(value, MAX_PERMISSION_NAME_LENGTH);
  if (!/\s/u.test(action) && !/^\.|\.$/.test(action)) return action;
  const message = 'must not contain white space, or start or end with a dot';
  throw new AppError('validation_failed', {
    detail: `name ${message}.`,
    errors: [{ field: 'name', code: 'invalid_action', message }],
  });
}

function permissionName(group: string, action: string): string {
  const name = `${group}.${action}`;
  if ([...name].length <= MAX_PERMISSION_NAME_LENGTH) return name;
  const message = `must have at most ${MAX_PERMISSION_NAME_LENGTH} characters, including the prefix "${group}."`;
  throw new AppError('validation_failed', {
    detail: `name ${message}.`,
    errors: [{ field: 'name', code: 'too_long', message }],
  });
}

export async function deletePermission(
  deps: PermissionDeps,
  caller: Caller,
  id: string,
): Promise<Permission> {
  return change(deps, caller, async (locking) => {
    const { tx } = locking;
    const permission = (await lockPermission(tx, id)) ? await findPermission(tx, id) : undefined;
    const entitled = await locking.entitle();
    if (!permission) throw new AppError('permission_not_found');
    if (builtIn.has(permission.name.toLowerCase()))
      throw new AppError('permission_in_use', {
        detail: 'This is a built-in permission. It cannot be deleted.',
      });
    const holders = await findHolders(tx, id);
    if (holders.length > 0)
      throw new AppError('permission_in_use', {
        detail: `The permission belongs to ${holders.length} roles (${holders.slice(0, 5).join(', ')}${holders.length > 5 ? ', …' : ''}). Remove it from them first.`,
      });
    await requireMayLift(entitled, [id]);
    const roleIds = await deletePermissionRow(entitled, id, permission.group_id);
    const delta = { rolePermissions: roleIds.map((roleId) => ({ roleId, added: [], removed: [id] })) };
    return entitled.done(permission, delta, {
      action: 'permission_deleted',
      resourceType: 'permission',
      resourceId: id,
      before: {
        name: permission.name,
        description: permission.description,
        group_id: permission.group_id,
        ...(permission.authentication ? { authentication: permission.authentication } : {}),
      },
      after: null,
    });
  });
}
