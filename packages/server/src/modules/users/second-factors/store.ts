// SQL of what a reset of factors ends besides the factors, and of the devices of a user.
import { sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import type { Db, Tx } from '../../../schema/database.ts';

/** Ends the mailed links of the user, also those of mails that wait. Call it under the lock of the user's row. */
export async function endLinksOf(tx: Tx, userId: string): Promise<void> {
  await sql`update users set link_epoch = link_epoch + 1 where id = ${userId}`.execute(tx);
  await sql`delete from one_time_tokens where user_id = ${userId} and used_at is null`.execute(tx);
}

/** Returns how many devices of the user are trusted now. */
export async function countTrustedDevices(db: Db, userId: string): Promise<number> {
  const answer = await sql<{ count: number }>`
    select count(*)::integer as count from devices d join users u on u.id = d.user_id
    where d.user_id = ${userId} and d.trusted_until > now() and d.trusted_epoch = u.session_epoch`.execute(
    db,
  );
  return onlyRow(answer).count;
}

/** Forgets every device of the user, trusted or known. Returns their number. */
export async function forgetDevices(tx: Tx, userId: string): Promise<number> {
  const { numAffectedRows } = await sql`delete from devices where user_id = ${userId}`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

/** Returns the database's time. */
export async function readNow(tx: Tx): Promise<Date> {
  return onlyRow(await sql<{ now: Date }>`select now() as now`.execute(tx)).now;
}
