// The rules that role groups and permission groups share: a tree without cycles and with a maximum depth.
// `GroupKind` describes the differences.

import { isDeepStrictEqual } from 'node:util';
import type { AuditAction } from '@castellan/contract/audit';
import type { PageQuery, Pagination } from '@castellan/contract/common';
import { counted } from '../../platform/counted.ts';
import { requireMove } from '../../platform/db/trees.ts';
import { AppError } from '../../platform/errors.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import { type IfMatch, requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import { newId } from '../../platform/ids.ts';
import { paginationOf } from '../../platform/pages.ts';
import { cleanDescription, requireNoId } from '../../platform/security/record-text.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { authorIdOf, type Caller } from '../authz/caller.ts';
import { type ChangeDeps, change, type Entitled, type Entry, type Locking } from '../authz/change.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import {
  countRoots,
  deleteNodes,
  fieldsOf,
  type GroupFields,
  type GroupNode,
  insertNodes,
  listRootIds,
  lockNodes,
  type TreeTable,
  updateNode,
} from './store.ts';

export {
  deleteNodes,
  fieldsOf,
  type GroupNode,
  insertNodes,
  lockNodes,
  type NewGroup,
} from './store.ts';

export type GroupDeps = ChangeDeps;

/** The fields of a group in a request. A missing field stays unchanged. */
export type GroupInput = { name?: string; description?: string; parent_id?: string | null };

export type GroupKind<Row extends { id: string; version: number }, Group extends { id: string }> = {
  table: TreeTable;
  type: 'role_group' | 'permission_group';
  actions: Record<'created' | 'updated' | 'moved' | 'deleted', AuditAction>;
  /** Takes the first lock of every transaction that creates, moves or deletes a group. */
  lockTree(tx: Tx): Promise<void>;
  /** Returns the normalized name. Throws `validation_failed`. */
  cleanName(name: string): string;
  /** Returns the groups and all their descendants, sorted by name, in one statement. */
  findSubtrees(db: Db, ids: readonly string[]): Promise<Row[]>;
  nest(rows: readonly Omit<Row, 'version'>[]): Group[];
  /** Checks a place below an existing parent, in addition to `requireMove`. `id` is null for a new group. */
  requirePlace?(tx: Tx, id: string | null, parentId: string): Promise<void>;
  /** Applies a new name to the members of the group. */
  rename?(entitled: Entitled, group: GroupNode, name: string): Promise<void>;
  /** The members of a group, besides child groups. */
  memberNoun: 'role' | 'permission';
  countMembers(tx: Tx, id: string): Promise<{ children: number; members: number }>;
};

