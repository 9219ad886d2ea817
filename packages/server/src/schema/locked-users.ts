// The locked users as a set, for lists and numbers. Whether one user is locked, login_attempts says (user-status.ts).
// It must not contain a whole statement.
import { sql } from 'kysely';

// As an array in a subquery, so that the planner expects ten, whatever the statistics of the logs say.
const changedEmails = sql`
  select c.email from unnest(array(select email from lock_changes union all select email from user_changes)) c (email)`;

/**
 * All locked users as a subquery `l`: (id, created_at, email, last_name in lower case, verified). Exact in every snapshot:
 * emails that the logs name are looked up, all others are as `locked_users` has them (migration 0037). `not in` is never a join,
 * and `offset 0` makes each look-up use the index on the email: with old statistics the planner would read a log once for each
 * locked user, or all locks for each email.
 */
export const lockedUsers = sql`(
  select k.id, k.created_at, k.email, k.last_name, k.verified from locked_users k
  where k.locked_until > now() and k.email not in (${changedEmails})
  union all
  select u.id, u.created_at, u.email, lower(u.last_name), u.verified
  from (select distinct c.email from (${changedEmails}) c) c
  cross join lateral (select * from login_attempts a where a.email = c.email offset 0) a
  cross join lateral (select * from users u where u.email = a.email offset 0) u
  where a.locked_until > now() and u.is_active) l`;
