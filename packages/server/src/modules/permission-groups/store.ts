// SQL of permission_groups.
import type { Permission } from '@castellan/contract/permission-records';
import { sql } from 'kysely';
import { isoTime, lockUntilCommit } from '../../platform/db/sql.ts';
import { MAX_TREE_DEPTH } from '../../platform/db/trees.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';
import { permissionJson } from '../permissions/presentation.ts';

type Group = Row<'permission_groups'>;
/** Times are ISO 8601 strings. */
export type GroupRow = Pick<
  Group,
  'id' | 'name' | 'description' | 'parent_id' | 'created_by_id' | 'version'
> & {
  permission_group_id: Group['parent_id'];
  permissions: Permission[];
  created_at: string;
  updated_at: string;
};

/**
 * Locks the tree. Call it first in every transaction that creates, moves or deletes a group, so that checks stay true.
 */
export async function lockTree(tx: Tx): Promise<void> {
  await lockUntilCommit('permission_groups').execute(tx);
}

/** Returns the groups and all their descendants, sorted by name, in one statement. */
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

export async function findPermissions(tx: Tx, groupId: string): Promise<{ id: string; name: string }[]> {
  const { rows } = await sql<{ id: string; name: string }>`
    select id, name from permissions where group_id = ${groupId}`.execute(tx);
  return rows;
}

/** Renames `old.action` to `new.action`. The new names must be free, also among the old names of this group. */
export async function renamePermissions(
  { tx }: Entitled,
  group: { id: string; name: string },
  newName: string,
): Promise<void> {
  await sql`
    update permissions set name = ${newName}::text || substr(name, char_length(${group.name}::text) + 1), updated_at = now()
    where group_id = ${group.id}`.execute(tx);
}

/**
 * Returns whether a permission would get the current name of another one in the group. Example: the group `a` with
 * `a.a.b` and `a.b` becomes `a.a`.
 */
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

export async function countMembers(tx: Tx, id: string): Promise<{ children: number; members: number }> {
  const { rows } = await sql<{ children: number; members: number }>`
    select (select count(*)::integer from permission_groups where parent_id = ${id}) as children,
           (select count(*)::integer from permissions where group_id = ${id}) as members`.execute(tx);
  return rows[0] ?? { children: 0, members: 0 };
}
