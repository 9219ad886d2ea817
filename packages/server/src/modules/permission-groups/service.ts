// Rules of permission groups: a tree without circles, bounded in depth, whose names prefix their permissions'.
import type { PageQuery, Pagination } from '@castellan/contract/common';
import type {
  CreatePermissionGroupBody,
  PermissionGroup,
  UpdatePermissionGroupBody,
} from '@castellan/contract/permission-records';
import { permissionCatalogue } from '@castellan/contract/permissions';
import type { Db, Tx } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import {
  countRoots,
  fieldsOf,
  listRootIds,
  lockNodes,
  type NodeRow,
  updateNode,
} from '../../platform/db/tree-rows.ts';
import { nest, requireMove } from '../../platform/db/trees.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { paginationOf } from '../../platform/http/pages.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { cleanDescription, cleanName } from '../../platform/security/record-text.ts';
import { type AuditEvent, recordChange } from '../audit/service.ts';
import { requireMayGrantPermissions, requireStillEntitled } from '../authz/delegation.ts';
import type { Actor } from '../authz/guard.ts';
import { MAX_PERMISSION_NAME_LENGTH } from '../permissions/service.ts';
import {
  countMembers,
  crossesOwnNames,
  deleteGroupRow,
  findPermissions,
  findSubtrees,
  type GroupRow,
  insertGroup,
  lockTree,
  renamePermissions,
} from './store.ts';

export { lockTree as lockPermissionGroupTree } from './store.ts';

export type PermissionGroupDeps = { db: Db; log: Logger };
type Group = Versioned<PermissionGroup>;

const TABLE = 'permission_groups';
/** Longest name, characters (decisions: 1 to 250). Beyond 98 no permission fits, only groups do. */
const MAX_NAME_LENGTH = 250;

/** The groups whose permissions the service itself checks, by the names that it checks. */
const needed: ReadonlySet<string> = new Set(Object.keys(permissionCatalogue));

const withoutVersion = ({ version: _version, ...row }: GroupRow) => row;
const treesOf = (rows: readonly GroupRow[]) => nest(rows.map(withoutVersion), 'groups') as PermissionGroup[];

async function readGroup(db: Db, id: string): Promise<Group | undefined> {
  const rows = await findSubtrees(db, [id]);
  const version = rows.find((row) => row.id === id)?.version;
  const record = treesOf(rows)[0];
  return record === undefined || version === undefined ? undefined : { record, version };
}

export async function getPermissionGroup(deps: PermissionGroupDeps, id: string): Promise<Group> {
  const group = await readGroup(deps.db, id);
  if (!group) throw new AppError('permission_group_not_found');
  return group;
}

/** Pages over root groups, by name; each carries everything below it. */
export async function listPermissionGroups(
  deps: PermissionGroupDeps,
  query: PageQuery,
): Promise<{ data: PermissionGroup[]; pagination: Pagination }> {
  const [total, ids] = await Promise.all([countRoots(deps.db, TABLE), listRootIds(deps.db, TABLE, query)]);
  const data = treesOf(await findSubtrees(deps.db, ids));
  return { data, pagination: paginationOf(query, total) };
}

/** Undefined: not said. Two names for one thing must not contradict each other. */
function parentOf(body: UpdatePermissionGroupBody): string | null | undefined {
  const { parent_id: one, permission_group_id: other } = body;
  if (one !== undefined && other !== undefined && one?.toLowerCase() !== other?.toLowerCase())
    throw new AppError('validation_failed', {
      detail: 'parent_id and permission_group_id name different groups. Send one of them.',
    });
  const given = one !== undefined ? one : other;
  return given?.toLowerCase() ?? given;
}

export async function createPermissionGroup(
  deps: PermissionGroupDeps,
  client: Client,
  actor: Actor,
  body: CreatePermissionGroupBody,
): Promise<Group> {
  const group = {
    id: newId(),
    name: cleanGroupName(body.name),
    description: cleanDescription(body.description ?? ''),
    parent_id: parentOf(body) ?? null,
    created_by_id: actor.user_id,
  };
  return inTransaction(deps.db, async (tx) => {
    await lockTree(tx);
    if (group.parent_id !== null) await requirePlace(tx, null, group.parent_id);
    await requireStillEntitled(tx, actor);
    await insertGroup(tx, group);
    await record(tx, deps, client, actor, 'permission_group_created', group.id, {
      before: null,
      after: fieldsOf(group),
    });
    return (await readGroup(tx, group.id)) as Group;
  });
}

