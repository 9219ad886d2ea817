// Finds sessions that have expired, or ended unseen, so that their applications are told, and removes what is no longer needed.
// It must not send anything.
import { sql } from 'kysely';
import type { Db } from '../../../schema/database.ts';

/** Maximum rows that one statement changes, so that it is short and holds few locks. */
const BATCH = 1_000;

/** Calls until a batch is not full, for at most `budgetMs`. Returns the sum. */
async function inBatches(budgetMs: number, run: () => Promise<number>): Promise<number> {
  const deadline = performance.now() + budgetMs;
  let total = 0;
  for (let changed = BATCH; changed === BATCH && performance.now() < deadline; total += changed)
    changed = await run();
  return total;
}

/**
 * Writes notices for the applications of sessions that have expired, and of those that ended while the application was added, for at
 * most `budgetMs`; the next call continues. A live session is looked at again when it expires. Returns the rows it looked at.
 */
export const noticeExpiredSessions = (db: Db, budgetMs: number): Promise<number> =>
  inBatches(budgetMs, async () => {
    const { rows } = await sql<{ seen: number }>`
      with due as (
        select s.ctid, s.user_id, s.session_id from application_sessions s
        where s.told_at is null and s.expires_at <= now()
        order by s.expires_at limit ${BATCH} for update skip locked
      ), looked as materialized (
        select d.ctid, live.expires_at, ended.reason from due d left join lateral (
          select x.expires_at from sessions x join users u on u.id = x.user_id
          where x.id = d.session_id and x.user_id = d.user_id
            and is_live_session(x.revoked_at, x.expires_at, x.epoch, u.session_epoch, u.is_active)) live on true
        left join lateral (
          select coalesce(x.revoked_reason, case when x.expires_at > now() then 'session_ended' end) as reason
          from sessions x where x.id = d.session_id) ended on true
      ), kept as (
        update application_sessions s set expires_at = l.expires_at from looked l
        where s.ctid = l.ctid and l.expires_at is not null
      ), told as (
        update application_sessions s set told_at = clock_timestamp() from looked l
        where s.ctid = l.ctid and l.expires_at is null
        returning s.application_id, s.user_id, s.sid, coalesce(l.reason, 'session_expired') as reason
      ), written as (
        insert into logout_notices (application_id, user_id, sid, reason)
        select t.application_id, t.user_id, t.sid, t.reason
        from told t join applications a on a.id = t.application_id
        where a.is_active and a.backchannel_logout_url is not null
      )
      select count(*)::integer as seen from looked`.execute(db);
    return rows[0]?.seen ?? 0;
  });

/** Deletes notices that have been settled and are older than `days`. Returns their number. */
export const deleteOldNotices = (db: Db, days: number, budgetMs: number): Promise<number> =>
  inBatches(budgetMs, async () => {
    const { numAffectedRows = 0n } = await sql`
      delete from logout_notices where id = any(array(
        select o.id from (select id, state, created_at from logout_notices order by id limit ${BATCH}) o
        where o.state <> 'waiting' and o.created_at < now() - make_interval(days => ${days})))`.execute(db);
    return Number(numAffectedRows);
  });

/** Deletes which applications took part in sessions, an hour after they were told. Returns the number of rows. */
export const deleteToldSessions = (db: Db, budgetMs: number): Promise<number> =>
  inBatches(budgetMs, async () => {
    const { numAffectedRows = 0n } = await sql`
      delete from application_sessions where ctid = any(array(
        select ctid from application_sessions where told_at < now() - interval '1 hour'
        order by told_at limit ${BATCH} for update skip locked))`.execute(db);
    return Number(numAffectedRows);
  });
