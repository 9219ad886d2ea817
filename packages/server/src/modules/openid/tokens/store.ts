// SQL of the exchange of codes and refresh tokens. Times come from the database.
// A transaction that adds a token to a grant must hold the row lock of the grant.
import { type RawBuilder, sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import type { Db, Row, Tx } from '../../../schema/database.ts';
import { isGrantLive, isSessionLive } from '../../../schema/live/grants.ts';
import { type GrantedAccess, grantColumns, grantTables } from './grant-columns.ts';

/** A grant whose row is locked. */
export type LockedGrant = GrantedAccess &
  Pick<
    Row<'access_grants'>,
    'nonce' | 'redirect_uri' | 'code_challenge' | 'dpop_jkt' | 'turn' | 'expires_at'
  > & {
    now: Date;
    /** Nothing has ended it but, perhaps, its session. */
    is_live: boolean;
    is_session_live: boolean;
    session_expires_at: Date | null;
    is_code_used: boolean;
    is_code_late: boolean;
    /** False also for a grant without refresh tokens. */
    is_refreshable: boolean;
    /** The last exchange of a refresh token is younger than the reuse interval. */
    is_just_turned: boolean;
  };

/** Locks the grant of a code until the transaction ends. Returns undefined if there is none, or no such account. */
export const lockGrantOfCode = (
  tx: Tx,
  codeHash: Buffer,
  resource: string | null,
): Promise<LockedGrant | undefined> =>
  lockGrant(tx, sql`g.code_hash = ${codeHash}`, { reuseSeconds: 0, resource });

/** Locks a grant until the transaction ends. Returns undefined if there is none, or no such account. */
export const lockGrantWithId = (tx: Tx, id: string, asked: Asked): Promise<LockedGrant | undefined> =>
  lockGrant(tx, sql`g.id = ${id}`, asked);

/** `resource`: the identifier of the API resource that a token is wanted for; null for userinfo. */
type Asked = { reuseSeconds: number; resource: string | null };

/** If another transaction changed the grant while this one waited for the lock, the changed row is read. */
async function lockGrant(
  tx: Tx,
  which: RawBuilder<unknown>,
  { reuseSeconds, resource }: Asked,
): Promise<LockedGrant | undefined> {
  const { rows } = await sql<LockedGrant>`
    select ${sql.raw(grantColumns)}, g.nonce, g.redirect_uri, g.code_challenge, g.dpop_jkt, g.turn, g.expires_at,
      clock_timestamp() as now, ${sql.raw(isGrantLive)} as is_live, ${sql.raw(isSessionLive)} as is_session_live,
      s.expires_at as session_expires_at, g.code_used_at is not null as is_code_used,
      coalesce(g.code_expires_at <= clock_timestamp(), true) as is_code_late,
      coalesce(g.refresh_expires_at > clock_timestamp(), false) as is_refreshable,
      coalesce(g.turned_at > clock_timestamp() - make_interval(secs => ${reuseSeconds}), false) as is_just_turned
    from access_grants g cross join (select ${resource}::text as resource) wanted ${sql.raw(grantTables)}
    where ${which} for no key update of g`.execute(tx);
  return rows[0];
}

export type NewToken = Pick<
  Row<'application_tokens'>,
  | 'token_hash'
  | 'grant_id'
  | 'user_id'
  | 'jti'
  | 'aud'
  | 'key_id'
  | 'scopes'
  | 'dpop_jkt'
  | 'issued_at'
  | 'expires_at'
>;

/** Live grants that one account may have, at one application and in all. A further one ends the oldest. */
const MAX_OF_APPLICATION = 50;
const MAX_OF_USER = 500;

/** What the grant of a new token becomes. `refresh_expires_at`: null for a grant without refresh tokens. */
export type NextEnd = { refresh_expires_at: Date | null; ends_at: Date };

/**
 * Marks the code as used and adds the first access token. `dpopJkt`: the key that refresh tokens are bound to; null: none. Returns how many older grants of the account it ended, because there are
 * too many.
 */
export async function redeemCode(
  tx: Tx,
  token: NewToken,
  {
    applicationId,
    dpopJkt,
    refresh_expires_at,
    ends_at,
  }: NextEnd & { applicationId: string; dpopJkt: string | null },
): Promise<number> {
  const result = await sql<{ ended: number }>`
    with used as (
      update access_grants set code_used_at = clock_timestamp(), last_used_at = clock_timestamp(),
        refresh_expires_at = ${refresh_expires_at}::timestamptz, ends_at = ${ends_at}::timestamptz,
        dpop_jkt = ${dpopJkt}::text
      where id = ${token.grant_id}
    ), live as (
      select id, row_number() over (order by created_at desc, id desc) as of_user,
        case when application_id = ${applicationId}
          then row_number() over (partition by application_id order by created_at desc, id desc) end as of_application
      from access_grants
      where user_id = ${token.user_id} and id <> ${token.grant_id} and revoked_at is null and expires_at > now()
        and ends_at > now()
    ), free as (
      select g.id from access_grants g join live on live.id = g.id
      where live.of_application >= ${MAX_OF_APPLICATION} or live.of_user >= ${MAX_OF_USER}
      for no key update of g skip locked
    ), ended as (
      update access_grants g set revoked_at = clock_timestamp(), revoked_reason = 'grant_limit'
      from free where g.id = free.id and g.revoked_at is null returning g.id
    ), added as (
      insert into application_tokens (token_hash, grant_id, user_id, jti, aud, key_id, scopes, dpop_jkt, issued_at, expires_at)
      values (${token.token_hash}, ${token.grant_id}, ${token.user_id}, ${token.jti}, ${token.aud}, ${token.key_id}, ${token.scopes}, ${token.dpop_jkt},
        ${token.issued_at}, ${token.expires_at})
    )
    select count(*)::integer as ended from ended`.execute(tx);
  return onlyRow(result).ended;
}

/** Adds an access token. `next`: the next refresh token takes the place of the present one; null: it stays. */
export async function addToken(tx: Tx, token: NewToken, next: NextEnd | null): Promise<void> {
  await sql`
    with used as (
      update access_grants set last_used_at = clock_timestamp(),
        turn = turn + case when ${next !== null}::boolean then 1 else 0 end,
        turned_at = case when ${next !== null}::boolean then clock_timestamp() else turned_at end,
        refresh_expires_at = coalesce(${next?.refresh_expires_at ?? null}::timestamptz, refresh_expires_at),
        ends_at = greatest(ends_at, ${next?.ends_at ?? token.expires_at}::timestamptz)
      where id = ${token.grant_id}
    )
    insert into application_tokens (token_hash, grant_id, user_id, jti, aud, key_id, scopes, dpop_jkt, issued_at, expires_at)
    values (${token.token_hash}, ${token.grant_id}, ${token.user_id}, ${token.jti}, ${token.aud}, ${token.key_id}, ${token.scopes}, ${token.dpop_jkt},
      ${token.issued_at}, ${token.expires_at})`.execute(tx);
}

/**
 * Ends a grant with every token of it. `applicationId`: only a grant of this application; null for any. `isTold`: the application
 * learns it by a logout notice. Returns its account and application; undefined if it had ended.
 */
export async function endGrant(
  db: Db,
  id: string,
  reason: string,
  { applicationId = null, isTold }: { applicationId?: string | null; isTold: boolean },
): Promise<Pick<Row<'access_grants'>, 'user_id' | 'application_id'> | undefined> {
  // `told` is only there for what it does.
  const { rows } = await sql<
    Pick<Row<'access_grants'>, 'user_id' | 'application_id'> & { told: string | null }
  >`
    with ended as (
      update access_grants set revoked_at = clock_timestamp(), revoked_reason = ${reason}
      where id = ${id} and revoked_at is null and application_id = coalesce(${applicationId}::uuid, application_id)
      returning user_id, application_id, session_id
    )
    select user_id, application_id,
      case when ${isTold}::boolean then tell_applications(user_id, session_id, application_id, ${reason}) end::text as told
    from ended`.execute(db);
  return rows[0];
}

/** Ends an access token alone, of any application or of this one. Returns whose it was; undefined if it had ended. */
export async function deleteAccessToken(
  db: Db,
  tokenHash: Buffer,
  applicationId: string | null,
): Promise<{ user_id: string; application_id: string; grant_id: string } | undefined> {
  const { rows } = await sql<{ user_id: string; application_id: string; grant_id: string }>`
    delete from application_tokens t using access_grants g
    where t.token_hash = ${tokenHash} and t.expires_at > now() and g.id = t.grant_id
      and g.application_id = coalesce(${applicationId}::uuid, g.application_id)
    returning t.user_id, g.application_id, g.id as grant_id`.execute(db);
  return rows[0];
}
