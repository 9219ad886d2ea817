// Rules of permissions: named after their group, deleted only when nobody needs them.
import type { PageQuery, Pagination } from '@castellan/contract/common';
import type { CreatePermissionBody, Permission } from '@castellan/contract/permission-records';
import { allPermissions } from '@castellan/contract/permissions';
import type { Db } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { paginationOf } from '../../platform/http/pages.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { cleanDescription, cleanName } from '../../platform/security/record-text.ts';
import { recordChange } from '../audit/service.ts';
import { requireStillEntitled } from '../authz/delegation.ts';
import type { Actor } from '../authz/guard.ts';
import {
  countPermissions,
  deletePermissionRow,
  findHolders,
  findPermission,
  insertPermission,
  listPermissions as listRecords,
  lockGroupName,
  lockPermission,
} from './store.ts';

export type PermissionDeps = { db: Db; log: Logger };

/** Longest name with its prefix, characters (the database's CHECK says the same). */
export const MAX_PERMISSION_NAME_LENGTH = 100;

/** The permissions that the service itself checks: without them nobody could administer it. */
const needed: ReadonlySet<string> = new Set(allPermissions);

export async function getPermission(deps: PermissionDeps, id: string): Promise<Permission> {
  const permission = await findPermission(deps.db, id);
  if (!permission) throw new AppError('permission_not_found');
  return permission;
}

/** By name. */
export async function listPermissions(
  deps: PermissionDeps,
  query: PageQuery & { group_id?: string },
): Promise<{ data: Permission[]; pagination: Pagination }> {
  const groupId = query.group_id ?? null;
  const [total, data] = await Promise.all([
    countPermissions(deps.db, groupId),
    listRecords(deps.db, groupId, query),
  ]);
  return { data, pagination: paginationOf(query, total) };
}

export async function createPermission(
  deps: PermissionDeps,
  client: Client,
  actor: Actor,
  body: CreatePermissionBody,
): Promise<Permission> {
  const action = cleanAction(body.name);
  const description = cleanDescription(body.description ?? '');
  const groupId = body.group_id.toLowerCase();
  const id = newId();
  return inTransaction(deps.db, async (tx) => {
    const group = await lockGroupName(tx, groupId);
    await requireStillEntitled(tx, actor);
    if (group === undefined) throw new AppError('permission_group_not_found');
    const name = permissionName(group, action);
    await insertPermission(tx, { id, name, description, group_id: groupId, created_by_id: actor.user_id });
    await recordChange(tx, deps.log, client, {
      action: 'permission_created',
      actorId: actor.user_id,
      resourceType: 'permission',
      resourceId: id,
      before: null,
      after: { name, description, group_id: groupId },
    });
    return (await findPermission(tx, id)) as Permission;
  });
}

/** The action alone: no white space, no dot at either end. */
function cleanAction(value: string): string {
  const action = cleanName(value, MAX_PERMISSION_NAME_LENGTH);
  if (!/\s/u.test(action) && !/^\.|\.$/.test(action)) return action;
  const message = 'must have no white space and no dot at either end';
  throw new AppError('validation_failed', {
    detail: `name ${message}.`,
    errors: [{ field: 'name', code: 'invalid_action', message }],
  });
}

function permissionName(group: string, action: string): string {
  const name = `${group}.${action}`;
  if ([...name].length <= MAX_PERMISSION_NAME_LENGTH) return name;
  const message = `must have at most ${MAX_PERMISSION_NAME_LENGTH} characters together with "${group}." before it`;
  throw new AppError('validation_failed', {
    detail: `name ${message}.`,
    errors: [{ field: 'name', code: 'too_long', message }],
  });
}

export async function deletePermission(
  deps: PermissionDeps,
  client: Client,
  actor: Actor,
  id: string,
): Promise<Permission> {
  return inTransaction(deps.db, async (tx) => {
    const permission = (await lockPermission(tx, id)) ? await findPermission(tx, id) : undefined;
    await requireStillEntitled(tx, actor);
    if (!permission) throw new AppError('permission_not_found');
    if (needed.has(permission.name))
      throw new AppError('permission_in_use', {
        detail: 'The service itself checks this permission; it cannot be deleted.',
      });
    const holders = await findHolders(tx, id);
    if (holders.length > 0)
      throw new AppError('permission_in_use', {
        detail: `The permission belongs to ${holders.length} roles (${holders.slice(0, 5).join(', ')}${holders.length > 5 ? ', …' : ''}). Remove it there first.`,
      });
    await deletePermissionRow(tx, id, permission.group_id);
    await recordChange(tx, deps.log, client, {
      action: 'permission_deleted',
      actorId: actor.user_id,
      resourceType: 'permission',
      resourceId: id,
      before: { name: permission.name, description: permission.description, group_id: permission.group_id },
      after: null,
    });
    return permission;
  });
}
