// How many users there are, as expressions: the dashboard and the metrics share them. They must not contain a whole statement.
import { type RawBuilder, sql } from 'kysely';

/** The number at the last mark (migration 0022), corrected by the changes that it does not include. */
const kept = (
  columns: RawBuilder<unknown>,
  isCounted: RawBuilder<unknown>,
): RawBuilder<string> => sql<string>`
  (select ${columns} + (select coalesce(sum(c.change), 0) from user_changes c where ${isCounted})
    from user_marks m where m."order" = 'end')`;

/** The number of all users. */
export const userCount = kept(
  sql`m.active_verified + m.active_unverified + m.inactive_verified + m.inactive_unverified`,
  sql`true`,
);

/** The number of active users. */
export const activeUserCount = kept(sql`m.active_verified + m.active_unverified`, sql`c.is_active`);
