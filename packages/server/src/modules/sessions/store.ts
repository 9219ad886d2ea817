// SQL of sessions and session_tokens. Times are the database's.
// Whoever adds a token to a session holds that session's row lock; whoever adds a session holds the user's.
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';
import type { TokenKind } from '../../platform/security/jwt.ts';

export type NewToken = {
  token_hash: Buffer;
  kind: TokenKind;
  jti: string;
  key_id: string;
  issued_at: Date;
  expires_at: Date;
};

export async function insertSession(
  tx: Tx,
  session: {
    id: string;
    user_id: string;
    origin_address: string;
    user_agent: string | null;
    expires_at: Date;
  },
): Promise<void> {
  // clock_timestamp(): a login that waited for the user's lock is younger than the one it waited for.
  await sql`
    insert into sessions (id, user_id, origin_address, user_agent, created_at, last_used_at, expires_at)
    values (${session.id}, ${session.user_id}, ${session.origin_address}, ${session.user_agent},
            clock_timestamp(), clock_timestamp(), ${session.expires_at})`.execute(tx);
}

export async function insertTokens(
  tx: Tx,
  userId: string,
  sessionId: string,
  tokens: NewToken[],
): Promise<void> {
  await tx
    .insertInto('session_tokens')
    .values(tokens.map((token) => ({ ...token, user_id: userId, session_id: sessionId })))
    .execute();
}

