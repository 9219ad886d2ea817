// The figures of /metrics that only the database knows, in one cheap statement. It must not count a table that grows with
// the number of users.
import { sql } from 'kysely';
import { onlyRow } from '../platform/db/sql.ts';
import { isOfTarget } from '../platform/delivery/targets-store.ts';
import type { Db } from '../schema/database.ts';
import { factorUserCount } from '../schema/factor-user-count.ts';
import { cheapLiveSessionCount } from '../schema/live/sessions.ts';
import { activeUserCount, userCount } from '../schema/user-counts.ts';

export type DatabaseFigures = {
  users: number;
  activeUsers: number;
  /** Users with a second factor. Null if there are more than 10,000 and the job has not counted them. */
  factorUsers: number | null;
  /** Null if there are more than 10,000 and the job has not counted them. */
  liveSessions: number | null;
  /** Mails that wait, at most 10,000. */
  waitingMails: number;
  /** Since the oldest of them was caused; 0 if none waits. */
  oldestMailSeconds: number;
  /** Logout notices that wait, at most 10,000. */
  waitingNotices: number;
  /** Age of the oldest of them; 0 if none waits. */
  oldestNoticeSeconds: number;
  /** Events for webhooks that wait, at most 10,000. */
  waitingEvents: number;
  /** Those that were given up, at most 10,000. */
  deadEvents: number;
  /** Age of the oldest that waits for a webhook that is not paused; 0 if none does. */
  oldestEventSeconds: number;
  /** Audit entries that the sink has not accepted yet, at most 10,000; null if there is no sink. */
  queuedEntries: number | null;
  /** Age of the oldest of them; 0 if none waits. */
  oldestEntrySeconds: number;
  /** Entries of the audit log that are in no seal, at most 10,000, and the age of the oldest of them. */
  unsealedEntries: number;
  oldestUnsealedSeconds: number;
  /** Since the last seal; null before the first. */
  headSeconds: number | null;
  /** Logs that continue another one, after a restore or a lost history. */
  logForks: number;
};

/** Counting more would cost more than a millisecond or two. */
const MOST_COUNTED = 10_000;

export async function readFigures(db: Db): Promise<DatabaseFigures> {
  const row = onlyRow(
    await sql<Record<keyof DatabaseFigures, number | null>>`
    select ${userCount}::float8 as users, ${activeUserCount}::float8 as "activeUsers",
      ${factorUserCount}::float8 as "factorUsers",
      ${cheapLiveSessionCount}::float8 as "liveSessions", mails.waiting::float8 as "waitingMails",
      coalesce(greatest(0, extract(epoch from now() - mails.oldest)), 0)::float8 as "oldestMailSeconds",
      notices.waiting::float8 as "waitingNotices",
      coalesce(greatest(0, extract(epoch from now() - notices.oldest)), 0)::float8 as "oldestNoticeSeconds",
      (select count(*) from (
        select from deliveries where state = 'waiting' limit ${sql.lit(MOST_COUNTED)}) d)::float8 as "waitingEvents",
      (select count(*) from (
        select from deliveries where state = 'dead' limit ${sql.lit(MOST_COUNTED)}) d)::float8 as "deadEvents",
      coalesce((
        select greatest(0, extract(epoch from now() - min(d.created_at)))
        from delivery_targets t cross join lateral (
          select created_at from deliveries
          where ${isOfTarget('target_id', sql`t.id`)} and state = 'waiting' order by target_id, id limit 1) d
        where t.paused_at is null), 0)::float8 as "oldestEventSeconds",
      (case when exists (select from audit_sink) then (
        select count(*) from (select from audit_outbox limit ${sql.lit(MOST_COUNTED)}) queued) end)::float8 as "queuedEntries",
      coalesce((
        select greatest(0, extract(epoch from now() - e."timestamp"))
        from audit_outbox o join audit_logs e on e.id = o.entry_id order by o.position limit 1), 0)::float8 as "oldestEntrySeconds",
      (select count(*) from (
        select from audit_logs e where e.position > (select sealed_position from audit_log_head)
        limit ${sql.lit(MOST_COUNTED)}) unsealed)::float8 as "unsealedEntries",
      coalesce((
        select greatest(0, extract(epoch from now() - e."timestamp")) from audit_logs e
        where e.position > (select sealed_position from audit_log_head) order by e.position limit 1), 0)::float8 as "oldestUnsealedSeconds",
      (select extract(epoch from now() - sealed_at) from audit_log_head)::float8 as "headSeconds",
      (select count(*) from audit_seal_logs l join audit_seals s on s.log = l.number and s.number = 0
        where s.kind = 'continues')::float8 as "logForks"
    from (select count(*) as waiting, min(created_at) as oldest from (
        select created_at from outbox where sent_at is null and failed_at is null order by run_at limit ${sql.lit(MOST_COUNTED)}) due) mails,
      (select count(*) as waiting, min(created_at) as oldest from (
        select created_at from logout_notices where state = 'waiting' limit ${sql.lit(MOST_COUNTED)}) due) notices`.execute(
      db,
    ),
  );
  return {
    users: row.users ?? 0,
    activeUsers: row.activeUsers ?? 0,
    factorUsers: row.factorUsers,
    liveSessions: row.liveSessions,
    waitingMails: row.waitingMails ?? 0,
    oldestMailSeconds: row.oldestMailSeconds ?? 0,
    waitingNotices: row.waitingNotices ?? 0,
    oldestNoticeSeconds: row.oldestNoticeSeconds ?? 0,
    waitingEvents: row.waitingEvents ?? 0,
    deadEvents: row.deadEvents ?? 0,
    oldestEventSeconds: row.oldestEventSeconds ?? 0,
    queuedEntries: row.queuedEntries,
    oldestEntrySeconds: row.oldestEntrySeconds ?? 0,
    unsealedEntries: row.unsealedEntries ?? 0,
    oldestUnsealedSeconds: row.oldestUnsealedSeconds ?? 0,
    headSeconds: row.headSeconds,
    logForks: row.logForks ?? 0,
  };
}
