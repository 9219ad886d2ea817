// Which role belongs to which role groups: the link table and `role_group_id`, kept in agreement.
// A role is never linked to a group and to an ancestor or descendant of it.
import { sql } from 'kysely';
import type { Tx } from '../../database.ts';
import { lockUntilCommit } from '../../platform/db/sql.ts';
import { MAX_TREE_DEPTH } from '../../platform/db/trees.ts';
import { AppError } from '../../platform/errors.ts';

/** First in every transaction that moves a group or links a role: what one of them checks stays true until it ends. */
export async function lockGroupTree(tx: Tx): Promise<void> {
  await lockUntilCommit('role_groups').execute(tx);
}

/** Those of the ids that name a role group; they stay until the transaction ends. */
export async function lockGroups(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from role_groups where id = any(${ids}::uuid[]) order by id for key share`.execute(tx);
  return rows.map((row) => row.id);
}

/** Under `lockGroupTree`. A link that is there already stays. Throws `circular_dependency`. Answers how many are new. */
export async function linkRoles(tx: Tx, groupId: string, roleIds: readonly string[]): Promise<number> {
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
      detail: `The role "${related[0].role}" belongs to "${related[0].other}", which lies above or below this group. Take it out there first.`,
    });
  const result = await sql`
    insert into role_group_roles (role_group_id, role_id) select ${groupId}, unnest(${roleIds}::uuid[])
    on conflict do nothing`.execute(tx);
  return touched(tx, groupId, Number(result.numAffectedRows ?? 0));
}

/** Takes roles out of a group; a `role_group_id` that names it is cleared. Answers how many links went. */
export async function unlinkRoles(tx: Tx, groupId: string, roleIds: readonly string[]): Promise<number> {
  if (roleIds.length === 0) return 0;
  await sql`
    update roles set role_group_id = null, updated_at = now()
    where id = any(${roleIds}::uuid[]) and role_group_id = ${groupId}`.execute(tx);
  const result = await sql`
    delete from role_group_roles where role_group_id = ${groupId} and role_id = any(${roleIds}::uuid[])`.execute(
    tx,
  );
  return touched(tx, groupId, Number(result.numAffectedRows ?? 0));
}

// A group counts as changed when its links change: its ETag must not promise yesterday's roles.
async function touched(tx: Tx, groupId: string, changes: number): Promise<number> {
  if (changes > 0) await sql`update role_groups set updated_at = now() where id = ${groupId}`.execute(tx);
  return changes;
}

/** Before a role goes: the groups that it leaves change. */
export async function touchGroupsOf(tx: Tx, roleId: string): Promise<void> {
  await sql`
    update role_groups set updated_at = now()
    where id in (select role_group_id from role_group_roles where role_id = ${roleId})`.execute(tx);
}

/** Under `lockGroupTree`: sets a role's own group and moves the link that goes with it. */
export async function moveRole(
  tx: Tx,
  roleId: string,
  from: string | null,
  to: string | null,
): Promise<void> {
  if (from !== null && from !== to) await unlinkRoles(tx, from, [roleId]);
  if (from !== to)
    await sql`update roles set role_group_id = ${to}, updated_at = now() where id = ${roleId}`.execute(tx);
  // Also where it was: a link that got lost comes back.
  if (to !== null) await linkRoles(tx, to, [roleId]);
}

/** Those of the ids that name a role; they stay until the transaction ends. */
export async function lockRoles(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from roles where id = any(${ids}::uuid[]) order by id for no key update`.execute(tx);
  return rows.map((row) => row.id);
}

/**
 * Links every role that is linked to `from` to the new group `to` as well, which lies at the same place in the tree.
 * A role that is being deleted is left out: the lock waits for it.
 */
export async function copyLinks(tx: Tx, from: string, to: string): Promise<number> {
  const result = await sql`
    insert into role_group_roles (role_group_id, role_id)
    select ${to}, r.id from role_group_roles l join roles r on r.id = l.role_id
    where l.role_group_id = ${from} order by r.id for key share of r`.execute(tx);
  return Number(result.numAffectedRows ?? 0);
}

/**
 * Makes the links that `role_group_id` speaks of. Links that are there count as skipped, and so does one that would put
 * a role into a group and into another above or below it.
 */
export async function syncLinks(tx: Tx): Promise<{ created: number; skipped: number }> {
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
  const { created, total } = rows[0] as { created: number; total: number };
  return { created, skipped: total - created };
}
