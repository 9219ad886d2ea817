// Creates or deletes many role groups, all or none. An error names the item that caused it.
import type { BulkRoleGroup, RoleGroup } from '@castellan/contract/role-groups';
import { MAX_TREE_DEPTH } from '../../platform/db/trees.ts';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import { canonicalIds, requireAllFound } from '../../platform/http/ids.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import { newId } from '../../platform/ids.ts';
import { cleanDescription } from '../../platform/security/record-text.ts';
import type { Tx } from '../../schema/database.ts';
import { authorIdOf, type Caller } from '../authz/caller.ts';
import { change, type Entry, isNonEmpty, type Locking } from '../authz/change.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import {
  deleteNodes,
  fieldsOf,
  type GroupDeps,
  insertNodes,
  lockNodes,
  type NewGroup,
} from '../group-trees/service.ts';
import { lockGroupTree } from '../roles/service.ts';
import { cleanNewGroupName, readGroups, roleGroups, TABLE } from './record.ts';
import { findDepths, findOccupied, findTakenNames } from './store.ts';

/**
 * Creates role groups. A parent is the id of an existing group (`parent_id`) or the name of an earlier item (`parent`).
 */
export async function createRoleGroups(
  deps: GroupDeps,
  caller: Caller,
  items: readonly BulkRoleGroup[],
  settle: Settle<RoleGroup[]>,
): Promise<RoleGroup[]> {
  const groups = planGroups(items, authorIdOf(caller));
  const create = async (locking: Locking) => {
    const { tx } = locking;
    await lockGroupTree(tx);
    await requireFreeNames(tx, groups);
    await requireParents(tx, groups);
    const entitled = await locking.entitle();
    await insertNodes(entitled, TABLE, groups);
    const created = await readGroups(
      tx,
      groups.map(({ id }) => id),
    );
    const entries: readonly Entry[] = groups.map((group) =>
      roleGroups.entry('role_group_created', group.id, { before: null, after: fieldsOf(group) }),
    );
    return isNonEmpty(entries) ? entitled.done(created, sameAccess, ...entries) : entitled.unchanged(created);
  };
  return change(deps, caller, create, settle);
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

function planGroups(items: readonly BulkRoleGroup[], createdBy: string | null): NewGroup[] {
  const idsByName = new Map<string, string>();
  return items.map((item, index) => {
    const { name: given, description = '', parent, parent_id, ...rest } = item;
    allHandled(rest);
    const name = cleanNewGroupName(given, `groups.${index}.name`);
    if (parent !== undefined && parent_id != null)
      throw refuse('validation_failed', index, 'parent', 'cannot be combined with parent_id');
    const parentId =
      parent === undefined
        ? (parent_id?.toLowerCase() ?? null)
        : idsByName.get(parent.trim().normalize('NFC').toLowerCase());
    if (parentId === undefined)
      throw refuse('validation_failed', index, 'parent', 'must name an earlier item of this request');
    const key = name.toLowerCase();
    if (idsByName.has(key)) throw refuse('name_taken', index, 'name', 'appears twice in this request');
    const id = newId();
    idsByName.set(key, id);
    return {
      id,
      name,
      description: cleanDescription(description, `groups.${index}.description`),
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
  if (index >= 0) throw refuse('name_taken', index, 'name', 'is already taken');
}

/** Requires that existing parents are found, and that no chain of new groups is too deep. */
async function requireParents(tx: Tx, groups: readonly NewGroup[]): Promise<void> {
  const added = new Map(groups.map((group) => [group.id, group]));
  const existing = canonicalIds(
    groups.flatMap((group) =>
      group.parent_id !== null && !added.has(group.parent_id) ? [group.parent_id] : [],
    ),
  );
  const found = new Set((await lockNodes(tx, TABLE, existing)).map((row) => row.id));
  const orphan = groups.findIndex(({ parent_id: id }) => id !== null && !added.has(id) && !found.has(id));
  if (orphan >= 0)
    throw refuse('role_group_not_found', orphan, 'parent_id', 'must be the id of a role group');
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

/**
 * Deletes role groups, which may include parents and their children. Returns their number. Throws `group_in_use` if a
 * group has roles, or a child group outside the list.
 */
export async function deleteRoleGroups(
  deps: GroupDeps,
  caller: Caller,
  groupIds: readonly string[],
): Promise<number> {
  const ids = canonicalIds(groupIds);
  return change(deps, caller, async (locking) => {
    const { tx } = locking;
    await lockGroupTree(tx);
    const groups = await lockNodes(tx, TABLE, ids);
    requireAllFound(
      'role_group_not_found',
      'group_ids',
      ids,
      groups.map((group) => group.id),
    );
    const entitled = await locking.entitle();
    const occupied = await findOccupied(tx, ids);
    if (occupied.length > 0)
      throw new AppError('group_in_use', {
        detail: `Nothing was deleted: ${occupied.length} of the groups still have roles, or child groups outside the list.`,
        errors: occupied.slice(0, 20).map((one) => ({
          field: 'group_ids',
          code: 'group_in_use',
          message: `"${one.name}" (${one.id}) has ${one.children} child groups outside the list and ${one.roles} roles`,
        })),
      });
    await deleteNodes(entitled, TABLE, ids);
    const entries: readonly Entry[] = groups.map((group) =>
      roleGroups.entry('role_group_deleted', group.id, { before: fieldsOf(group), after: null }),
    );
    return isNonEmpty(entries) ? entitled.done(groups.length, sameAccess, ...entries) : entitled.unchanged(0);
  });
}
