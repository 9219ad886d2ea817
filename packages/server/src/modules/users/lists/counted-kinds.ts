// The kinds of users that are counted in advance (migration 0022), as conditions and sums. It must not contain a whole statement.
import type { UserStatus } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';
import { lockedUsers } from '../../../schema/locked-users.ts';
import { isLockedOfEach } from '../../../schema/user-status.ts';
import type { UserFilter } from './filters.ts';

/** A kind of users that is counted in advance. A missing condition is not applied. Locked users are counted separately. */
export type Kind = { isActive?: boolean; verified?: boolean; isUnlocked?: boolean };

const kindOfStatus: Readonly<Record<UserStatus, Kind | undefined>> = {
  inactive: { isActive: false },
  locked: undefined,
  unverified: { isActive: true, verified: false, isUnlocked: true },
  active: { isActive: true, verified: true, isUnlocked: true },
};

/** Returns the kind that has exactly the users of the filter; undefined if they are not counted in advance. */
export function kindOf({ status, isActive, verified, ...others }: UserFilter): Kind | undefined {
  if (Object.keys(others).length > 0) return undefined;
  if (status !== undefined)
    return isActive === undefined && verified === undefined ? kindOfStatus[status] : undefined;
  return {
    ...(isActive === undefined ? {} : { isActive }),
    ...(verified === undefined ? {} : { verified }),
  };
}

/**
 * The locked users whom the kind leaves out, as a subquery `l`. For a kind that leaves none out it has another text, which is
 * empty whatever the values: otherwise PostgreSQL would plan such a statement at every execution.
 */
export const lockedOf = ({ isUnlocked, verified }: Kind): RawBuilder<unknown> =>
  isUnlocked
    ? sql`(select l.* from ${lockedUsers} where ${verified ?? null}::boolean is null or l.verified = ${verified ?? null}) l`
    : sql`(select null::uuid as id, null::timestamptz as created_at, null as email, null as last_name where false) l`;

/**
 * The condition on `users u` that they are not locked. It is evaluated for each user, so that the planner reads the users in
 * the order of an index: it expects `is not true` to hold for many.
 */
export const isNotLocked = sql`(${isLockedOfEach}) is not true`;

const includes = (condition: boolean | undefined, value: boolean): boolean =>
  condition === undefined || condition === value;

/** The number of users of the kind, locked or not, from the columns of `user_marks m`. */
export function countOf({ isActive, verified }: Kind): RawBuilder<unknown> {
  const weight = (active: boolean, isVerified: boolean): number =>
    includes(isActive, active) && includes(verified, isVerified) ? 1 : 0;
  return sql`(m.active_verified * ${weight(true, true)}::integer + m.active_unverified * ${weight(true, false)}::integer
    + m.inactive_verified * ${weight(false, true)}::integer + m.inactive_unverified * ${weight(false, false)}::integer)`;
}

/** The condition on `user_changes c` that a change is of the kind. */
export const isOfKind = ({ isActive, verified }: Kind): RawBuilder<unknown> => sql`
  (${isActive ?? null}::boolean is null or c.is_active = ${isActive ?? null})
  and (${verified ?? null}::boolean is null or c.verified = ${verified ?? null})`;

/** The number of users of the kind, locked or not, from the mark `user_marks m` at the end. */
export const keptCount = (kind: Kind): RawBuilder<unknown> => sql`
  (${countOf(kind)} + (select coalesce(sum(c.change), 0) from user_changes c where ${isOfKind(kind)}))`;
