// Keeps the numbers of migration 0031, which tell how many users have a role, and how many have each role, and the marks of
// migration 0047, which tell which users have none.
import { sql } from 'kysely';
import { lockUntilCommit, onlyRow } from '../../platform/db/sql.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { areHoldersCounted } from '../../schema/role-holders.ts';

// A sum of as many rows takes less than a millisecond.
const MANY = 2_000;

/** Marks and counts again if the numbers are wrong; otherwise adds the changes up, if there are many for each sum. */
export async function renewRoleHolders(db: Db): Promise<void> {
  const counted = await sql<{ counted: boolean }>`select ${areHoldersCounted} as counted`.execute(db);
  if (!onlyRow(counted).counted) await markWithoutRoles(db);
  await renewNumbers(db);
}

// About a second, if all of them must be marked.
const BATCH = sql.lit(5_000);

/**
 * Goes through all users and marks those without roles, a transaction for each batch. Those who get their first role or lose
 * their last one in the meantime are marked by the trigger, which waits for the same rows.
 */
async function markWithoutRoles(db: Db): Promise<void> {
  let last: string | null = '00000000-0000-0000-0000-000000000000';
  while (last !== null) last = await markAfter(db, last);
  // Nothing tells the planner how few of them there are: it would read all users in some orders.
  await sql`analyze users (without_roles)`.execute(db);
}

// The order and the limit make the planner read the index for each user, and not all assignments.
const hasNoRole = sql`(select true from held_user_roles r where r.user_id = u.id order by r.role_id limit 1) is null`;

/** Returns the id of the last user of the batch; null if it has none. */
const markAfter = (db: Db, id: string): Promise<string | null> =>
  inTransaction(db, async (tx) => {
    const batch = await sql<{ last: string | null }>`
      select (array_agg(b.id order by b.id desc))[1] as last
      from (select id from users where id > ${id} order by id limit ${BATCH}) b`.execute(tx);
    const { last } = onlyRow(batch);
    if (last === null) return null;
    const { rows } = await sql<{ id: string }>`
      select u.id from users u where u.id > ${id} and u.id <= ${last} and u.without_roles <> (${hasNoRole})
      order by u.id for no key update of u`.execute(tx);
    // A second statement sees the assignments of the transactions that the first one waited for.
    if (rows.length > 0)
      await sql`
        update users u set without_roles = (${hasNoRole})
        where u.id = any(${rows.map((row) => row.id)}::uuid[])`.execute(tx);
    return last;
  });

const renewNumbers = (db: Db): Promise<void> =>
  inTransaction(db, async (tx) => {
    await lockUntilCommit('role_holder_changes').execute(tx);
    const { rows } = await sql<{ changes: number; sums: number; is_wrong: boolean | null }>`
      select count(*)::integer as changes, count(distinct role_id)::integer + 1 as sums, bool_or(change is null) as is_wrong
      from role_holder_changes`.execute(tx);
    const [state] = rows;
    if (state?.is_wrong) await recount(tx);
    else if (state && state.changes - state.sums > MANY) await addUp(tx);
  });

/** One statement, so that the numbers and the changes that they include belong to one snapshot. It keeps nobody out. */
const recount = (tx: Tx): Promise<unknown> =>
  sql`
    with gone as (delete from role_holder_changes)
    insert into role_holder_changes (role_id, change)
    select role_id, count(*) from held_user_roles group by role_id
    union all
    select null, count(*) from (select from held_user_roles group by user_id) holders`.execute(tx);

/** The numbers stay wrong if a row without a number has been inserted since. */
const addUp = (tx: Tx): Promise<unknown> =>
  sql`
    with gone as (delete from role_holder_changes returning role_id, change)
    insert into role_holder_changes (role_id, change)
    select role_id, case when bool_or(change is null) then null else sum(change) end as change from gone
    group by role_id having bool_or(change is null) or sum(change) <> 0`.execute(tx);
