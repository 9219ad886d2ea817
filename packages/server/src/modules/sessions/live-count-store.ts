// Keeps the numbers of migration 0024, from which the dashboard tells how many sessions are live.
import { sql } from 'kysely';
import { lockUntilCommit } from '../../platform/db/sql.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Db } from '../../schema/database.ts';

const LOCK = 'live_session_changes';
// A sum of as many rows takes less than a millisecond.
const FEW = sql.lit(2_000);

/** Counts again if the numbers are wrong; otherwise adds the changes up, if there are many. */
export async function renewLiveSessions(db: Db): Promise<void> {
  const { rows } = await sql<{ asked: boolean }>`
    select exists (select from live_session_recounts) as asked`.execute(db);
  await (rows[0]?.asked ? recountLiveSessions(db) : addUpLiveSessions(db));
}

const addUpLiveSessions = (db: Db): Promise<void> =>
  inTransaction(db, async (tx) => {
    await lockUntilCommit(LOCK).execute(tx);
    await sql`
      with gone as (
        delete from live_session_changes where (select count(*) from live_session_changes) > ${FEW} returning *)
      insert into live_session_changes (expires_in, change)
      select expires_in, sum(change) from gone where expires_in > now() group by expires_in having sum(change) <> 0`.execute(
      tx,
    );
  });

/**
 * Counts all sessions again. A refresh that runs while all sessions of its user end is counted twice or not at all until
 * then, because it does not lock the user's row.
 */
export const recountLiveSessions = (db: Db): Promise<void> =>
  inTransaction(db, async (tx) => {
    await lockUntilCommit(LOCK).execute(tx);
    await sql`
      with gone as (delete from live_session_changes), done as (delete from live_session_recounts)
      insert into live_session_changes (expires_in, change)
      select ten_minutes(s.expires_at), count(*) from sessions s join users u on u.id = s.user_id
      where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
      group by 1`.execute(tx);
  });
