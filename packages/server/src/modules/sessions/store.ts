// SQL that starts, ends and lists sessions. Times come from the database; `is_live_session` defines which are live.
// It must not delete rows: ended-rows.ts does. A transaction that adds a session must hold the user's row lock.
import type { PageQuery } from '@castellan/contract/common';
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { offsetOf } from '../../platform/pages.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import { isActorLive, type ShownActor, shownActorColumn } from '../../schema/live/session-actor.ts';
import { providerColumn, type ShownProvider } from '../../schema/session-provider.ts';
import type { ContextColumns } from '../../schema/token-context.ts';
import { type UserRow, userColumns } from '../../schema/user-record.ts';
import { isOfTrustedKey } from './keys/revoked.ts';

export type NewToken = Pick<
  Row<'session_tokens'>,
  'token_hash' | 'kind' | 'jti' | 'key_id' | 'issued_at' | 'expires_at'
> &
  ContextColumns;

/** The token of a browser, and the hash of the one that it takes the place of; null if there is none. */
type BrowserRow = { row: NewToken; replaced: Buffer | null };

export type SessionRows = { access: NewToken; refresh: NewToken; browser?: BrowserRow | undefined };

/** The identity that a session began with, and what is known of the session at its provider; null for every other session. */
export type SessionOrigin = Pick<
  Row<'sessions'>,
  'identity_id' | 'provider_sid' | 'provider_id_token_sealed'
>;

type OfSession = { userId: string; sessionId: string };

const rowOf = (
  { userId, sessionId }: OfSession,
  { token_hash, kind, jti, key_id, issued_at, expires_at, acr, amr, auth_time }: NewToken,
) => sql`
  (${userId}::uuid, ${token_hash}::bytea, ${sessionId}::uuid, ${kind}, ${jti}::uuid, ${key_id},
   ${issued_at}::timestamptz, ${expires_at}::timestamptz, ${acr}, ${amr}::text[], ${auth_time}::timestamptz)`;

/** Live tokens of browsers that a session has beside a new one. Tabs that ask at once get one each, and the last one sets the cookie. */
const OTHER_BROWSERS = 3;

/**
 * Common table expression that ends the token of the browser that a new one replaces, whatever its session, and the oldest of this
 * session beyond three. The primary key finds them: see 0030-tokens-by-jti.sql.
 */
const replacedBy = ({ userId, sessionId }: OfSession, { replaced }: BrowserRow) => sql`
  replaced as (
    update session_tokens set expires_at = now()
    where user_id = ${userId} and kind = 'browser' and expires_at > now() and token_hash = any(${replaced}::bytea || array(
      select b.token_hash from session_tokens b
      where b.session_id = ${sessionId} and b.user_id = ${userId} and b.kind = 'browser' and b.expires_at > now()
      order by b.issued_at desc, b.jti desc offset ${OTHER_BROWSERS}))
  )`;

/**
 * Inserts a session and its tokens, and notes whether the user has sessions, live or ended, but none from this
 * network. With `isSignIn`, also records the time of the user's latest sign-in. Returns the user's record, and in `beyond`
 * the ids of the live sessions beyond the newest `limit`, which includes the new one; none with a limit of 0.
 */
export async function insertSession(
  tx: Tx,
  session: Pick<Row<'sessions'>, 'id' | 'user_id' | 'user_agent' | 'expires_at' | 'proof' | 'device_id'> &
    SessionOrigin & { origin_address: string; origin_network: string },
  tokens: SessionRows,
  { limit, isSignIn }: { limit: number; isSignIn: boolean },
): Promise<UserRow & { beyond: string[] }> {
  const { browser } = tokens;
  const about = { userId: session.user_id, sessionId: session.id };
  // clock_timestamp(), because a sign-in that waited for the user's row lock must be newer than the one it waited for.
  // The select does not see the session that the statement inserts, so the limit for the others is one less.
  const answer = await sql<UserRow & { beyond: string[] }>`
    with begun as (
      insert into sessions (id, user_id, origin_address, last_address, origin_network, is_new_network, user_agent,
        proof, device_id, identity_id, provider_sid, provider_id_token_sealed, created_at, last_used_at, expires_at)
      values (${session.id}, ${session.user_id}, ${session.origin_address}, ${session.origin_address},
        ${session.origin_network},
        exists (select from sessions o where o.user_id = ${session.user_id} and o.origin_network is not null)
          and not exists (
            select from sessions o where o.user_id = ${session.user_id} and o.origin_network = ${session.origin_network}),
        ${session.user_agent}, ${session.proof}, ${session.device_id}, ${session.identity_id}, ${session.provider_sid},
        ${session.provider_id_token_sealed}, clock_timestamp(), clock_timestamp(), ${session.expires_at})
    ), listed as (
      insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at, acr, amr,
        auth_time)
      values ${rowOf(about, tokens.access)}, ${rowOf(about, tokens.refresh)}${browser ? sql`, ${rowOf(about, browser.row)}` : sql``}
    )${browser ? sql`, ${replacedBy(about, browser)}` : sql``}, entered as (
      insert into last_logins (user_id, logged_in_at)
      select ${session.user_id}::uuid, clock_timestamp() where ${isSignIn}::boolean
      on conflict (user_id) do update set logged_in_at = excluded.logged_in_at
    )
    select ${sql.raw(userColumns)},
      array(
        select s.id from sessions s
        where s.user_id = u.id and ${limit}::integer > 0 and s.acted_by_id is null
          and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
        order by s.created_at desc, s.id desc
        offset greatest(${limit}::integer - 1, 0)) as beyond
    from users u where u.id = ${session.user_id}`.execute(tx);
  return onlyRow(answer);
}

