// The users whose factors do not reach what is required of them, now or from an announced date, for lists.
// It must not decide about a sign-in or a request: the lists read derived columns.
import { administrativePermissions } from '@castellan/contract/permissions';
import { type RawBuilder, sql } from 'kysely';
import type { PolicySettings } from '../../authz/requirements/account.ts';

const isUnmetByRole = sql`exists (
  select from held_user_roles held join roles r on r.id = held.role_id
  where held.user_id = u.id and r.required_acr is not null and not case r.required_acr
    when 'phr' then exists (select from passkeys k where k.user_id = u.id) else u.has_factor end)`;

const isAdministrator = sql`(u.is_superuser or exists (
  select from held_user_roles held join role_permissions through on through.role_id = held.role_id
  join permissions p on p.id = through.permission_id
  where held.user_id = u.id and p.name = any(${administrativePermissions}::text[])))`;

/** SECOND_FACTOR_REQUIRED_FOR → the condition on `users u`. */
export const unmetRequirement: Readonly<
  Record<PolicySettings['secondFactorRequiredFor'], RawBuilder<unknown>>
> = {
  nobody: isUnmetByRole,
  superusers: sql`(${isUnmetByRole} or (u.is_superuser and not u.has_factor))`,
  administrators: sql`(${isUnmetByRole} or (not u.has_factor and ${isAdministrator}))`,
  everyone: sql`(${isUnmetByRole} or not u.has_factor)`,
};