export async function updatePermissionGroup(
  deps: PermissionGroupDeps,
  client: Client,
  actor: Actor,
  id: string,
  body: UpdatePermissionGroupBody,
  ifMatch: readonly number[] | null,
): Promise<Group> {
  const name = body.name === undefined ? undefined : cleanGroupName(body.name);
  const description = body.description === undefined ? undefined : cleanDescription(body.description);
  const parent = parentOf(body);
  return inTransaction(deps.db, async (tx) => {
    await lockTree(tx);
    const before = await requireGroup(tx, id, ifMatch);
    const moved = parent !== undefined && parent !== before.parent_id;
    if (moved && parent !== null) await requirePlace(tx, before.id, parent);
    const after = {
      name: name ?? before.name,
      description: description ?? before.description,
      parent_id: parent === undefined ? before.parent_id : parent,
    };
    await requireStillEntitled(tx, actor);
    if (after.name !== before.name) await rename(tx, actor, before, after.name);
    await updateNode(tx, TABLE, before.id, after);
    const action = moved ? 'permission_group_moved' : 'permission_group_updated';
    await record(tx, deps, client, actor, action, before.id, { before: fieldsOf(before), after });
    return (await readGroup(tx, before.id)) as Group;
  });
}

export async function deletePermissionGroup(
  deps: PermissionGroupDeps,
  client: Client,
  actor: Actor,
  id: string,
  ifMatch: readonly number[] | null,
): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    await lockTree(tx);
    const group = await requireGroup(tx, id, ifMatch);
    await requireStillEntitled(tx, actor);
    const { children, permissions } = await countMembers(tx, group.id);
    if (children > 0 || permissions > 0)
      throw new AppError('group_in_use', {
        detail: `The group has ${children} child groups and ${permissions} permissions. Remove them first.`,
      });
    await deleteGroupRow(tx, group.id);
    await record(tx, deps, client, actor, 'permission_group_deleted', group.id, {
      before: fieldsOf(group),
      after: null,
    });
  });
}

// No group can have this name: control characters are refused.
const NOBODYS_NAME = '\u0001';

/**
 * Under the tree's lock, so no two renames meet at nobody's name. Whoever holds a permission of the group holds one of
 * another name afterwards, so only somebody who could hand them out may do this.
 */
async function rename(tx: Tx, actor: Actor, group: NodeRow, newName: string): Promise<void> {
  const permissions = await findPermissions(tx, group.id);
  await requireMayGrantPermissions(
    tx,
    actor,
    permissions.map((permission) => permission.id),
  );
  if (needed.has(group.name))
    throw new AppError('conflict', {
      detail: `The service itself checks permissions of the group "${group.name}"; it keeps its name.`,
    });
  const growth = lengthOf(newName) - lengthOf(group.name);
  if (permissions.some((permission) => lengthOf(permission.name) + growth > MAX_PERMISSION_NAME_LENGTH))
    throw new AppError('validation_failed', {
      detail: `name is too long for the permissions of this group: with it a permission would have more than ${MAX_PERMISSION_NAME_LENGTH} characters.`,
      errors: [{ field: 'name', code: 'too_long', message: 'is too long for the permissions of this group' }],
    });
  // After its first step all other changes of permissions wait for this one, and one of them may have a name that the
  // second step waits for: two steps only where one does not do.
  if (!(await crossesOwnNames(tx, group, newName))) return renamePermissions(tx, group, newName);
  await renamePermissions(tx, group, NOBODYS_NAME);
  await renamePermissions(tx, { id: group.id, name: NOBODYS_NAME }, newName);
}

/** As PostgreSQL counts it. */
const lengthOf = (text: string): number => [...text].length;

/** A name that begins or ends with a dot would make unreadable permissions. */
function cleanGroupName(value: string): string {
  const name = cleanName(value, MAX_NAME_LENGTH);
  if (!/^\.|\.$/.test(name)) return name;
  throw new AppError('validation_failed', {
    detail: 'name must have no dot at either end.',
    errors: [{ field: 'name', code: 'invalid_name', message: 'must have no dot at either end' }],
  });
}

async function requireGroup(tx: Tx, id: string, ifMatch: readonly number[] | null): Promise<NodeRow> {
  const group = (await lockNodes(tx, TABLE, [id]))[0];
  if (!group) throw new AppError('permission_group_not_found');
  await requireVersion(ifMatch, group.version, async () => (await readGroup(tx, group.id))?.record ?? {});
  return group;
}

/** The new parent exists, and neither a circle nor too deep a tree comes of it. */
async function requirePlace(tx: Tx, id: string | null, parentId: string): Promise<void> {
  if ((await lockNodes(tx, TABLE, [parentId])).length === 0)
    throw new AppError('permission_group_not_found', {
      detail: 'There is no permission group with the id in parent_id.',
    });
  await requireMove(tx, TABLE, id, parentId);
}

async function record(
  tx: Tx,
  deps: PermissionGroupDeps,
  client: Client,
  actor: Actor,
  action: AuditEvent['action'],
  id: string,
  change: Pick<AuditEvent, 'before' | 'after'>,
): Promise<void> {
  const about = { action, actorId: actor.user_id, resourceType: 'permission_group', resourceId: id };
  await recordChange(tx, deps.log, client, { ...about, ...change });
}