/** Keeps the provider of an identity as it is until the transaction ends. */
export async function keepProviderOf(tx: Tx, identityId: string): Promise<void> {
  await sql`
    select from identity_providers p where p.id = (select i.provider_id from identities i where i.id = ${identityId})
    for share`.execute(tx);
}

/** Adds tokens to a session, whose row the caller has locked. */
export async function insertTokens(
  tx: Tx,
  about: OfSession,
  { access, refresh, browser }: Omit<SessionRows, 'refresh'> & { refresh?: NewToken },
): Promise<void> {
  await sql`
    ${browser ? sql`with ${replacedBy(about, browser)}` : sql``}
    insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at, acr, amr,
      auth_time)
    values ${rowOf(about, access)}${refresh ? sql`, ${rowOf(about, refresh)}` : sql``}${browser ? sql`, ${rowOf(about, browser.row)}` : sql``}`.execute(
    tx,
  );
}

/** Returns the key of a live token of the browser; undefined if it has ended. */
export async function findBrowserKey(
  tx: Tx,
  { userId, sessionId }: OfSession,
  tokenHash: Buffer,
): Promise<string | undefined> {
  const { rows } = await sql<{ key_id: string }>`
    select key_id from session_tokens
    where user_id = ${userId} and token_hash = ${tokenHash} and session_id = ${sessionId} and kind = 'browser'
      and expires_at > now()`.execute(tx);
  return rows[0]?.key_id;
}

/** Adds a token of the browser to a session, whose row the caller has locked. */
export async function insertBrowserToken(tx: Tx, about: OfSession, browser: BrowserRow): Promise<void> {
  await sql`
    with ${replacedBy(about, browser)}
    insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at, acr, amr,
      auth_time)
    values ${rowOf(about, browser.row)}`.execute(tx);
}

/**
 * Keeps the session's newest refresh tokens, with the session for as long as the newest of them, at most until `end.ofSession`. The clean-up keeps the rows of
 * the others until their signed expiry: without a row, a token counts as exchanged, and its use would end the session.
 */
export async function endOldestRefreshTokens(
  tx: Tx,
  { userId, sessionId }: OfSession,
  { limit, end }: { limit: number; end: { ofToken: Date; ofSession: Date | null } },
): Promise<void> {
  await sql`
    with live as (
      select token_hash, expires_at, row_number() over (order by issued_at desc, jti desc) as place
      from session_tokens
      where user_id = ${userId} and session_id = ${sessionId} and kind = 'refresh' and expires_at > now()
        and rotated_at is null
    ), kept as (
      update sessions set expires_at = least(
        greatest(expires_at, ${end.ofToken}::timestamptz), ${end.ofSession}::timestamptz)
      where id = ${sessionId} and user_id = ${userId}
    )
    update session_tokens t set signed_expires_at = t.expires_at, expires_at = now() from live
    where t.user_id = ${userId} and t.token_hash = live.token_hash and live.place > ${limit}`.execute(tx);
}

/**
 * Locks the user's row, so that of two transactions that end the same session only one counts it. Returns the email of
 * the user; undefined if there is none.
 */
export async function lockOwner(tx: Tx, userId: string): Promise<string | undefined> {
  const { rows } = await sql<{ email: string }>`
    select email from users where id = ${userId} for no key update`.execute(tx);
  return rows[0]?.email;
}

/** Ends these sessions of the user and returns the ids of those that were live. Their tokens are removed later. */
export const revokeSessions = async (
  tx: Tx,
  userId: string,
  ids: readonly string[],
  reason: string,
): Promise<string[]> => (await endSessions(tx, userId, ids, reason)).map(({ id }) => id);

/** As `revokeSessions`, for one session. Returns with what it began; undefined if it was not live. */
export const revokeSessionOfOrigin = async (
  tx: Tx,
  userId: string,
  id: string,
  reason: string,
): Promise<SessionOrigin | undefined> => (await endSessions(tx, userId, [id], reason))[0];

