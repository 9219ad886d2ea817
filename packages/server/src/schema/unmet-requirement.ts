// The users whose factors do not reach what is required of them, as conditions: the dashboard counts by them, and the lists
// filter by them. It must not decide about a sign-in or a request: these columns are derived.
import { type RawBuilder, sql } from 'kysely';

/** By what an account is under a requirement: of `aal2`, but for the roles that require `phr`. */
export type Demands = {
  everyone: boolean;
  superusers: boolean;
  aal2RoleIds: readonly string[];
  phrRoleIds: readonly string[];
  /** The RP IDs whose passkeys can be used. */
  rpIds: readonly string[];
};

export const isDemanding = ({ everyone, superusers, aal2RoleIds, phrRoleIds }: Demands): boolean =>
  everyone || superusers || aal2RoleIds.length > 0 || phrRoleIds.length > 0;

const holdsOneOf = (roleIds: readonly string[]): RawBuilder<unknown> => sql`exists (
  select from held_user_roles held where held.user_id = u.id and held.role_id = any(${roleIds}::uuid[]))`;

/** Condition on `users u`: they have a passkey of one of the RP IDs. */
export const hasPasskeyOf = (rpIds: readonly string[]): RawBuilder<boolean> =>
  sql`exists (select from passkeys k where k.user_id = u.id and k.rp_id = any(${rpIds}::text[]))`;

/** Conditions on `users u`, each for one kind of demand: an index finds its users if it is asked for them alone. */
export const lacksAsAnybody = ({ everyone }: Demands): RawBuilder<unknown> =>
  sql`(${everyone}::boolean and not u.has_factor)`;
export const lacksAsSuperuser = ({ superusers }: Demands): RawBuilder<unknown> =>
  sql`(${superusers}::boolean and u.is_superuser and not u.has_factor)`;
export const lacksAsHolder = ({ aal2RoleIds }: Demands): RawBuilder<unknown> =>
  sql`(not u.has_factor and ${holdsOneOf(aal2RoleIds)})`;
export const lacksPasskey = ({ phrRoleIds, rpIds }: Demands): RawBuilder<unknown> =>
  sql`(not ${hasPasskeyOf(rpIds)} and ${holdsOneOf(phrRoleIds)})`;

/** Whether a row of `users u` lacks a factor that is demanded. */
export const lacksDemanded = (demands: Demands): RawBuilder<unknown> => sql`
  (${lacksAsAnybody(demands)} or ${lacksAsSuperuser(demands)} or ${lacksAsHolder(demands)} or ${lacksPasskey(demands)})`;