export function createGroupTrees<Row extends { id: string; version: number }, Group extends { id: string }>(
  kind: GroupKind<Row, Group>,
) {
  const { table, type, actions } = kind;
  const notFound = `${type}_not_found` as const;

  /** Returns the roots among the rows, in order, each with its descendants. */
  function treesOf(rows: readonly Row[]): Versioned<Group>[] {
    const versions = new Map(rows.map(({ id, version }) => [id, version]));
    const nodes = rows.map(({ version: _version, ...row }) => row);
    return kind.nest(nodes).map((record) => ({ record, version: versions.get(record.id) ?? 0 }));
  }

  const find = async (db: Db, id: string): Promise<Versioned<Group> | undefined> =>
    treesOf(await kind.findSubtrees(db, [id]))[0];

  /** Returns a group with its descendants. Throws 404. */
  async function read(db: Db, id: string): Promise<Versioned<Group>> {
    const group = await find(db, id);
    if (!group) throw new AppError(notFound);
    return group;
  }

  /** Locks a group until the transaction ends and returns it. Throws 404; with `ifMatch` also 412. */
  async function requireGroup(tx: Tx, id: string, ifMatch: IfMatch = null): Promise<GroupNode> {
    const [group] = await lockNodes(tx, table, [id]);
    if (!group) throw new AppError(notFound);
    await requireVersion(ifMatch, group.version, async () => (await find(tx, id))?.record ?? {});
    return group;
  }

  /** Requires that the parent exists and that the move creates neither a cycle nor too deep a tree. */
  async function requirePlace(tx: Tx, id: string | null, parentId: string): Promise<void> {
    const [parent] = await lockNodes(tx, table, [parentId]);
    if (!parent)
      throw new AppError(notFound, {
        detail: `There is no ${type.replace('_', ' ')} with the id in parent_id.`,
      });
    await requireMove(tx, table, id, parentId);
    await kind.requirePlace?.(tx, id, parentId);
  }

  const entry = (
    action: AuditAction,
    id: string,
    about: Pick<Entry, 'before' | 'after' | 'details' | 'resourceName'>,
  ): Entry => ({ action, resourceType: type, resourceId: id, ...about });

  /** Returns one page of root groups, sorted by name, each with its descendants. */
  async function list(deps: GroupDeps, query: PageQuery): Promise<{ data: Group[]; pagination: Pagination }> {
    const [total, ids] = await Promise.all([countRoots(deps.db, table), listRootIds(deps.db, table, query)]);
    const data = treesOf(await kind.findSubtrees(deps.db, ids)).map(({ record }) => record);
    return { data, pagination: paginationOf(query, total) };
  }

  async function create(
    deps: GroupDeps,
    caller: Caller,
    input: GroupInput & { name: string },
    settle: Settle<Versioned<Group>>,
  ): Promise<Versioned<Group>> {
    const name = kind.cleanName(input.name);
    requireNoId(name);
    const group = {
      id: newId(),
      name,
      description: cleanDescription(input.description ?? ''),
      parent_id: input.parent_id?.toLowerCase() ?? null,
      created_by_id: authorIdOf(caller),
    };
    const insert = async (locking: Locking) => {
      const { tx } = locking;
      await kind.lockTree(tx);
      if (group.parent_id !== null) await requirePlace(tx, null, group.parent_id);
      const entitled = await locking.entitle();
      await insertNodes(entitled, table, [group]);
      const created = entry(actions.created, group.id, { before: null, after: fieldsOf(group) });
      return entitled.done(await read(tx, group.id), sameAccess, created);
    };
    return change(deps, caller, insert, settle);
  }

  async function update(
    deps: GroupDeps,
    caller: Caller,
    id: string,
    input: GroupInput,
  ): Promise<Versioned<Group>> {
    const name = input.name === undefined ? undefined : kind.cleanName(input.name);
    const description = input.description === undefined ? undefined : cleanDescription(input.description);
    const parent = input.parent_id === undefined ? undefined : (input.parent_id?.toLowerCase() ?? null);
    return change(deps, caller, async (locking) => {
      const { tx } = locking;
      await kind.lockTree(tx);
      const before = await requireGroup(tx, id, caller.ifMatch);
      if (name !== undefined && name !== before.name) requireNoId(name);
      const moved = parent !== undefined && parent !== before.parent_id;
      if (moved && parent !== null) await requirePlace(tx, before.id, parent);
      const after: GroupFields = {
        name: name ?? before.name,
        description: description ?? before.description,
        parent_id: parent === undefined ? before.parent_id : parent,
      };
      const entitled = await locking.entitle();
      if (isDeepStrictEqual(after, fieldsOf(before))) return entitled.unchanged(await read(tx, before.id));
      if (after.name !== before.name) await kind.rename?.(entitled, before, after.name);
      await updateNode(entitled, table, { id: before.id, ...after });
      const updated = entry(moved ? actions.moved : actions.updated, before.id, {
        before: fieldsOf(before),
        after,
      });
      return entitled.done(await read(tx, before.id), sameAccess, updated);
    });
  }

  async function remove(deps: GroupDeps, caller: Caller, id: string): Promise<void> {
    return change(deps, caller, async (locking) => {
      const { tx } = locking;
      await kind.lockTree(tx);
      const group = await requireGroup(tx, id, caller.ifMatch);
      const entitled = await locking.entitle();
      const { children, members } = await kind.countMembers(tx, group.id);
      if (children > 0 || members > 0)
        throw new AppError('group_in_use', {
          detail: `The group has ${counted(children, 'child group')} and ${counted(members, kind.memberNoun)}. Remove them first.`,
        });
      await deleteNodes(entitled, table, [group.id]);
      const deleted = entry(actions.deleted, group.id, { before: fieldsOf(group), after: null });
      return entitled.done(undefined, sameAccess, deleted);
    });
  }

  return { treesOf, read, list, create, update, remove, requireGroup, entry };
}
