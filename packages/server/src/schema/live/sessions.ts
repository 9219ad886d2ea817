// How many sessions are live, as expressions: the dashboard, the list of sessions and the metrics share them.
// They must not contain a whole statement.
import { type RawBuilder, sql } from 'kysely';

/** Up to this many are counted when somebody asks. */
const most = sql.lit(10_000);

const live = sql`
  sessions s join users u on u.id = s.user_id
  where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)`;

/** What the job counted, at most 60 seconds ago (migration 0050); null if that is older, or few enough to count. */
export const keptLiveSessionCount = sql<string | null>`
  (select c.sessions from live_session_counts c
    where c.sessions > ${most} and c.counted_at between now() - interval '60 seconds' and now())`;

// The order makes the planner begin with the index of sessions that are not revoked, and the look-up of each user keeps it from
// reading all users for a few sessions.
const countUnless = (more: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  (select case when few.sessions <= ${most} then few.sessions else ${more} end from (
    select count(*) as sessions from (
      select from (select * from sessions s where s.revoked_at is null and s.expires_at > now()
        order by s.expires_at offset 0) s
      where (select is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
        from users u where u.id = s.user_id)
      limit ${most} + 1) first) few)`;

/** The number of live sessions: exact up to 10,000; beyond that what the job counted, or else a count of all. */
export const liveSessionCount = sql<string>`
  coalesce(${keptLiveSessionCount}, ${countUnless(sql`(select count(*) from ${live})`)})::bigint`;

/** The same where it costs no count of all; null until the job has counted. */
export const cheapLiveSessionCount = sql<string | null>`
  coalesce(${keptLiveSessionCount}, ${countUnless(sql`null`)})::bigint`;
