// Keeps the numbers of migration 0031, which tell how many users have a role, and how many have each role.
import { sql } from 'kysely';
import { lockUntilCommit } from '../../platform/db/sql.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Db, Tx } from '../../schema/database.ts';

// A sum of as many rows takes less than a millisecond.
const MANY = 2_000;

/** Counts again if the numbers are wrong; otherwise adds the changes up, if there are many for each sum. */
export const renewRoleHolders = (db: Db): Promise<void> =>
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

/** The numbers stay wrong if a row without one has come in meanwhile. */
const addUp = (tx: Tx): Promise<unknown> =>
  sql`
    with gone as (delete from role_holder_changes returning role_id, change)
    insert into role_holder_changes (role_id, change)
    select role_id, case when bool_or(change is null) then null else sum(change) end as change from gone
    group by role_id having bool_or(change is null) or sum(change) <> 0`.execute(tx);