/** Live sessions beyond the newest `limit`, oldest last; `keep` always counts as the newest. */
export async function findSessionsBeyond(
  tx: Tx,
  userId: string,
  limit: number,
  keep: string,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from sessions
    where user_id = ${userId} and revoked_at is null and expires_at > now()
    order by id = ${keep} desc, created_at desc, id desc
    offset ${limit}`.execute(tx);
  return rows.map((row) => row.id);
}

/** Answers the ids of those that were live. Locks them; a token that a parallel refresh adds is removed as well. */
export async function revokeSessions(
  tx: Tx,
  userId: string,
  which: { ids: string[] } | 'all',
  reason: string,
): Promise<string[]> {
  const { rows } = await sql<{ id: string; live: boolean }>`
    update sessions set revoked_at = clock_timestamp(), revoked_reason = ${reason}
    where user_id = ${userId} and revoked_at is null
      ${which === 'all' ? sql`` : sql`and id = any(${which.ids}::uuid[])`}
    returning id, expires_at > now() as live`.execute(tx);
  // A statement of its own: it sees what was committed while the update waited for a row.
  await sql`delete from session_tokens where user_id = ${userId} and session_id = any(${rows.map((row) => row.id)}::uuid[])`.execute(
    tx,
  );
  return rows.filter((row) => row.live).map((row) => row.id);
}

/** As `revokeSessions` for all sessions of several users. Answers whose live sessions these were, one entry each. */
export async function revokeSessionsOfUsers(
  tx: Tx,
  userIds: readonly string[],
  reason: string,
): Promise<string[]> {
  const { rows } = await sql<{ id: string; user_id: string; live: boolean }>`
    update sessions set revoked_at = clock_timestamp(), revoked_reason = ${reason}
    where user_id = any(${userIds}::uuid[]) and revoked_at is null
    returning id, user_id, expires_at > now() as live`.execute(tx);
  await sql`
    delete from session_tokens
    where user_id = any(${userIds}::uuid[]) and session_id = any(${rows.map((row) => row.id)}::uuid[])`.execute(
    tx,
  );
  return rows.filter((row) => row.live).map((row) => row.user_id);
}

export type SessionOfToken = {
  session_id: string;
  user_id: string;
  origin_address: string | null;
  now: Date;
};

/** The live session that a refresh token belongs to, its row locked; the user must still be allowed in. */
export async function lockSessionOfRefreshToken(
  tx: Tx,
  userId: string,
  tokenHash: Buffer,
): Promise<SessionOfToken | undefined> {
  const { rows } = await sql<SessionOfToken>`
    select s.id as session_id, s.user_id, s.origin_address, now() as now
    from session_tokens t
    join sessions s on s.id = t.session_id
    join users u on u.id = s.user_id
    where t.user_id = ${userId} and t.token_hash = ${tokenHash} and t.kind = 'refresh'
      and s.revoked_at is null and s.expires_at > now() and u.is_active
    for update of s`.execute(tx);
  return rows[0];
}

export type RefreshToken = {
  expires_at: Date;
  successor_jti: string | null;
  /** Exchanged longer ago than the reuse interval. */
  reused: boolean;
};

/** A statement of its own, after the lock: it sees what the holder before wrote. */
export async function findRefreshToken(
  tx: Tx,
  userId: string,
  tokenHash: Buffer,
  reuseSeconds: number,
): Promise<RefreshToken | undefined> {
  const { rows } = await sql<RefreshToken>`
    select expires_at, successor_jti,
           coalesce(rotated_at <= clock_timestamp() - make_interval(secs => ${reuseSeconds}), false) as reused
    from session_tokens
    where user_id = ${userId} and token_hash = ${tokenHash} and kind = 'refresh' and expires_at > now()`.execute(
    tx,
  );
  return rows[0];
}

export const findTokenByJti = (
  tx: Tx,
  userId: string,
  jti: string,
): Promise<{ token_hash: Buffer; key_id: string; issued_at: Date; expires_at: Date } | undefined> =>
  tx
    .selectFrom('session_tokens')
    .select(['token_hash', 'key_id', 'issued_at', 'expires_at'])
    .where('user_id', '=', userId)
    .where('jti', '=', jti)
    .executeTakeFirst();

export async function markRotated(
  tx: Tx,
  userId: string,
  tokenHash: Buffer,
  successorJti: string,
): Promise<void> {
  await sql`
    update session_tokens set rotated_at = clock_timestamp(), successor_jti = ${successorJti}
    where user_id = ${userId} and token_hash = ${tokenHash}`.execute(tx);
}

/** `expiresAt` null leaves the end as it is. */
export async function touchSession(tx: Tx, sessionId: string, expiresAt: Date | null): Promise<void> {
  await sql`
    update sessions set last_used_at = clock_timestamp(), expires_at = coalesce(${expiresAt}, expires_at)
    where id = ${sessionId}`.execute(tx);
}

/** True when this session is live and its user may be here; both stay so until the transaction ends. */
export async function lockLiveSession(tx: Tx, userId: string, sessionId: string): Promise<boolean> {
  const { rows } = await sql`
    select from sessions s join users u on u.id = s.user_id
    where s.id = ${sessionId} and s.user_id = ${userId} and s.revoked_at is null and s.expires_at > now() and u.is_active
    for update of s`.execute(tx);
  return rows.length === 1;
}

/** The session that a live refresh token of this user names. */
export async function findSessionIdByRefreshToken(
  db: Db,
  userId: string,
  tokenHash: Buffer,
): Promise<string | undefined> {
  const { rows } = await sql<{ session_id: string }>`
    select t.session_id from session_tokens t join sessions s on s.id = t.session_id
    where t.user_id = ${userId} and t.token_hash = ${tokenHash} and t.kind = 'refresh' and t.expires_at > now()
      and s.revoked_at is null`.execute(db);
  return rows[0]?.session_id;
}

export const listLiveSessions = (db: Db, userId: string) =>
  db
    .selectFrom('sessions')
    .select(['id', 'origin_address', 'user_agent', 'created_at', 'last_used_at', 'expires_at'])
    .where('user_id', '=', userId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute();

// Rows a clean-up statement removes at most, so that it holds few locks and little time.
const BATCH = 5_000;

/** Expired tokens, and sessions that ended over `keepDays` ago (kept so long for those who ask what happened). */
export async function deleteDeadSessions(
  db: Db,
  keepDays: number,
): Promise<{ tokens: number; sessions: number }> {
  let tokens = 0;
  let sessions = 0;
  for (let deleted = BATCH; deleted === BATCH; tokens += deleted) {
    const result = await sql`
      delete from session_tokens where (user_id, token_hash) in (
        select user_id, token_hash from session_tokens where expires_at < now() limit ${BATCH} for update skip locked)`.execute(
      db,
    );
    deleted = Number(result.numAffectedRows ?? 0);
  }
  for (let deleted = BATCH; deleted === BATCH; sessions += deleted) {
    const result = await sql`
      delete from sessions where id in (
        select id from sessions
        where least(expires_at, coalesce(revoked_at, expires_at)) < now() - make_interval(days => ${keepDays})
        limit ${BATCH} for update skip locked)`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return { tokens, sessions };
}

/** The user's latest successful login, for the dashboard. */
export async function recordLastLogin(tx: Tx, userId: string): Promise<void> {
  await sql`
    insert into last_logins (user_id, logged_in_at) values (${userId}, clock_timestamp())
    on conflict (user_id) do update set logged_in_at = excluded.logged_in_at`.execute(tx);
}