async function endSessions(
  tx: Tx,
  userId: string,
  ids: readonly string[],
  reason: string,
): Promise<({ id: string } & SessionOrigin)[]> {
  const { rows } = await sql<{ id: string } & SessionOrigin>`
    with ended as (
      update sessions s set revoked_at = clock_timestamp(), revoked_reason = ${reason}
      from users u
      where s.id = any(${ids}::uuid[]) and s.user_id = ${userId} and u.id = s.user_id
        and s.revoked_at is null and s.epoch = u.session_epoch
      returning s.id, s.identity_id, s.provider_sid, s.provider_id_token_sealed, s.expires_at > now() as live
    ), noted as (
      insert into session_ends (user_id, session_id, reason) select ${userId}, id, ${reason} from ended
    )
    select id, identity_id, provider_sid, provider_id_token_sealed from ended where live`.execute(tx);
  return rows;
}

/**
 * Ends the live ones among these sessions; with `unusedSince`, only those that were last used before that time. The rows of
 * their users must be locked. Returns what ended, by user.
 */
export async function revokeLiveSessions(
  tx: Tx,
  ids: readonly string[],
  reason: string,
  unusedSince: string | null,
): Promise<EndedSessions[]> {
  // If a refresh has locked a session's row, the statement waits, and then compares `last_used_at` again.
  const { rows } = await sql<EndedSessions>`
    with ended as (
      update sessions s set revoked_at = clock_timestamp(), revoked_reason = ${reason}
      from users u
      where s.id = any(${ids}::uuid[]) and u.id = s.user_id
        and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
        and (${unusedSince}::timestamptz is null or s.last_used_at < ${unusedSince}::timestamptz)
      returning s.id, s.user_id, s.created_at
    ), noted as (
      insert into session_ends (user_id, session_id, reason) select user_id, id, ${reason} from ended
    )
    select user_id, count(*)::integer as count,
      (array_agg(id order by created_at desc, id desc))[1:${sql.lit(MAX_LISTED)}] as ids
    from ended group by user_id`.execute(tx);
  return rows;
}

export type EndedSessions = {
  user_id: string;
  /** Live sessions that ended, counted up to `MAX_COUNTED`. */
  count: number;
  /** The newest of them, at most `MAX_LISTED`. */
  ids: string[];
};

/** Maximum ids of ended sessions in one audit entry. */
const MAX_LISTED = 100;
/** Counting more sessions of one user would delay their end. */
const MAX_COUNTED = 10_000;

/** `keepsTokens`: personal access tokens go on. Whatever does not say so ends them, as an instance that knows none does. */
export type Ending = { keepsTokens?: boolean };

/** Common table expression beside `begun`: the live personal access tokens get the new epoch. */
const keptTokens = sql`
  kept as (
    update personal_tokens t set user_epoch = begun.session_epoch from begun
    where t.user_id = begun.id and t.user_epoch = begun.session_epoch - 1 and t.revoked_at is null
  ),`;

/**
 * Ends every session of the users with a new epoch, and their personal access tokens unless it keeps those: one small write per user, however many sessions they have. The
 * users' rows must have been locked in an earlier statement; otherwise the counts may be stale. Returns what ended of each user, also of
 * those who had no session.
 */
export async function endEpochs(
  tx: Tx,
  userIds: readonly string[],
  reason: string,
  { keepsTokens = false }: Ending = {},
): Promise<EndedSessions[]> {
  // The range and the order begin with the user, so the planner reads an index and stops early. With an equality, it would
  // expect so few sessions that it reads and sorts them all, or so many that it reads the whole table.
  const { rows } = await sql<EndedSessions>`
    with begun as (
      update users set session_epoch = session_epoch + 1 where id = any(${userIds}::uuid[])
      returning id, session_epoch
    ), ended as (
      select id as user_id, session_epoch,
             count_open_sessions(id, session_epoch - 1, ${MAX_COUNTED}) as count,
             array(
               select s.id from sessions s
               where s.user_id >= begun.id and s.user_id <= begun.id and s.revoked_at is null
                 and s.epoch = begun.session_epoch - 1 and s.expires_at > now()
               order by s.user_id desc, s.created_at desc limit ${MAX_LISTED}) as ids
      from begun
    ), ${keepsTokens ? keptTokens : sql``} noted as (
      insert into session_ends (user_id, before_epoch, reason)
      select user_id, session_epoch, ${reason} from ended where count > 0
    )
    select user_id, count, ids from ended`.execute(tx);
  return rows;
}

