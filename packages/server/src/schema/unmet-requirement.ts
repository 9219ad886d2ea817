// The users whose factors do not reach what is required of them, as conditions: the dashboard counts by them, and the lists
// filter by them. It must not decide about a sign-in or a request: these columns are derived.
import { type RawBuilder, sql } from 'kysely';

/** By what an account is under a requirement. A superuser is under one of `aal2`; the holders of a role under that of the role. */
export type Demands = {
  aal2RoleIds: readonly string[];
  phrRoleIds: readonly string[];
  superusers: boolean;
  everyone: boolean;
};

const holdsOneOf = (roleIds: readonly string[]): RawBuilder<unknown> => sql`exists (
  select from held_user_roles held where held.user_id = u.id and held.role_id = any(${roleIds}::uuid[]))`;

/**
 * Returns conditions on `users u`; none if nothing is demanded of anybody. A user lacks a factor if one of them holds. An index
 * finds the users of each.
 */
export const unmetDemands = ({
  aal2RoleIds,
  phrRoleIds,
  superusers,
  everyone,
}: Demands): RawBuilder<unknown>[] => [
  ...(everyone ? [sql`not u.has_factor`] : []),
  ...(superusers && !everyone ? [sql`(u.is_superuser and not u.has_factor)`] : []),
  ...(aal2RoleIds.length > 0 && !everyone ? [sql`(not u.has_factor and ${holdsOneOf(aal2RoleIds)})`] : []),
  ...(phrRoleIds.length > 0
    ? [sql`(not exists (select from passkeys k where k.user_id = u.id) and ${holdsOneOf(phrRoleIds)})`]
    : []),
];

/** Whether a row of `users u` lacks a factor that is demanded. */
export function lacksDemanded(demands: Demands): RawBuilder<unknown> {
  const conditions = unmetDemands(demands);
  return conditions.length === 0 ? sql`false` : sql`(${sql.join(conditions, sql` or `)})`;
}
