// The status of a user, which the dashboard shows and by which the list of users is filtered.
// It must not contain a whole statement.
import type { UserStatus } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';
import { lockedUsers } from './locked-users.ts';

// A lock belongs to an email. Few emails are locked, and an index finds them.
const isLocked = sql`exists (select from login_attempts a where a.email = u.email and a.locked_until > now())`;

/**
 * Whether the email of a row of `users u` is locked, looked up for each user. Null if it has no failed sign-ins. The time is
 * compared outside, because with old statistics the planner would read all locks for each user.
 */
export const isLockedOfEach = sql`(select a.locked_until from login_attempts a where a.email = u.email) > now()`;

/** The status of a row of `users u`: the first that applies. */
export const userStatus = sql`
  case when not u.is_active then 'inactive' when ${isLockedOfEach} then 'locked'
       when not u.verified then 'unverified' else 'active' end`;

/**
 * Whether a row of `users u` has the status. The conditions of `userStatus` are separate here, so that the planner can begin
 * with the locked users, or join the locked emails once for all users.
 */
export const hasStatus: Readonly<Record<UserStatus, RawBuilder<unknown>>> = {
  inactive: sql`not u.is_active`,
  locked: sql`u.id in (select l.id from ${lockedUsers})`,
  unverified: sql`u.is_active and not ${isLocked} and not u.verified`,
  active: sql`u.is_active and not ${isLocked} and u.verified`,
};
