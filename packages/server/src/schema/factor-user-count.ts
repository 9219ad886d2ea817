// How many users have a second factor, as an expression for the metrics. It must not contain a whole statement.
import { sql } from 'kysely';

/** Up to this many are counted when somebody asks. */
const most = sql.lit(10_000);

/** The number: exact up to 10,000, beyond that what the job counted last (migration 0054); null until it has. */
export const factorUserCount = sql<string | null>`
  (select case when few.users <= ${most} then few.users else (select c.users from factor_user_counts c) end from (
    select count(*) as users from (select from users where has_factor limit ${most} + 1) first) few)`;
