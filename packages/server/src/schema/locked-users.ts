// The locked users as a set, for lists and numbers. Whether one user is locked, login_attempts says (user-status.ts).
// It must not contain a whole statement.
import { sql } from 'kysely';

/**
 * All locked users as a subquery `l`: (id, created_at, email, last_name in lower case, verified). An index finds the locks in
 * force, and `offset 0` makes each look-up of a user use the index on the email, whatever the statistics say.
 */
export const lockedUsers = sql`(
  select u.id, u.created_at, u.email, lower(u.last_name) as last_name, u.verified
  from login_attempts a cross join lateral (select * from users u where u.email = a.email offset 0) u
  where a.locked_until > now() and u.is_active) l`;
