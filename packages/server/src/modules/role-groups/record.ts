// A role group as its services handle it: found and locked, read as a tree, written to the audit log.
// It must not change a group.
import type { RoleGroup } from '@castellan/contract/role-groups';
import type { Db, Tx } from '../../database.ts';
import { lockNodes, type NodeRow } from '../../platform/db/tree-rows.ts';
import { nest } from '../../platform/db/trees.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import type { Logger } from '../../platform/log.ts';
import { type AuditEvent, recordChanges } from '../audit/service.ts';
import type { Actor } from '../authz/guard.ts';
import { findSubtrees, type GroupRow } from './store.ts';

export type RoleGroupDeps = { db: Db; log: Logger };
export type Group = Versioned<RoleGroup>;

export const TABLE = 'role_groups';
/** Longest name, characters (decisions: 1 to 250). */
export const MAX_GROUP_NAME_LENGTH = 250;

const nodesOf = (rows: readonly GroupRow[]) => rows.map(({ version: _version, ...row }) => row);
export const treesOf = (rows: readonly GroupRow[]): RoleGroup[] =>
  nest(nodesOf(rows), 'children') as RoleGroup[];

/** With everything below it. */
export const readGroup = async (db: Db, id: string): Promise<Group | undefined> =>
  groupOf(await findSubtrees(db, [id]), id);

/** The group among the rows of it and of everything below it. */
export function groupOf(rows: readonly GroupRow[], id: string): Group | undefined {
  const version = rows.find((row) => row.id === id)?.version;
  const record = treesOf(rows)[0];
  return record === undefined || version === undefined ? undefined : { record, version };
}

/** In the order of the ids, each without its children: `parent_id` tells the tree, and the answer stays as large as it. */
export async function readGroups(db: Db, ids: readonly string[]): Promise<RoleGroup[]> {
  const byId = new Map(nodesOf(await findSubtrees(db, ids)).map((node) => [node.id, node]));
  return ids.flatMap((id) => {
    const node = byId.get(id);
    return node ? [{ ...node, children: [] }] : [];
  });
}

/** Locked until the transaction ends. Throws 404, then 412. */
export async function requireGroup(tx: Tx, id: string, ifMatch: readonly number[] | null): Promise<NodeRow> {
  const group = (await lockNodes(tx, TABLE, [id]))[0];
  if (!group) throw new AppError('role_group_not_found');
  await requireVersion(ifMatch, group.version, async () => (await readGroup(tx, id))?.record ?? {});
  return group;
}

type Change = Pick<AuditEvent, 'before' | 'after' | 'details'>;

export const recordGroup = (
  tx: Tx,
  deps: RoleGroupDeps,
  client: Client,
  actor: Actor,
  action: AuditEvent['action'],
  id: string,
  change: Change,
): Promise<void> => recordGroups(tx, deps, client, actor, action, [{ id, ...change }]);

/** One statement whatever their number. */
export async function recordGroups(
  tx: Tx,
  deps: RoleGroupDeps,
  client: Client,
  actor: Actor,
  action: AuditEvent['action'],
  changes: readonly ({ id: string } & Change)[],
): Promise<void> {
  const about = { action, actorId: actor.user_id, resourceType: 'role_group' };
  const events = changes.map(({ id, ...change }) => ({ ...about, resourceId: id, ...change }));
  await recordChanges(tx, deps.log, client, events);
}
