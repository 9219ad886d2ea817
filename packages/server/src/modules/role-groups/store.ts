// SQL of role_groups. Links to roles belong to the roles module.
import type { RoleGroup } from '@castellan/contract/role-groups';
import { sql } from 'kysely';
import { isoTime } from '../../platform/db/sql.ts';
import { MAX_TREE_DEPTH } from '../../platform/db/trees.ts';
import { AppError } from '../../platform/errors.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';

/** Times are ISO 8601 strings. */
export type GroupRow = Pick<
  Row<'role_groups'>,
  'id' | 'name' | 'description' | 'parent_id' | 'created_by_id' | 'version'
> & {
  roles: RoleGroup['roles'];
  created_at: string;
  updated_at: string;
};

/** Returns the groups and all their descendants, sorted by name, each with its direct roles, in one statement. */
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

/** Returns those of the names that are already taken, ignoring case. */
export async function findTakenNames(tx: Tx, names: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select n.name from unnest(${names}::text[]) as n (name)
    where exists (select from role_groups g where lower(g.name) = lower(n.name))`.execute(tx);
  return rows.map((row) => row.name);
}

/** Returns the names of the roles of a group, sorted. */
export async function findRoleNames(tx: Tx, id: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select r.name from role_group_roles l join roles r on r.id = l.role_id
    where l.role_group_id = ${id} order by lower(r.name), r.id`.execute(tx);
  return rows.map((row) => row.name);
}

/** Returns the groups that have roles, or children that are not among the ids, with the numbers of both. */
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

export async function countMembers(tx: Tx, id: string): Promise<{ children: number; members: number }> {
  const [group] = await findOccupied(tx, [id]);
  return { children: group?.children ?? 0, members: group?.roles ?? 0 };
}

/** Throws `circular_dependency` if moving `id` below `parentId` would link a role to a group and to its ancestor. */
export async function requireNoSharedRole(tx: Tx, id: string, parentId: string): Promise<void> {
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
  const [shared] = rows;
  if (shared)
    throw new AppError('circular_dependency', {
      detail: `The role "${shared.role}" belongs to "${shared.group}" and to a group that would become its descendant. Remove it from one of them first.`,
    });
}

/** Returns the depth of each group by id; a root group has depth 1. */
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
