// SQL of what a reset of factors ends besides the factors.
import { sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import type { Tx } from '../../../schema/database.ts';

/** Ends the mailed links of the user, also those of mails that wait. Call it under the lock of the user's row. */
export async function endLinksOf(tx: Tx, userId: string): Promise<void> {
  await sql`update users set link_epoch = link_epoch + 1 where id = ${userId}`.execute(tx);
  await sql`delete from one_time_tokens where user_id = ${userId} and used_at is null`.execute(tx);
}

/** Returns the database's time. */
export async function readNow(tx: Tx): Promise<Date> {
  return onlyRow(await sql<{ now: Date }>`select now() as now`.execute(tx)).now;
}
