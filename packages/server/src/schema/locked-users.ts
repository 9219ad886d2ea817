// The locked users as a set, for lists and numbers. Whether one user is locked, login_attempts says (user-status.ts).
// It must not contain a whole statement.
import { sql } from 'kysely';

/**
 * All locked users as a subquery `l`: (id, created_at, email, last_name in lower case, verified). Exact in every snapshot:
 * emails that the logs name are looked up, all others are as `locked_users` has them (migration 0037). The array makes the
 * planner expect several emails: it would scan logs that it thinks empty once for each locked user.
 */
export const lockedUsers = sql`(
  select k.id, k.created_at, k.email, k.last_name, k.verified from locked_users k
  where k.locked_until > now() and not exists (
    select from unnest(array(select email from lock_changes union all select email from user_changes)) c (email)
    where c.email = k.email)
  union all
  select u.id, u.created_at, u.email, lower(u.last_name), u.verified
  from (select email from lock_changes union select email from user_changes) c
  join login_attempts a on a.email = c.email and a.locked_until > now()
  join users u on u.email = a.email and u.is_active) l`;
