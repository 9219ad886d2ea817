// How many sessions are live, as an expression: the dashboard and the list of sessions share it.
// It must not contain a whole statement.
import { sql } from 'kysely';

/** Whether the kept numbers are wrong until a job has counted all sessions. */
export const isLiveCountWrong = sql`exists (select from live_session_recounts where user_id is null)`;

// The sessions of a user that ended all at once are subtracted until the job has taken them off. The lateral count makes the
// planner use the index of the user's sessions.
const keptCount = sql`
  (select coalesce(sum(change), 0) from live_session_changes where expires_in > now())
    - (select coalesce(sum(ended.sessions), 0) from live_session_recounts r cross join lateral (
         select count(*) as sessions from sessions s
         where s.user_id = r.user_id and s.epoch = r.epoch and s.revoked_at is null
           and s.expires_at >= ten_minutes(now()) + interval '10 minutes') ended)
    + (select count(*) from sessions s join users u on u.id = s.user_id
       where s.expires_at < ten_minutes(now()) + interval '10 minutes'
         and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active))`;

/**
 * The number of live sessions: the kept numbers of those that expire later (migrations 0024 and 0034), and a count of those
 * that expire within the present ten minutes. Until the kept numbers are right again, a count of all.
 */
export const liveSessionCount = sql<string>`
  (case when ${isLiveCountWrong} then (
     select count(*) from sessions s join users u on u.id = s.user_id
     where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active))
   else ${keptCount} end)::bigint`;

/** The number of live sessions where it costs no count of all; null until the kept numbers are right again. */
export const cheapLiveSessionCount = sql<string | null>`
  (case when not ${isLiveCountWrong} then ${keptCount} end)::bigint`;
