// Keeps the numbers of migrations 0024 and 0034, from which the dashboard tells how many sessions are live.
import { sql } from 'kysely';
import { lockUntilCommit } from '../../platform/db/sql.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Db } from '../../schema/database.ts';
import { isLiveCountWrong } from '../../schema/live-sessions.ts';

const LOCK = 'live_session_changes';
// A sum of as many rows takes less than a millisecond.
const FEW = sql.lit(2_000);

/** Counts again if the numbers are wrong; otherwise adds the changes up, if there are many. */
export async function renewLiveSessions(db: Db): Promise<void> {
  const { rows } = await sql<{ is_wrong: boolean }>`select ${isLiveCountWrong} as is_wrong`.execute(db);
  await (rows[0]?.is_wrong ? recountLiveSessions(db) : addUpLiveSessions(db));
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

/** Counts all sessions again. */
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

/** Takes the sessions of users who lost very many at once off the kept numbers: a transaction for each user. */
export async function takeOffEndedSessions(db: Db): Promise<void> {
  const takeOffOne = (): Promise<boolean> =>
    inTransaction(db, async (tx) => {
      await lockUntilCommit(LOCK).execute(tx);
      const { rows } = await sql`
        with taken as (
          delete from live_session_recounts
          where ctid = (select ctid from live_session_recounts where user_id is not null limit 1)
          returning user_id, epoch),
        changed as (
          insert into live_session_changes (expires_in, change)
          select ended.expires_in, -ended.sessions from taken t cross join lateral (
            select ten_minutes(s.expires_at) as expires_in, count(*) as sessions from sessions s
            where s.user_id = t.user_id and s.epoch = t.epoch and s.revoked_at is null and s.expires_at > now()
            group by 1) ended)
        select from taken`.execute(tx);
      return rows.length > 0;
    });
  while (await takeOffOne());
}

/** Each check counts the sessions of the share of its hour. Clean-ups are an hour apart, so each share is checked once a day. */
export const LIVE_COUNT_SHARES = 24;
const HOUR_MS = 3_600_000;
// Sessions that expire later are not checked yet. The longest lifetime of a refresh token is a year.
const FURTHEST = sql.lit('400 days');

/**
 * Compares the kept numbers of one share of the ten-minute slots with a count of their sessions, and corrects them. A refresh
 * that runs while all sessions of its user end can make two slots wrong, because it does not lock the user's row.
 */
export const checkLiveSessions = (
  db: Db,
  share = Math.floor(Date.now() / HOUR_MS) % LIVE_COUNT_SHARES,
): Promise<void> =>
  inTransaction(db, async (tx) => {
    await lockUntilCommit(LOCK).execute(tx);
    await sql`
      insert into live_session_changes (expires_in, change)
      select slot.expires_in, counted.sessions - kept.sessions
      from (
        select to_timestamp(n * 600) as expires_in from generate_series(
          extract(epoch from ten_minutes(now()))::bigint / 600 + 1,
          extract(epoch from least(now() + interval ${FURTHEST}, greatest(
            (select max(expires_at) from sessions where revoked_at is null),
            (select max(expires_in) from live_session_changes))))::bigint / 600) n
        where n % ${LIVE_COUNT_SHARES}::integer = ${share}::integer
          and not exists (select from live_session_recounts)) slot
      cross join lateral (
        select count(*) as sessions from sessions s join users u on u.id = s.user_id
        where s.expires_at >= slot.expires_in and s.expires_at < slot.expires_in + interval '10 minutes'
          and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)) counted
      cross join lateral (
        select coalesce(sum(change), 0) as sessions from live_session_changes c
        where c.expires_in = slot.expires_in) kept
      where counted.sessions <> kept.sessions`.execute(tx);
  });
