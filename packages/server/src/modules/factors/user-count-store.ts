// Counts the users who have a second factor, for the metrics (migration 0054).
import { sql } from 'kysely';
import type { Db } from '../../schema/database.ts';

/** Counts all of them. A periodic job. */
export const countFactorUsers = (db: Db): Promise<unknown> =>
  sql`
    insert into factor_user_counts as kept (users, counted_at)
    select count(*), now() from users where has_factor
    on conflict (only_row) do update set users = excluded.users, counted_at = excluded.counted_at`.execute(
    db,
  );
