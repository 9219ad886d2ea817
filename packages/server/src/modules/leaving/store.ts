// SQL of accounts whose owners deleted them: the plan, its end, and the removal when it is due.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Db, Tx } from '../../schema/database.ts';

/**
 * Deactivates a user whose row is locked, until the clean-up removes the account or its owner undoes this. Ends the mailed links.
 * Returns when the account is due.
 */
export async function planDeletion(tx: Tx, id: string, days: number): Promise<Date> {
  const planned = await sql<{ due: Date | null }>`
    update users set is_active = false, deletion_due_at = now() + make_interval(days => ${days}), updated_at = now()
    where id = ${id} returning deletion_due_at as due`.execute(tx);
  const { due } = onlyRow(planned);
  if (!due) throw new Error('the database keeps no plan for an account that is not active');
  return due;
}

/** Whether the former address can still undo a change of this account's address. */
export async function canUndoAddress(tx: Tx, id: string, days: number): Promise<boolean> {
  const { rows } = await sql`
    select from email_changes where user_id = ${id} and confirmed_at > now() - make_interval(days => ${days})`.execute(
    tx,
  );
  return rows.length > 0;
}

/** Reactivates a user whose row is locked. */
export async function endPlan(tx: Tx, id: string): Promise<void> {
  await sql`
    update users set is_active = true, deletion_due_at = null, updated_at = now() where id = ${id}`.execute(
    tx,
  );
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
