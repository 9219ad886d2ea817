// SQL of permission_groups.
import type { Permission } from '@castellan/contract/permission-records';
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';
import { isoTime, lockUntilCommit } from '../../platform/db/sql.ts';
import { MAX_TREE_DEPTH } from '../../platform/db/trees.ts';
import { permissionJson } from '../permissions/presentation.ts';

export type GroupRow = {
  id: string;
  name: string;
  description: string;
  parent_id: string | null;
  permission_group_id: string | null;
  permissions: Permission[];
  created_at: string;
  updated_at: string;
  created_by_id: string | null;
  version: number;
};

/** First in every transaction that makes, moves or deletes a group: what one checks about the tree stays true. */
export async function lockTree(tx: Tx): Promise<void> {
  await lockUntilCommit('permission_groups').execute(tx);
}

/** These groups and everything below them, by name. One statement whatever their number. */
export async function findSubtrees(db: Db, ids: readonly string[]): Promise<GroupRow[]> {
  const { rows } = await sql<GroupRow>`
    with recursive tree as (
      select id, 1 as depth from permission_groups where id = any(${ids}::uuid[])
      union
      select g.id, tree.depth + 1 from permission_groups g join tree on g.parent_id = tree.id where tree.depth < ${MAX_TREE_DEPTH}
    )
    select g.id, g.name, g.description, g.parent_id, g.parent_id as permission_group_id, g.version, g.created_by_id,
      ${isoTime('g.created_at')} as created_at, ${isoTime('g.updated_at')} as updated_at,
      coalesce((
        select json_agg(${permissionJson} order by p.name)
        from permissions p join permission_groups pg on pg.id = p.group_id where p.group_id = g.id), '[]'::json) as permissions
    from permission_groups g where g.id in (select id from tree) order by lower(g.name), g.id`.execute(db);
  return rows;
}

export async function insertGroup(
  tx: Tx,
  group: { id: string; name: string; description: string; parent_id: string | null; created_by_id: string },
): Promise<void> {
  await tx.insertInto('permission_groups').values(group).execute();
}

export async function findPermissions(tx: Tx, groupId: string): Promise<{ id: string; name: string }[]> {
  const { rows } = await sql<{ id: string; name: string }>`
    select id, name from permissions where group_id = ${groupId}`.execute(tx);
  return rows;
}

/** `old.action` becomes `new.action`. The new names must be free, of the group's own old names too. */
export async function renamePermissions(
  tx: Tx,
  group: { id: string; name: string },
  newName: string,
): Promise<void> {
  await sql`
    update permissions set name = ${newName}::text || substr(name, char_length(${group.name}::text) + 1), updated_at = now()
    where group_id = ${group.id}`.execute(tx);
}

/** Whether a permission would take the present name of another one: the group `a` holds `a.b` and `b`, and becomes `a.a`. */
export async function crossesOwnNames(
  tx: Tx,
  group: { id: string; name: string },
  newName: string,
): Promise<boolean> {
  const { rows } = await sql<{ crosses: boolean }>`
    select exists (
      select from permissions p join permissions other on other.group_id = p.group_id and other.id <> p.id
        and lower(other.name) = lower(${newName}::text || substr(p.name, char_length(${group.name}::text) + 1))
      where p.group_id = ${group.id}) as crosses`.execute(tx);
  return rows[0]?.crosses ?? true;
}

export async function countMembers(tx: Tx, id: string): Promise<{ children: number; permissions: number }> {
  const { rows } = await sql<{ children: number; permissions: number }>`
    select (select count(*)::integer from permission_groups where parent_id = ${id}) as children,
           (select count(*)::integer from permissions where group_id = ${id}) as permissions`.execute(tx);
  return rows[0] as { children: number; permissions: number };
}

export async function deleteGroupRow(tx: Tx, id: string): Promise<void> {
  await sql`delete from permission_groups where id = ${id}`.execute(tx);
}
