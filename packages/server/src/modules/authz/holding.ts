// SQL conditions on what a principal holds now, for checks inside a transaction. The guard computes the same in memory
// (effective.ts).
import { type RawBuilder, sql } from 'kysely';
import type { Principal } from './caller.ts';
import type { Obliged } from './requirement.ts';
import type { Scoped } from './scope.ts';

/**
 * SQL condition on a service account `a` and its API key `k`: both are live. By the time of the statement, because
 * `now()` is when the transaction began, and the key may have ended while it waited for locks.
 */
const isLiveKey = sql`
  a.is_active and k.revoked_at is null and (k.expires_at is null or k.expires_at > statement_timestamp())`;

/** SQL condition on an API key `k` and a permission `p`: the key is not narrowed, or is narrowed to `p` among others. */
const isInKey = sql`
  (not k.is_narrowed or exists (
    select from api_key_permissions n where n.api_key_id = k.id and n.permission_id = p.id))`;

/** SQL condition on a permission `p`: the principal is active and holds it. */
export const isHeldBy = ({ subject: principal }: Scoped<Principal>): RawBuilder<unknown> =>
  principal.type === 'user'
    ? sql`
      exists (select from users u where u.id = ${principal.id} and u.is_active and (u.is_superuser or exists (
        select from held_user_roles held join role_permissions through on through.role_id = held.role_id
        where held.user_id = u.id and through.permission_id = p.id)))`
    : sql`
      exists (select from service_accounts a join api_keys k on k.id = ${principal.keyId} and k.service_account_id = a.id
        join held_account_roles held on held.service_account_id = a.id
        join role_permissions through on through.role_id = held.role_id
        where a.id = ${principal.id} and through.permission_id = p.id and ${isLiveKey} and ${isInKey})`;

/**
 * SQL that selects one row if the principal is active: whether it is a superuser, whether it must change its password
 * first, and which of these permissions, in lower case, it holds.
 */
export const standingOf = (who: Scoped<Principal>, permissions: readonly string[]): RawBuilder<Standing> => {
  const { subject: principal } = who;
  return principal.type === 'user'
    ? sql<Standing>`
      select u.is_superuser, u.must_change_password, array(
        select lower(p.name) from permissions p where lower(p.name) = any(${permissions}::text[]) and ${isHeldBy(who)}) as held
      from users u where u.id = ${principal.id} and u.is_active`
    : sql<Standing>`
      select false as is_superuser, false as must_change_password, array(
        select lower(p.name) from permissions p where lower(p.name) = any(${permissions}::text[]) and ${isHeldBy(who)}) as held
      from service_accounts a join api_keys k on k.id = ${principal.keyId} and k.service_account_id = a.id
      where a.id = ${principal.id} and ${isLiveKey}`;
};

export type Standing = Obliged & { is_superuser: boolean; held: string[] };