/** Takes a session that lived in the epoch before along into the present one. Returns whether it lives on. */
export async function carryOver(tx: Tx, userId: string, sessionId: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update sessions s set epoch = u.session_epoch from users u
    where s.id = ${sessionId} and s.user_id = ${userId} and u.id = s.user_id
      and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch - 1, u.is_active)`.execute(tx);
  return numAffectedRows === 1n;
}

export type HeldSession = Pick<Row<'sessions'>, 'proof' | 'device_id' | 'created_at'> & SessionOrigin;

/**
 * Locks the session and returns how it began; undefined if it is not live. It stays live while the transaction also holds the
 * user's row lock.
 */
export async function lockLiveSession(
  tx: Tx,
  userId: string,
  sessionId: string,
): Promise<HeldSession | undefined> {
  const { rows } = await sql<HeldSession>`
    select s.proof, s.device_id, s.created_at, s.identity_id, s.provider_sid, s.provider_id_token_sealed
    from sessions s join users u on u.id = s.user_id
    where s.id = ${sessionId} and s.user_id = ${userId} and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
    for no key update of s`.execute(tx);
  return rows[0];
}

/** Returns the device that the session began on; null if it is not known. */
export async function findSessionDevice(db: Db, sessionId: string): Promise<string | null> {
  const { rows } = await sql<Pick<Row<'sessions'>, 'device_id'>>`
    select device_id from sessions where id = ${sessionId}`.execute(db);
  return rows[0]?.device_id ?? null;
}

/** Returns the id of the live session of a refresh token of this user. */
export async function findSessionIdByRefreshToken(
  db: Db,
  userId: string,
  tokenHash: Buffer,
): Promise<string | undefined> {
  const { rows } = await sql<{ session_id: string }>`
    select t.session_id
    from session_tokens t cross join lateral (select * from sessions s where s.id = t.session_id offset 0) s
    join users u on u.id = t.user_id
    where t.user_id = ${userId} and t.token_hash = ${tokenHash} and s.user_id = t.user_id and t.kind = 'refresh' and t.expires_at > now()
      and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)`.execute(db);
  return rows[0]?.session_id;
}

/** Returns the kind and the session of an access or refresh token of this user, or of who acts as the user, that is on the allowlist, if its session is live. */
export async function findLiveToken(
  db: Db,
  userId: string,
  tokenHash: Buffer,
): Promise<Pick<Row<'session_tokens'>, 'kind' | 'session_id'> | undefined> {
  const { rows } = await sql<Pick<Row<'session_tokens'>, 'kind' | 'session_id'>>`
    select t.kind, t.session_id
    from session_tokens t cross join lateral (select * from sessions s where s.id = t.session_id offset 0) s
    join users u on u.id = t.user_id
    where t.user_id = ${userId} and t.token_hash = ${tokenHash} and s.user_id = t.user_id and t.kind in ('access', 'refresh', 'acting')
      and t.expires_at > now() and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
      and ${sql.raw(isOfTrustedKey)}`.execute(db);
  return rows[0];
}

/** Ends one access token of this user, and returns whether it had not expired. The clean-up removes its row. */
export async function expireAccessToken(db: Db, userId: string, tokenHash: Buffer): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    update session_tokens set expires_at = now()
    where user_id = ${userId} and token_hash = ${tokenHash} and kind in ('access', 'acting') and expires_at > now()`.execute(
    db,
  );
  return numAffectedRows > 0n;
}

export type LiveSession = Pick<
  Row<'sessions'>,
  | 'id'
  | 'origin_address'
  | 'origin_network'
  | 'is_new_network'
  | 'last_address'
  | 'user_agent'
  | 'created_at'
  | 'last_used_at'
  | 'expires_at'
  | 'proof'
> &
  ShownProvider &
  ShownActor;

/** The live sessions of a user. The first condition repeats a part of the last one, because it is the index's. */
const liveSessionsOf = (userId: string) => sql`
  sessions s join users u on u.id = s.user_id
  where s.revoked_at is null and s.user_id = ${userId}
    and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
    and ${sql.raw(isActorLive)}`;

export async function countLiveSessions(db: Db, userId: string): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from ${liveSessionsOf(userId)}`.execute(db);
  return rows[0]?.total ?? 0;
}

/** Returns one page of the user's live sessions, newest first. */
export async function listLiveSessions(db: Db, userId: string, page: PageQuery): Promise<LiveSession[]> {
  const { rows } = await sql<LiveSession>`
    select s.id, s.origin_address, s.origin_network, s.is_new_network, s.last_address, s.user_agent, s.created_at, s.last_used_at, s.expires_at,
      s.proof, ${sql.raw(providerColumn)}, ${sql.raw(shownActorColumn)}
    from ${liveSessionsOf(userId)}
    order by s.created_at desc, s.id desc limit ${page.size} offset ${offsetOf(page)}`.execute(db);
  return rows;
}
