// Counts the live sessions of all users for the dashboard, the list of sessions and the metrics (migration 0050).
import { sql } from 'kysely';
import type { Db } from '../../schema/database.ts';

/** Counts all live sessions. A periodic job; without it, each request for the number counts them. */
export const countLiveSessions = (db: Db): Promise<unknown> =>
  sql`
    insert into live_session_counts as kept (sessions, counted_at)
    select count(*), now() from sessions s join users u on u.id = s.user_id
    where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
    on conflict (only_row) do update set sessions = excluded.sessions, counted_at = excluded.counted_at`.execute(
    db,
  );
