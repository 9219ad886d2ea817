// What the filters of the list of users mean, as conditions. It must not contain a whole statement.
import type { InvitationFilter, UserStatus } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';
import {
  isInvitationEnded,
  isInvitationOpen,
  isMarkedWithoutRoles,
  isRemovedAfter,
  isWithoutRoles,
} from '../../../schema/attention.ts';
import { hasStatus } from '../../../schema/user-status.ts';
import { searchCondition } from '../search.ts';
import { hasSecondFactor, type SecondFactorCondition } from './second-factor.ts';

export type UserFilter = {
  /** Canonical email; null matches no user. */
  email?: string | null;
  externalId?: string;
  search?: string;
  status?: UserStatus;
  withoutRoles?: true;
  /** Only registered accounts that the clean-up removes once they are older than these hours. */
  removedAfterHours?: number;
  roleId?: string;
  /** Only users whose id is greater. */
  afterId?: string;
  isActive?: boolean;
  verified?: boolean;
  secondFactor?: SecondFactorCondition;
  isInvited?: boolean;
  invitation?: InvitationFilter;
  /** Only users with each of these values. Without one: no user. */
  attributes?: readonly AttributeCondition[];
};

/** A value of an attribute, and the key by which it is found. `value`: as JSON. */
export type AttributeCondition = { attributeId: string; key: Buffer; value: string };

/** What a condition depends on besides the filter. */
export type Knowledge = {
  /** Few users have all short words of the search. */
  areShortRare?: boolean;
  /** The users without roles are marked. */
  areMarked?: boolean;
  way?: Way;
};

/**
 * How those who have a role and match other filters are found. `role`: in any way, because few users are read in each. Otherwise
 * the first holders, who may be all of them, or the first who match the rest are read, and neither all assignments nor all users.
 * `attribute first`: the first who have the value of the first attribute. `attributes joined`: the first who have the values of the first
 * two, who may be few although many have each.
 */
export type Way = 'role' | 'holders first' | 'rest first' | 'attribute first' | 'attributes joined';

const hasRole = (roleId: string) =>
  sql`exists (select from held_user_roles r where r.user_id = u.id and r.role_id = ${roleId})`;
/** The same, asked for each user. The planner cannot read all assignments instead. */
export const hasRoleOfEach = (roleId: string): RawBuilder<unknown> =>
  sql`(select true from held_user_roles r where r.user_id = u.id and r.role_id = ${roleId}) is true`;

/** SQL of the values `v` that a condition asks for. */
export const valuesWith = ({ attributeId, key, value }: AttributeCondition): RawBuilder<unknown> => sql`
  user_attribute_values v where v.attribute_id = ${attributeId} and v.key = ${key} and v.value = ${value}::jsonb`;

// Asked for each user, as for roles: the planner cannot read all values instead.
const hasValue = (condition: AttributeCondition): RawBuilder<unknown> =>
  sql`(select true from ${valuesWith(condition)} and v.user_id = u.id) is true`;

/** Returns the condition on `users u`. */
export function conditionOf(
  filter: UserFilter,
  { areShortRare = false, areMarked = false, way = 'role' }: Knowledge = {},
): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  if (filter.withoutRoles && filter.roleId !== undefined) return sql`false`;
  if (filter.email === null) conditions.push(sql`false`);
  else if (filter.email !== undefined) conditions.push(sql`u.email = ${filter.email}`);
  if (filter.externalId !== undefined) conditions.push(sql`u.external_id = ${filter.externalId}`);
  if (filter.search !== undefined) conditions.push(searchCondition(filter.search, { areShortRare }));
  if (filter.status !== undefined) conditions.push(hasStatus[filter.status]);
  if (filter.withoutRoles) conditions.push(areMarked ? isMarkedWithoutRoles : isWithoutRoles);
  if (filter.removedAfterHours !== undefined) conditions.push(isRemovedAfter(filter.removedAfterHours));
  if (filter.roleId !== undefined)
    conditions.push(way === 'role' ? hasRole(filter.roleId) : hasRoleOfEach(filter.roleId));
  if (filter.afterId !== undefined) conditions.push(sql`u.id > ${filter.afterId}`);
  if (filter.isActive !== undefined) conditions.push(sql`u.is_active = ${filter.isActive}`);
  if (filter.verified !== undefined) conditions.push(sql`u.verified = ${filter.verified}`);
  if (filter.secondFactor !== undefined) conditions.push(hasSecondFactor(filter.secondFactor));
  if (filter.isInvited !== undefined)
    conditions.push(filter.isInvited ? sql`u.invited_at is not null` : sql`u.invited_at is null`);
  if (filter.invitation !== undefined)
    conditions.push(filter.invitation === 'open' ? isInvitationOpen : isInvitationEnded);
  for (const condition of filter.attributes ?? []) conditions.push(hasValue(condition));
  return sql.join(conditions, sql` and `);
}
