// Many role groups at once: all of them or none, and the answer names the row that stood in the way.
import type { BulkRoleGroup, RoleGroup } from '@castellan/contract/role-groups';
import type { Tx } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { fieldsOf, lockNodes } from '../../platform/db/tree-rows.ts';
import { MAX_TREE_DEPTH } from '../../platform/db/trees.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { canonicalIds, requireAllFound } from '../../platform/http/ids.ts';
import { newId } from '../../platform/ids.ts';
import { cleanDescription, cleanName } from '../../platform/security/record-text.ts';
import { requireStillEntitled } from '../authz/delegation.ts';
import type { Actor } from '../authz/guard.ts';
import { lockGroupTree } from '../roles/service.ts';
import { MAX_GROUP_NAME_LENGTH, type RoleGroupDeps, readGroups, recordGroups, TABLE } from './record.ts';
import {
  deleteGroupRows,
  findDepths,
  findOccupied,
  findTakenNames,
  insertGroups,
  type NewGroup,
} from './store.ts';

/** A parent is an existing group's id (`parent_id`) or the name of an earlier item (`parent`). */
export async function createRoleGroups(
  deps: RoleGroupDeps,
  client: Client,
  actor: Actor,
  items: readonly BulkRoleGroup[],
): Promise<RoleGroup[]> {
  const groups = planGroups(items, actor.user_id);
  return inTransaction(deps.db, async (tx) => {
    await lockGroupTree(tx);
    await requireFreeNames(tx, groups);
    await requireParents(tx, groups);
    await requireStillEntitled(tx, actor);
    await insertGroups(tx, groups);
    await recordGroups(
      tx,
      deps,
      client,
      actor,
      'role_group_created',
      groups.map((group) => ({ id: group.id, before: null, after: fieldsOf(group) })),
    );
    return readGroups(
      tx,
      groups.map((group) => group.id),
    );
  });
}

const refuse = (
  code: 'validation_failed' | 'name_taken' | 'hierarchy_too_deep' | 'role_group_not_found',
  index: number,
  field: string,
  message: string,
): AppError =>
  new AppError(code, {
    detail: `Item ${index}: ${field} ${message}. Nothing was created.`,
    errors: [{ field: `groups.${index}.${field}`, code, message }],
  });

function planGroups(items: readonly BulkRoleGroup[], createdBy: string): NewGroup[] {
  const idsByName = new Map<string, string>();
  return items.map((item, index) => {
    const name = cleanName(item.name, MAX_GROUP_NAME_LENGTH, `groups.${index}.name`);
    if (item.parent !== undefined && item.parent_id != null)
      throw refuse('validation_failed', index, 'parent', 'and parent_id exclude each other');
    const parentId =
      item.parent === undefined
        ? (item.parent_id?.toLowerCase() ?? null)
        : idsByName.get(item.parent.trim().normalize('NFC').toLowerCase());
    if (parentId === undefined)
      throw refuse('validation_failed', index, 'parent', 'names no earlier item of this request');
    const key = name.toLowerCase();
    if (idsByName.has(key)) throw refuse('name_taken', index, 'name', 'stands twice in this request');
    const id = newId();
    idsByName.set(key, id);
    return {
      id,
      name,
      description: cleanDescription(item.description ?? '', `groups.${index}.description`),
      parent_id: parentId,
      created_by_id: createdBy,
    };
  });
}

async function requireFreeNames(tx: Tx, groups: readonly NewGroup[]): Promise<void> {
  const taken = new Set(
    await findTakenNames(
      tx,
      groups.map((group) => group.name),
    ),
  );
  const index = groups.findIndex((group) => taken.has(group.name));
  if (index >= 0) throw refuse('name_taken', index, 'name', 'is taken already');
}

/** Existing parents are there, and no chain of new groups below one gets too deep. */
async function requireParents(tx: Tx, groups: readonly NewGroup[]): Promise<void> {
  const fresh = new Map(groups.map((group) => [group.id, group]));
  const existing = canonicalIds(
    groups.flatMap((group) =>
      group.parent_id !== null && !fresh.has(group.parent_id) ? [group.parent_id] : [],
    ),
  );
  const found = new Set((await lockNodes(tx, TABLE, existing)).map((row) => row.id));
  const orphan = groups.findIndex(({ parent_id: id }) => id !== null && !fresh.has(id) && !found.has(id));
  if (orphan >= 0) throw refuse('role_group_not_found', orphan, 'parent_id', 'names no role group');
  const depths = await findDepths(tx, existing);
  for (const [index, group] of groups.entries()) {
    // Parents come earlier, so their depth is known.
    const depth = group.parent_id === null ? 1 : (depths.get(group.parent_id) ?? 0) + 1;
    if (depth > MAX_TREE_DEPTH)
      throw refuse(
        'hierarchy_too_deep',
        index,
        'parent',
        `would be nested deeper than ${MAX_TREE_DEPTH} levels`,
      );
    depths.set(group.id, depth);
  }
}

/** Parents may go together with their children; a child or role left outside of the list stands in the way. */
export async function deleteRoleGroups(
  deps: RoleGroupDeps,
  client: Client,
  actor: Actor,
  groupIds: readonly string[],
): Promise<number> {
  const ids = canonicalIds(groupIds);
  return inTransaction(deps.db, async (tx) => {
    await lockGroupTree(tx);
    const groups = await lockNodes(tx, TABLE, ids);
    requireAllFound(
      'role_group_not_found',
      'group_ids',
      ids,
      groups.map((group) => group.id),
    );
    await requireStillEntitled(tx, actor);
    const occupied = await findOccupied(tx, ids);
    if (occupied.length > 0)
      throw new AppError('group_in_use', {
        detail: `Nothing was deleted: ${occupied.length} of the groups still have children outside of the list or roles.`,
        errors: occupied.slice(0, 20).map((one) => ({
          field: 'group_ids',
          code: 'group_in_use',
          message: `"${one.name}" (${one.id}) has ${one.children} child groups outside of the list and ${one.roles} roles`,
        })),
      });
    await deleteGroupRows(tx, ids);
    await recordGroups(
      tx,
      deps,
      client,
      actor,
      'role_group_deleted',
      groups.map((group) => ({ id: group.id, before: fieldsOf(group), after: null })),
    );
    return groups.length;
  });
}
