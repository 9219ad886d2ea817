// Rules of role groups: reading the tree, making, changing and deleting single groups.
// Bulk operations stand in bulk.ts, the roles of a group in roles-of-group.ts.
import type { PageQuery, Pagination } from '@castellan/contract/common';
import type { CreateRoleGroupBody, RoleGroup, UpdateRoleGroupBody } from '@castellan/contract/role-groups';
import type { Tx } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { countRoots, fieldsOf, listRootIds, lockNodes, updateNode } from '../../platform/db/tree-rows.ts';
import { requireMove } from '../../platform/db/trees.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { paginationOf } from '../../platform/http/pages.ts';
import { newId } from '../../platform/ids.ts';
import { cleanDescription, cleanName } from '../../platform/security/record-text.ts';
import { requireStillEntitled } from '../authz/delegation.ts';
import type { Actor } from '../authz/guard.ts';
import { lockGroupTree } from '../roles/service.ts';
import {
  type Group,
  groupOf,
  MAX_GROUP_NAME_LENGTH,
  type RoleGroupDeps,
  readGroup,
  recordGroup,
  requireGroup,
  TABLE,
  treesOf,
} from './record.ts';
import { deleteGroupRows, findOccupied, findSharedRole, findSubtrees, insertGroups } from './store.ts';

export type { RoleGroupDeps } from './record.ts';

/** Roles of groups below are left out unless asked for. */
export async function getRoleGroup(
  deps: RoleGroupDeps,
  id: string,
  includeNestedRoles: boolean,
): Promise<Group> {
  const rows = await findSubtrees(deps.db, [id]);
  if (!includeNestedRoles) for (const row of rows) if (row.id !== id) row.roles = [];
  const group = groupOf(rows, id);
  if (!group) throw new AppError('role_group_not_found');
  return group;
}

/** Pages over root groups, by name; each carries everything below it. */
export async function listRoleGroups(
  deps: RoleGroupDeps,
  query: PageQuery,
): Promise<{ data: RoleGroup[]; pagination: Pagination }> {
  const [total, ids] = await Promise.all([countRoots(deps.db, TABLE), listRootIds(deps.db, TABLE, query)]);
  return { data: treesOf(await findSubtrees(deps.db, ids)), pagination: paginationOf(query, total) };
}

export async function createRoleGroup(
  deps: RoleGroupDeps,
  client: Client,
  actor: Actor,
  body: CreateRoleGroupBody,
): Promise<Group> {
  const group = {
    id: newId(),
    name: cleanName(body.name, MAX_GROUP_NAME_LENGTH),
    description: cleanDescription(body.description ?? ''),
    parent_id: body.parent_id?.toLowerCase() ?? null,
    created_by_id: actor.user_id,
  };
  return inTransaction(deps.db, async (tx) => {
    await lockGroupTree(tx);
    if (group.parent_id !== null) await requirePlace(tx, null, group.parent_id);
    await requireStillEntitled(tx, actor);
    await insertGroups(tx, [group]);
    await recordGroup(tx, deps, client, actor, 'role_group_created', group.id, {
      before: null,
      after: fieldsOf(group),
    });
    return (await readGroup(tx, group.id)) as Group;
  });
}

export async function updateRoleGroup(
  deps: RoleGroupDeps,
  client: Client,
  actor: Actor,
  id: string,
  body: UpdateRoleGroupBody,
  ifMatch: readonly number[] | null,
): Promise<Group> {
  const name = body.name === undefined ? undefined : cleanName(body.name, MAX_GROUP_NAME_LENGTH);
  const description = body.description === undefined ? undefined : cleanDescription(body.description);
  const parent = body.parent_id === undefined ? undefined : (body.parent_id?.toLowerCase() ?? null);
  return inTransaction(deps.db, async (tx) => {
    await lockGroupTree(tx);
    const before = await requireGroup(tx, id, ifMatch);
    const moved = parent !== undefined && parent !== before.parent_id;
    if (moved && parent !== null) await requirePlace(tx, before.id, parent);
    const after = {
      name: name ?? before.name,
      description: description ?? before.description,
      parent_id: parent === undefined ? before.parent_id : parent,
    };
    await requireStillEntitled(tx, actor);
    await updateNode(tx, TABLE, before.id, after);
    const change = { before: fieldsOf(before), after };
    const action = moved ? 'role_group_moved' : 'role_group_updated';
    await recordGroup(tx, deps, client, actor, action, before.id, change);
    return (await readGroup(tx, before.id)) as Group;
  });
}

export async function deleteRoleGroup(
  deps: RoleGroupDeps,
  client: Client,
  actor: Actor,
  id: string,
  ifMatch: readonly number[] | null,
): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    await lockGroupTree(tx);
    const group = await requireGroup(tx, id, ifMatch);
    await requireStillEntitled(tx, actor);
    const occupied = (await findOccupied(tx, [group.id]))[0];
    if (occupied)
      throw new AppError('group_in_use', {
        detail: `The group has ${occupied.children} child groups and ${occupied.roles} roles. Remove them first.`,
      });
    await deleteGroupRows(tx, [group.id]);
    await recordGroup(tx, deps, client, actor, 'role_group_deleted', group.id, {
      before: fieldsOf(group),
      after: null,
    });
  });
}

/** The parent exists, and neither a circle, nor too deep a tree, nor a role in a group and above it comes of it. */
async function requirePlace(tx: Tx, id: string | null, parentId: string): Promise<void> {
  if ((await lockNodes(tx, TABLE, [parentId])).length === 0)
    throw new AppError('role_group_not_found', {
      detail: 'There is no role group with the id in parent_id.',
    });
  await requireMove(tx, TABLE, id, parentId);
  const shared = id === null ? undefined : await findSharedRole(tx, id, parentId);
  if (shared)
    throw new AppError('circular_dependency', {
      detail: `The role "${shared.role}" belongs to "${shared.group}" and to a group that would lie below it. Take it out of one of them first.`,
    });
}
