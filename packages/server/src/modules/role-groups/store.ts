// SQL of role_groups. Links to roles belong to the roles module.
import type { RoleGroup } from '@castellan/contract/role-groups';
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';
import { isoTime } from '../../platform/db/sql.ts';
import { MAX_TREE_DEPTH } from '../../platform/db/trees.ts';

export type GroupRow = {
  id: string;
  name: string;
  description: string;
  parent_id: string | null;
  roles: RoleGroup['roles'];
  created_at: string;
  updated_at: string;
  created_by_id: string | null;
  version: number;
};

/** These groups and everything below them, by name, each with its direct roles. One statement whatever their number. */
export async function findSubtrees(db: Db, ids: readonly string[]): Promise<GroupRow[]> {
  const { rows } = await sql<GroupRow>`
    with recursive tree as (
      select id, 1 as depth from role_groups where id = any(${ids}::uuid[])
      union
      select g.id, tree.depth + 1 from role_groups g join tree on g.parent_id = tree.id where tree.depth < ${MAX_TREE_DEPTH}
    )
    select g.id, g.name, g.description, g.parent_id, g.version, g.created_by_id,
      ${isoTime('g.created_at')} as created_at, ${isoTime('g.updated_at')} as updated_at,
      coalesce((
        select json_agg(json_build_object('id', r.id, 'name', r.name, 'description', r.description,
          'role_group_id', r.role_group_id, 'is_system', r.is_system, 'created_at', ${isoTime('r.created_at')},
          'updated_at', ${isoTime('r.updated_at')}, 'created_by_id', r.created_by_id) order by lower(r.name), r.id)
        from role_group_roles l join roles r on r.id = l.role_id where l.role_group_id = g.id), '[]'::json) as roles
    from role_groups g where g.id in (select id from tree) order by lower(g.name), g.id`.execute(db);
  return rows;
}

export type NewGroup = {
  id: string;
  name: string;
  description: string;
  parent_id: string | null;
  created_by_id: string;
};

/** A parent may be among the groups: foreign keys are checked when the statement ends. */
export async function insertGroups(tx: Tx, groups: readonly NewGroup[]): Promise<void> {
  await sql`
    insert into role_groups (id, name, description, parent_id, created_by_id)
    select id, name, description, parent_id, created_by_id
    from jsonb_to_recordset(${JSON.stringify(groups)}::jsonb)
      as g (id uuid, name text, description text, parent_id uuid, created_by_id uuid)`.execute(tx);
}

/** Those of the names that are taken already; compared without regard to case. */
export async function findTakenNames(tx: Tx, names: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select n.name from unnest(${names}::text[]) as n (name)
    where exists (select from role_groups g where lower(g.name) = lower(n.name))`.execute(tx);
  return rows.map((row) => row.name);
}

/** Names of the roles that are linked to a group, sorted. */
export async function findRoleNames(tx: Tx, id: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select r.name from role_group_roles l join roles r on r.id = l.role_id
    where l.role_group_id = ${id} order by lower(r.name), r.id`.execute(tx);
  return rows.map((row) => row.name);
}

/** Children that are not themselves among the ids, and linked roles, by group; only groups that have any. */
export async function findOccupied(
  tx: Tx,
  ids: readonly string[],
): Promise<{ id: string; name: string; children: number; roles: number }[]> {
  const { rows } = await sql<{ id: string; name: string; children: number; roles: number }>`
    select g.id, g.name,
      (select count(*)::integer from role_groups c where c.parent_id = g.id and c.id <> all(${ids}::uuid[])) as children,
      (select count(*)::integer from role_group_roles l where l.role_group_id = g.id) as roles
    from role_groups g where g.id = any(${ids}::uuid[])`.execute(tx);
  return rows.filter((row) => row.children > 0 || row.roles > 0);
}

/** Together, so that parents and children among them may go in any order. */
export async function deleteGroupRows(tx: Tx, ids: readonly string[]): Promise<void> {
  await sql`update role_groups set parent_id = null where parent_id = any(${ids}::uuid[]) and id = any(${ids}::uuid[])`.execute(
    tx,
  );
  await sql`delete from role_groups where id = any(${ids}::uuid[])`.execute(tx);
}

/** Whether a group and one above or below it would share a role after `id` hangs under `parentId`: that role's name. */
export async function findSharedRole(
  tx: Tx,
  id: string,
  parentId: string,
): Promise<{ role: string; group: string } | undefined> {
  const { rows } = await sql<{ role: string; group: string }>`
    with recursive up as (
      select id, parent_id, 1 as depth from role_groups where id = ${parentId}
      union all
      select g.id, g.parent_id, up.depth + 1 from role_groups g join up on g.id = up.parent_id where up.depth <= ${MAX_TREE_DEPTH}
    ), down as (
      select id, 1 as depth from role_groups where id = ${id}
      union all
      select g.id, down.depth + 1 from role_groups g join down on g.parent_id = down.id where down.depth <= ${MAX_TREE_DEPTH}
    )
    select r.name as role, g.name as "group"
    from role_group_roles above join role_group_roles below on below.role_id = above.role_id
    join roles r on r.id = above.role_id join role_groups g on g.id = above.role_group_id
    where above.role_group_id in (select id from up) and below.role_group_id in (select id from down) limit 1`.execute(
    tx,
  );
  return rows[0];
}

/** How many levels each of these groups and those above it make. */
export async function findDepths(tx: Tx, ids: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await sql<{ start: string; depth: number }>`
    with recursive up as (
      select id as start, parent_id, 1 as depth from role_groups where id = any(${ids}::uuid[])
      union all
      select up.start, g.parent_id, up.depth + 1 from role_groups g join up on g.id = up.parent_id where up.depth <= ${MAX_TREE_DEPTH}
    )
    select start, max(depth) as depth from up group by start`.execute(tx);
  return new Map(rows.map((row) => [row.start, row.depth]));
}
