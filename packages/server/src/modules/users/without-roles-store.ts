// SQL of the list of users without roles, which triggers of migration 0035 keep, and of what makes its pages quick.
// All but `listMore` must run in a snapshot (repeatable read): the list, its marks and the changes belong to the same one.
import { sql } from 'kysely';
import { lockUntilCommit, onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { changeKeys, markKeys, type UserSortKey, withoutRolesKeys } from './user-orders.ts';

/** Whether every user without roles is listed; false until the job has been through all users. */
export async function areWithoutRolesListed(db: Db): Promise<boolean> {
  const result = await sql<{ listed: boolean }>`
    select not exists (select from without_roles_listing) as listed`.execute(db);
  return onlyRow(result).listed;
}

/** Returns how many users without roles there are. */
export async function countWithoutRoles(db: Db): Promise<number> {
  const result = await sql<{ total: string }>`
    select m.before + (select coalesce(sum(change), 0) from without_roles_changes) as total
    from without_roles_marks m where m."order" = 'end'`.execute(db);
  return Number(onlyRow(result).total);
}

/** Returns the ids of up to `size` users without roles from this position of the ascending order on. `id` has no marks. */
export async function findWithoutRoles(
  db: Db,
  order: UserSortKey,
  { position, size }: { position: number; size: number },
): Promise<string[]> {
  const mark = markKeys[order];
  const key = withoutRolesKeys[order];
  // No correction is larger than the number of changes.
  const found = await sql<{ id: string; before: string }>`
    select m.id, m.before + (
      select coalesce(sum(c.change), 0) from without_roles_changes c where (${changeKeys[order]}, c.id) < (${mark}, m.id))
      as before
    from without_roles_marks m
    where m."order" = ${order} and m.before <= ${position}::bigint - (select count(*) from without_roles_changes)
    order by m.before desc, ${mark} desc, m.id desc limit 1`.execute(db);
  const [start] = found.rows;
  const isAfter = start
    ? sql`(${key}, w.id) >= (
        (select ${mark} from without_roles_marks m where m."order" = ${order} and m.id = ${start.id}), ${start.id}::uuid)`
    : sql`true`;
  const skip = position - Number(start?.before ?? 0);
  const { rows } = await sql<{ id: string }>`${plannedForValues}
    select w.id from users_without_roles w where ${isAfter}
    order by ${key}, w.id limit ${size} offset ${skip}::bigint`.execute(db);
  return rows.map(({ id }) => id);
}

// About a tenth of a second. A transaction locks only the users without roles among them.
const BATCH = 20_000;

/**
 * Goes through the next users and lists those without roles. Returns whether some are left. Those who get their first role or
 * lose their last one meanwhile are listed by the triggers, which wait for the same rows.
 */
export const listMore = (db: Db): Promise<boolean> =>
  inTransaction(db, async (tx) => {
    await lockUntilCommit('without_roles_listing').execute(tx);
    const { rows } = await sql<{ last: string | null; users: number }>`
      select n.last, n.users from without_roles_listing l cross join lateral (
        select (array_agg(id order by id desc))[1] as last, count(*)::integer as users from (
          select id from users where l.listed_to is null or id > l.listed_to order by id limit ${BATCH}) u) n
      for update of l`.execute(tx);
    const [next] = rows;
    if (!next) return false;
    if (next.last !== null) await listUpTo(tx, next.last);
    if (next.users === BATCH) return true;
    await sql`delete from without_roles_listing`.execute(tx);
    return false;
  });

// The order and the limit make the planner read the index for each user, and not all assignments.
async function listUpTo(tx: Tx, last: string): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select u.id from users u
    where u.id <= ${last} and u.id > coalesce(
        (select listed_to from without_roles_listing), '00000000-0000-0000-0000-000000000000')
      and (select true from held_user_roles r where r.user_id = u.id order by r.role_id limit 1) is null
    order by u.id for no key update of u`.execute(tx);
  await sql`select list_without_roles(${rows.map(({ id }) => id)}::uuid[])`.execute(tx);
  await sql`update without_roles_listing set listed_to = ${last}`.execute(tx);
}
