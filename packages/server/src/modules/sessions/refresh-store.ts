// SQL of the exchange of a refresh token. Times come from the database.
// A transaction that adds a token to a session must hold the row lock of the session.
import { sql } from 'kysely';
import type { SessionClaims } from '../../platform/security/jwt.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import type { ContextColumns } from '../../schema/token-context.ts';
import { isOfTrustedKey } from './keys/revoked.ts';

export type ListedToken = Pick<Row<'sessions'>, 'origin_address' | 'other_origin_address'> &
  Pick<Row<'session_tokens'>, 'key_id' | 'expires_at'> &
  ContextColumns & {
    session_id: Row<'sessions'>['id'];
    now: Date;
    /** When the session began. */
    began: Date;
    session_expires_at: Date;
    /** The token has a successor. */
    exchanged: boolean;
    /** Exchanged longer ago than the reuse interval. */
    reused: boolean;
    /** The token of a browser that was asked for is a live one of the same session. */
    has_browser: boolean;
  };

/** The columns from which the successor can be signed again, byte for byte. */
export type Successor = Pick<
  Row<'session_tokens'>,
  'jti' | 'key_id' | 'token_hash' | 'issued_at' | 'expires_at'
> &
  ContextColumns;

/**
 * Returns the user's refresh token if it is on the allowlist and its session is live. `browserHash`: the token of a browser to ask
 * for in the same statement.
 */
export async function findListedToken(
  db: Db,
  userId: string,
  tokenHash: Buffer,
  { reuseSeconds, browserHash }: { reuseSeconds: number; browserHash?: Buffer | undefined },
): Promise<ListedToken | undefined> {
  const hasBrowser = sql`exists (
    select from session_tokens b
    where b.user_id = t.user_id and b.token_hash = ${browserHash} and b.kind = 'browser' and b.session_id = t.session_id
      and b.expires_at > now() and b.key_id <> all (array(select key_id from revoked_signing_keys)))`;
  const { rows } = await sql<ListedToken>`
    select s.id as session_id, s.origin_address, s.other_origin_address, t.acr, t.amr, t.auth_time, t.key_id, t.expires_at, now() as now, s.created_at as began, s.expires_at as session_expires_at, t.successor_jti is not null as exchanged,
           ${browserHash ? hasBrowser : sql`false`} as has_browser,
           coalesce(t.rotated_at <= clock_timestamp() - make_interval(secs => ${reuseSeconds}), false) as reused
    from session_tokens t cross join lateral (select * from sessions s where s.id = t.session_id offset 0) s
    join users u on u.id = t.user_id
    where t.user_id = ${userId} and t.token_hash = ${tokenHash} and t.kind = 'refresh' and t.expires_at > now()
      and s.user_id = t.user_id and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active) and ${sql.raw(isOfTrustedKey)}`.execute(
    db,
  );
  return rows[0];
}

/** Locks the row of this user's session. Later statements see what the previous lock holder committed. */
export async function lockSession(tx: Tx, userId: string, sessionId: string): Promise<void> {
  await sql`select from sessions where id = ${sessionId} and user_id = ${userId} for no key update`.execute(
    tx,
  );
}

/** Returns the token for which this one was exchanged. */
export async function findSuccessor(
  tx: Tx,
  userId: string,
  tokenHash: Buffer,
): Promise<Successor | undefined> {
  const { rows } = await sql<Successor>`
    select n.jti, n.key_id, n.token_hash, n.issued_at, coalesce(n.signed_expires_at, n.expires_at) as expires_at,
           n.acr, n.amr, n.auth_time
    from session_tokens t join session_tokens n on n.user_id = t.user_id and n.jti = t.successor_jti
    where t.user_id = ${userId} and t.token_hash = ${tokenHash}`.execute(tx);
  return rows[0];
}

/**
 * Records the exchange. The old token expires at the end of the reuse interval; the clean-up then removes its row, so
 * that a long session does not accumulate rows. `isNewKey`: another key signed the successor, and vouches for the tokens of the
 * browser from now on.
 */
export async function markRotated(
  tx: Tx,
  { userId, sessionId, tokenHash }: { userId: string; sessionId: string; tokenHash: Buffer },
  successor: Pick<Row<'session_tokens'>, 'jti' | 'key_id'>,
  { reuseSeconds, isNewKey }: { reuseSeconds: number; isNewKey: boolean },
): Promise<void> {
  const moved = sql`with moved as (
      update session_tokens set key_id = ${successor.key_id}
      where user_id = ${userId} and session_id = ${sessionId} and kind = 'browser' and expires_at > now()
    )`;
  await sql`
    ${isNewKey ? moved : sql``}
    update session_tokens set rotated_at = clock_timestamp(), successor_jti = ${successor.jti},
      signed_expires_at = expires_at,
      expires_at = least(expires_at, clock_timestamp() + make_interval(secs => ${reuseSeconds}))
    where user_id = ${userId} and token_hash = ${tokenHash}`.execute(tx);
}

/**
 * Sets time and address of the last use, the expiry, and the origin of the other address family unless
 * `otherOrigin` is null or the session has one.
 */
export async function touchSession(
  tx: Tx,
  { userId, sessionId }: { userId: string; sessionId: string },
  { address, otherOrigin, expiresAt }: { address: string; otherOrigin: string | null; expiresAt: Date },
): Promise<void> {
  await sql`
    update sessions set last_used_at = clock_timestamp(), last_address = ${address}, expires_at = ${expiresAt},
      other_origin_address = coalesce(other_origin_address, ${otherOrigin})
    where id = ${sessionId} and user_id = ${userId}`.execute(tx);
}

/**
 * Ends the live session of a refresh token that this service signed but that has no row: it was exchanged and its row
 * was removed. Returns whether there was such a session. A token that was issued after the last use of its session
 * belongs to a state that the database has lost (restored backup, failover); it ends nothing.
 */
export async function revokeSessionOfUnlisted(
  db: Db,
  claims: SessionClaims,
  tokenHash: Buffer,
  reason: string,
): Promise<boolean> {
  const { rows } = await sql`
    with ended as (
      update sessions s set revoked_at = clock_timestamp(), revoked_reason = ${reason}
      from users u
      where s.id = ${claims.sid} and s.user_id = ${claims.sub} and u.id = s.user_id and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
        and ${claims.exp}::numeric > extract(epoch from now())
        and ${claims.iat}::numeric <= extract(epoch from s.last_used_at)
        -- An operator who let a token expire has exchanged nothing.
        and not exists (
          select from session_tokens t
          where t.user_id = ${claims.sub} and t.token_hash = ${tokenHash} and t.rotated_at is null)
      returning s.id, s.user_id
    )
    insert into session_ends (user_id, session_id, reason) select user_id, id, ${reason} from ended
    returning session_id`.execute(db);
  return rows.length === 1;
}
