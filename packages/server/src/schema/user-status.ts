// The status of a user, which the dashboard shows and by which the list of users is filtered.
// It must not contain a whole statement.
import type { UserStatus } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';
import { lockedUsers } from './locked-users.ts';

// A lock belongs to an email. Few emails are locked, and an index finds them.
const isLocked = sql`exists (select from login_attempts a where a.email = u.email and a.locked_until > now())`;

/** The status of a row of `users u`: the first that applies. */
export const userStatus = sql`
  case when not u.is_active then 'inactive' when ${isLocked} then 'locked'
       when not u.verified then 'unverified' else 'active' end`;

/**
 * Whether a row of `users u` has the status: `userStatus` taken apart into conditions, so that the planner can begin
 * with the locked users, or join the locked emails once for all users.
 */
export const hasStatus: Readonly<Record<UserStatus, RawBuilder<unknown>>> = {
  inactive: sql`not u.is_active`,
  locked: sql`u.id in (select l.id from ${lockedUsers})`,
  unverified: sql`u.is_active and not ${isLocked} and not u.verified`,
  active: sql`u.is_active and not ${isLocked} and u.verified`,
};
