// The figures of /metrics that only the database knows, in one cheap statement. It must not count a table that grows with
// the number of users.
import { sql } from 'kysely';
import { onlyRow } from '../platform/db/sql.ts';
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
  /** Audit entries that the sink has not accepted yet, at most 10,000; null if there is no sink. */
  queuedEntries: number | null;
  /** Age of the oldest of them; 0 if none waits. */
  oldestEntrySeconds: number;
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
      (case when exists (select from audit_sink) then (
        select count(*) from (select from audit_outbox limit ${sql.lit(MOST_COUNTED)}) queued) end)::float8 as "queuedEntries",
      coalesce((
        select greatest(0, extract(epoch from now() - e."timestamp"))
        from audit_outbox o join audit_logs e on e.id = o.entry_id order by o.position limit 1), 0)::float8 as "oldestEntrySeconds"
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
    queuedEntries: row.queuedEntries,
    oldestEntrySeconds: row.oldestEntrySeconds ?? 0,
  };
}
