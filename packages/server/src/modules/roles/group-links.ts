// Links roles to role groups, and keeps the link table and `role_group_id` consistent.
// A role is never linked both to a group and to an ancestor or descendant of it.
import { sql } from 'kysely';
import { lockUntilCommit } from '../../platform/db/sql.ts';
import { MAX_TREE_DEPTH } from '../../platform/db/trees.ts';
import { AppError } from '../../platform/errors.ts';
import { requireAllFound } from '../../platform/http/ids.ts';
import type { Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';

/** Locks the tree. Call it first in every transaction that moves a group or links a role, so that checks stay true. */
export async function lockGroupTree(tx: Tx): Promise<void> {
  await lockUntilCommit('role_groups').execute(tx);
}

/** Locks the role groups against deletion until the transaction ends. Returns the ids found. */
async function lockGroups(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from role_groups where id = any(${ids}::uuid[]) order by id for key share`.execute(tx);
  return rows.map((row) => row.id);
}

/** Locks a role group against deletion. Throws `role_group_not_found`. */
export async function requireGroup(tx: Tx, groupId: string): Promise<void> {
  requireAllFound('role_group_not_found', 'role_group_id', [groupId], await lockGroups(tx, [groupId]));
}

/**
 * Links roles to a group and keeps existing links. Call it under `lockGroupTree`. Returns the number of new links.
 * Throws `circular_dependency`.
 */
export async function linkRoles(
  { tx }: Entitled,
  groupId: string,
  roleIds: readonly string[],
): Promise<number> {
  if (roleIds.length === 0) return 0;
  const { rows: related } = await sql<{ role: string; other: string }>`
    with recursive up as (
      select parent_id, 1 as depth from role_groups where id = ${groupId}
      union all
      select g.parent_id, up.depth + 1 from role_groups g join up on g.id = up.parent_id where up.depth <= ${MAX_TREE_DEPTH}
    ), down as (
      select id, 1 as depth from role_groups where parent_id = ${groupId}
      union all
      select g.id, down.depth + 1 from role_groups g join down on g.parent_id = down.id where down.depth <= ${MAX_TREE_DEPTH}
    ), relatives as (
      select parent_id as id from up where parent_id is not null union select id from down
    )
    select r.name as role, g.name as other
    from role_group_roles l join relatives on relatives.id = l.role_group_id
    join roles r on r.id = l.role_id join role_groups g on g.id = l.role_group_id
    where l.role_id = any(${roleIds}::uuid[]) limit 1`.execute(tx);
  if (related[0])
    throw new AppError('circular_dependency', {
      detail: `The role "${related[0].role}" belongs to "${related[0].other}", an ancestor or descendant of this group. Remove it from that group first.`,
    });
  const result = await sql`
    insert into role_group_roles (role_group_id, role_id) select ${groupId}, unnest(${roleIds}::uuid[])
    on conflict do nothing`.execute(tx);
  const created = Number(result.numAffectedRows ?? 0);
  if (created > 0) await touchGroup(tx, groupId);
  return created;
}

/** Removes roles from a group, and clears a `role_group_id` that names it. Returns the number of removed links. */
export async function unlinkRoles(
  { tx }: Entitled,
  groupId: string,
  roleIds: readonly string[],
): Promise<number> {
  if (roleIds.length === 0) return 0;
  await sql`
    update roles set role_group_id = null, updated_at = now()
    where id = any(${roleIds}::uuid[]) and role_group_id = ${groupId}`.execute(tx);
  const result = await sql`
    delete from role_group_roles where role_group_id = ${groupId} and role_id = any(${roleIds}::uuid[])`.execute(
    tx,
  );
  const removed = Number(result.numAffectedRows ?? 0);
  if (removed > 0) await touchGroup(tx, groupId);
  return removed;
}

// A change of its links is a change of the group, so its ETag must change.
async function touchGroup(tx: Tx, groupId: string): Promise<void> {
  await sql`update role_groups set updated_at = now() where id = ${groupId}`.execute(tx);
}

/** Marks the groups of a role as changed. Call it before deleting the role. */
export async function touchGroupsOf({ tx }: Entitled, roleIds: readonly string[]): Promise<void> {
  await sql`
    update role_groups set updated_at = now()
    where id in (select role_group_id from role_group_roles where role_id = any(${roleIds}::uuid[]))`.execute(
    tx,
  );
}

/**
 * Sets the `role_group_id` of a role and moves the link that belongs to it. Call it under `lockGroupTree`. Returns whether
 * that changed anything.
 */
export async function moveRole(
  entitled: Entitled,
  roleId: string,
  from: string | null,
  to: string | null,
): Promise<boolean> {
  const { tx } = entitled;
  if (from !== null && from !== to) await unlinkRoles(entitled, from, [roleId]);
  if (from !== to)
    await sql`update roles set role_group_id = ${to}, updated_at = now() where id = ${roleId}`.execute(tx);
  // Also if the group stays the same, which repairs a missing link.
  const linked = to === null ? 0 : await linkRoles(entitled, to, [roleId]);
  return from !== to || linked > 0;
}

/** Locks the roles until the transaction ends. Returns the ids found. */
export async function lockRoles(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from roles where id = any(${ids}::uuid[]) order by id for no key update`.execute(tx);
  return rows.map((row) => row.id);
}

/**
 * Links every role of the group `from` also to the new group `to`, which has the same parent. Waits for roles that are
 * being deleted, and leaves them out. Returns the number of links.
 */
export async function copyLinks({ tx }: Entitled, from: string, to: string): Promise<number> {
  const result = await sql`
    insert into role_group_roles (role_group_id, role_id)
    select ${to}, r.id from role_group_roles l join roles r on r.id = l.role_id
    where l.role_group_id = ${from} order by r.id for key share of r`.execute(tx);
  return Number(result.numAffectedRows ?? 0);
}

/**
 * Creates the missing links of each role's `role_group_id`. `skipped` counts existing links, and links that would put a
 * role into a group and into an ancestor or descendant of it.
 */
export async function syncLinks({ tx }: Entitled): Promise<{ created: number; skipped: number }> {
  const { rows } = await sql<{ created: number; total: number }>`
    with recursive above as (
      select id, parent_id as ancestor, 1 as depth from role_groups where parent_id is not null
      union all
      select above.id, g.parent_id, above.depth + 1 from above join role_groups g on g.id = above.ancestor
      where g.parent_id is not null and above.depth <= ${MAX_TREE_DEPTH}
    ), grouped as materialized (
      select role_group_id, id from roles where role_group_id is not null order by id for key share
    ), made as (
      insert into role_group_roles (role_group_id, role_id)
      select role_group_id, id from grouped
      where not exists (
        select from role_group_roles l join above
          on (above.id = l.role_group_id and above.ancestor = grouped.role_group_id)
          or (above.id = grouped.role_group_id and above.ancestor = l.role_group_id)
        where l.role_id = grouped.id)
      on conflict do nothing returning role_group_id
    ), changed as (
      update role_groups set updated_at = now() where id in (select role_group_id from made)
    )
    select (select count(*)::integer from made) as created,
           (select count(*)::integer from grouped) as total`.execute(tx);
  const { created, total } = rows[0] ?? { created: 0, total: 0 };
  return { created, skipped: total - created };
}
