// SQL of accounts whose owners deleted them: the plan, its end, and the removal when it is due.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Db, Tx } from '../../schema/database.ts';

/**
 * Deactivates a user whose row is locked, until the clean-up removes the account or its owner undoes this. Returns when the account is
 * due: in so many days, and not before the former owner of its address can no longer undo a change of it, which takes `undoMinutes`.
 */
export async function planDeletion(
  tx: Tx,
  id: string,
  { days, undoMinutes }: { days: number; undoMinutes: number },
): Promise<Date> {
  // A link may have been mailed later than the change was made, or be waiting to be mailed.
  const planned = await sql<{ due: Date | null }>`
    update users set is_active = false, updated_at = now(), deletion_due_at = greatest(
      now() + make_interval(days => ${days}),
      (select max(confirmed_at) + make_interval(mins => ${undoMinutes}) from email_changes where user_id = ${id}),
      (select max(expires_at) from one_time_tokens
       where user_id = ${id} and purpose = 'revert_email' and used_at is null))
    where id = ${id} returning deletion_due_at as due`.execute(tx);
  const { due } = onlyRow(planned);
  if (!due) throw new Error('the database keeps no plan for an account that is not active');
  return due;
}

/** Returns up to `limit` users whose accounts are due, those that have been due for longest first. */
export async function findDue(db: Db, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`${plannedForValues}
    select id from users where deletion_due_at <= now() order by deletion_due_at, id limit ${limit}`.execute(
    db,
  );
  return rows.map(({ id }) => id);
}

/** Locks the user's row if the account is still due. Does not wait: the holder of the lock may be keeping the account. */
export async function lockDue(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql`
    select from users where id = ${id} and deletion_due_at <= now() and not is_active for update skip locked`.execute(
    tx,
  );
  return rows.length === 1;
}
