// SQL conditions on what a principal holds now, for checks inside a transaction. The guard computes the same in memory
// (effective.ts).
import { levelsUpTo } from '@castellan/contract/authentication';
import { type RawBuilder, sql } from 'kysely';
import type { Db, Row } from '../../schema/database.ts';
import { isPersonalTokenLive } from '../../schema/live/personal-tokens.ts';
import { isActorLive } from '../../schema/live/session-actor.ts';
import { areFactorsInUse, hasFactorOf } from '../factors/service.ts';
import { isByToken, type Principal, type UserPrincipal } from './caller.ts';
import { provedBy } from './requirements/call.ts';
import { type Demands, demandsOfRoles } from './requirements/standing.ts';
import { everywhere, type Scoped } from './scope.ts';

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

/** SQL conditions on a personal access token `t` and its owner `u`: it is live. As `isLiveKey`. */
const isLiveToken = sql.raw(isPersonalTokenLive('statement_timestamp()'));

/** SQL condition on a personal access token `t` and a permission `p`: the token is not narrowed, or is narrowed to `p` among others. */
const isInToken = sql`
  (not t.is_narrowed or exists (
    select from personal_token_permissions n where n.personal_token_id = t.id and n.permission_id = p.id))`;

/** SQL condition on a user `u` and a permission `p`: they are a superuser, or a role gives it. */
const isHeldByUser = sql`
  (u.is_superuser or exists (
    select from held_user_roles held join role_permissions through on through.role_id = held.role_id
    where held.user_id = u.id and through.permission_id = p.id))`;

/** SQL condition on a permission `p`: the principal is active and holds it. */
export const isHeldBy = ({ subject: principal }: Scoped<Principal>): RawBuilder<unknown> => {
  if (isByToken(principal))
    return sql`
      exists (select from users u join personal_tokens t on t.id = ${principal.personalToken.id} and t.user_id = u.id
        where u.id = ${principal.id} and ${isLiveToken} and ${isInToken} and ${isHeldByUser})`;
  if (principal.type === 'user') {
    const { id, actor } = principal;
    return actor ? sql`(${isHeldByActive(id)} and ${isHeldByActive(actor.id)})` : isHeldByActive(id);
  }
  return sql`
      exists (select from service_accounts a join api_keys k on k.id = ${principal.keyId} and k.service_account_id = a.id
        join held_account_roles held on held.service_account_id = a.id
        join role_permissions through on through.role_id = held.role_id
        where a.id = ${principal.id} and through.permission_id = p.id and ${isLiveKey} and ${isInKey})`;
};

/** SQL condition on a permission `p`: the user is active and holds it. */
const isHeldByActive = (id: string): RawBuilder<unknown> => sql`
      exists (select from users u where u.id = ${id} and u.is_active and ${isHeldByUser})`;

/** SQL condition on `users u`, as whom somebody may act: then their session is live, and only a superuser acts as one. */
const isActedFor = ({ actor, session }: UserPrincipal): RawBuilder<unknown> =>
  actor === null
    ? sql`true`
    : sql`
      exists (select from sessions s join users by on by.id = s.acted_by_id
        where s.id = ${session.id} and s.user_id = u.id and (by.is_superuser or not u.is_superuser)
          and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active) and ${sql.raw(isActorLive)})`;

/**
 * SQL condition on a permission `p`: this call has proved what the permission asks for. Service accounts need not. By the time
 * of the statement, as above.
 */
export const isMetBy = ({ subject: principal }: Scoped<Principal>): RawBuilder<unknown> => {
  if (principal.type !== 'user') return sql`true`;
  const { acr, authTime } = provedBy(principal);
  return sql`
    (p.required_acr is null or p.required_acr = any(${acr === null ? [] : levelsUpTo(acr)}::text[])) and (p.max_auth_age is null
      or extract(epoch from clock_timestamp() - ${authTime}::timestamptz) <= p.max_auth_age)`;
};

/** SQL: these permissions, in lower case, that the principal holds, each with what it asks for. */
const heldAmong = (who: Scoped<Principal>, permissions: readonly string[]): RawBuilder<unknown> => sql`
  coalesce((
    select json_agg(json_build_object('name', lower(p.name), 'required_acr', p.required_acr, 'max_auth_age', p.max_auth_age))
    from permissions p where lower(p.name) = any(${permissions}::text[]) and ${isHeldBy(who)}), '[]')`;

/** SQL of a user `u`: what they must do first, and by what it is judged. */
const standingOfUser = (userId: string) => sql`
  u.is_superuser, u.must_change_password, u.password_hash is not null as has_password, ${demandsOfRoles},
  clock_timestamp() as judged_at, ${hasFactorOf(userId)} as has_factor, ${areFactorsInUse} as are_factors_in_use`;

/**
 * SQL that selects one row if the principal is active: whether it is a superuser, what it must do first, and which of these
 * permissions it holds.
 */
export const standingOf = (who: Scoped<Principal>, permissions: readonly string[]): RawBuilder<Standing> => {
  const { subject: principal } = who;
  if (isByToken(principal))
    return sql<Standing>`
      select t.is_narrowed, ${standingOfUser(principal.id)}, ${heldAmong(who, permissions)} as held
      from users u join personal_tokens t on t.id = ${principal.personalToken.id} and t.user_id = u.id
      where u.id = ${principal.id} and ${isLiveToken}`;
  return principal.type === 'user'
    ? sql<Standing>`
      select false as is_narrowed, ${standingOfUser(principal.id)}, ${heldAmong(who, permissions)} as held
      from users u where u.id = ${principal.id} and u.is_active and ${isActedFor(principal)}`
    : sql<Standing>`
      select false as is_superuser, false as is_narrowed, false as must_change_password, false as has_password, null as required_by_roles, false as is_administrator,
        clock_timestamp() as judged_at, false as has_factor, false as are_factors_in_use,
        ${heldAmong(who, permissions)} as held
      from service_accounts a join api_keys k on k.id = ${principal.keyId} and k.service_account_id = a.id
      where a.id = ${principal.id} and ${isLiveKey}`;
};

export type Standing = Demands & {
  /** Whether the personal access token of the caller is. */
  is_narrowed: boolean;
  must_change_password: boolean;
  has_password: boolean;
  has_factor: boolean;
  are_factors_in_use: boolean;
  held: ({ name: string } & Pick<Row<'permissions'>, 'required_acr' | 'max_auth_age'>)[];
};

export type Held = {
  is_superuser: boolean;
  /** Ids of the permissions that the person holds now. */
  permission_ids: string[];
};

/** Returns what a person who is signed in holds at this moment; undefined if they were deleted. */
export async function findHeld(db: Db, principal: UserPrincipal): Promise<Held | undefined> {
  const { rows } = await sql<Held>`
    select u.is_superuser, array(select p.id from permissions p where ${isHeldBy(everywhere(principal))}) as permission_ids
    from users u where u.id = ${principal.id}`.execute(db);
  return rows[0];
}
