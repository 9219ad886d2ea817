// SQL of what explains permissions and roles to people: descriptions, groups, numbers of holders.
// It must not read who holds what: the graph that decides says so.
import { sql } from 'kysely';
import { MAX_TREE_DEPTH } from '../../platform/db/trees.ts';
import type { Db } from '../../schema/database.ts';
import { holdersOfRole } from '../../schema/role-holders.ts';

export type PermissionDetails = {
  id: string;
  name: string;
  description: string;
  group_id: string;
  group_name: string;
};

/** Returns the permissions with these ids that exist. */
export async function findPermissionDetails(db: Db, ids: readonly string[]): Promise<PermissionDetails[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<PermissionDetails>`
    select p.id, p.name, p.description, g.id as group_id, g.name as group_name
    from permissions p join permission_groups g on g.id = p.group_id
    where p.id = any(${ids}::uuid[])`.execute(db);
  return rows;
}

/** A role group of a role, as the names on its path from the root. */
export type RoleGroupPath = { role_id: string; path: string[] };

/** Returns the paths of all role groups of these roles, sorted. */
export async function findRoleGroupPaths(db: Db, roleIds: readonly string[]): Promise<RoleGroupPath[]> {
  if (roleIds.length === 0) return [];
  const { rows } = await sql<RoleGroupPath>`
    with recursive up as (
      select id as group_id, parent_id, array[name] as path from role_groups
      where id in (select role_group_id from role_group_roles where role_id = any(${roleIds}::uuid[]))
      union all
      select up.group_id, g.parent_id, g.name || up.path from up join role_groups g on g.id = up.parent_id
      where cardinality(up.path) < ${MAX_TREE_DEPTH}
    )
    select l.role_id, up.path from role_group_roles l join up on up.group_id = l.role_group_id
    where l.role_id = any(${roleIds}::uuid[]) and up.parent_id is null
    order by up.path`.execute(db);
  return rows;
}

/** Returns how many users and service accounts have each of these roles, active or not. */
export async function countHoldersOf(db: Db, roleIds: readonly string[]): Promise<Map<string, number>> {
  if (roleIds.length === 0) return new Map();
  const { rows } = await sql<{ id: string; holders: string }>`
    select wanted.id,
      ${holdersOfRole(sql`wanted.id`)}
      + (select count(*) from held_account_roles where role_id = wanted.id) as holders
    from unnest(${roleIds}::uuid[]) as wanted (id)`.execute(db);
  return new Map(rows.map(({ id, holders }) => [id, Number(holders)]));
}
