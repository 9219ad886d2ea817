// How many sessions are live, as an expression: the dashboard and the list of sessions share it.
// It must not contain a whole statement.
import { sql } from 'kysely';

const keptCount = sql`
  (select coalesce(sum(change), 0) from live_session_changes where expires_in > now())
    + (select count(*) from sessions s join users u on u.id = s.user_id
       where s.expires_at < ten_minutes(now()) + interval '10 minutes'
         and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active))`;

/**
 * The number of live sessions: the kept numbers of those that expire later (migration 0024), and a count of those that
 * expire within the present ten minutes. Until the kept numbers are right again, a count of all.
 */
export const liveSessionCount = sql<string>`
  (case when exists (select from live_session_recounts) then (
     select count(*) from sessions s join users u on u.id = s.user_id
     where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active))
   else ${keptCount} end)::bigint`;

/** The number of live sessions where it costs no count of all; null until the kept numbers are right again. */
export const cheapLiveSessionCount = sql<string | null>`
  (case when not exists (select from live_session_recounts) then ${keptCount} end)::bigint`;
