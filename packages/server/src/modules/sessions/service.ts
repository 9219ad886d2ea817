// Starts, authenticates and lists sessions. Refreshing is in refresh.ts, ending in ends.ts.
// A token is valid only while its row is on the allowlist; a valid signature is not enough.

import { isProof, type Proof, sessionMethods } from '@castellan/contract/authentication';
import type { PageQuery, Pagination } from '@castellan/contract/common';
import type { ErrorCode } from '@castellan/contract/errors';
import type { Session } from '@castellan/contract/sessions';
import type { Clock } from '../../platform/clock.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import type { RateLimiter, RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { paginationOf } from '../../platform/pages.ts';
import { networkOf } from '../../platform/security/client-address.ts';
import { shownEmail } from '../../platform/security/email.ts';
import { type PeekedClaims, tokenHashText, verify } from '../../platform/security/jwt.ts';
import type { Tx } from '../../schema/database.ts';
import { type Context, type ContextColumns, contextIn } from '../../schema/token-context.ts';
import type { UserRow } from '../../schema/user-record.ts';
import type { AuditEvent, Audited } from '../audit/service.ts';
import type { BrowserCookieSettings } from './browser/cookie.ts';
import { createBrowserToken, presentedTo } from './browser/token.ts';
import type { KeyRing } from './keys/ring.ts';
import {
  countLiveSessions,
  endOldestRefreshTokens,
  findBrowserKey,
  type HeldSession,
  insertBrowserToken,
  insertSession,
  insertTokens,
  keepProviderOf,
  type LiveSession,
  listLiveSessions,
  revokeSessions,
  type SessionOrigin,
} from './store.ts';
import type { LiveToken, TokenLookup } from './token-lookup.ts';
import {
  accessAudience,
  createToken,
  endUnlessRefreshed,
  lastEndOf,
  limitOf,
  type TokenSettings,
} from './tokens.ts';

export {
  type Context,
  contextIn,
  contextOf,
  inSeconds,
  isAcr,
  provedByPassword,
} from '../../schema/token-context.ts';
export { type ActingDeps, startActing, stopActing } from './acting/acting.ts';
export {
  endAllSessions,
  endOtherSessions,
  endSessionsOfEach,
  endSessionsOfUsers,
  logout,
  logoutEverywhere,
  revokeOwnSession,
  revokeSession,
  type SignOutUpstream,
  signOut,
} from './ends.ts';
export {
  findSessionDevice,
  type HeldSession,
  lockLiveSession,
  revokeLiveSessions,
  type SessionOrigin,
} from './store.ts';

export type SessionDeps = Audited & {
  clock: Clock;
  keyRing: KeyRing;
  tokenLookup: TokenLookup;
  limiter: RateLimiter;
  settings: TokenSettings &
    BrowserCookieSettings & {
      concurrentSessionLimit: number;
      refreshReuseSeconds: number;
      validateTokenIp: boolean | 'by-family';
      rateLimitRefresh: RateLimitRule | null;
    };
};

/** The session that a caller acts in, and what the token of this call is worth. */
export type CurrentSession = { readonly id: string; readonly context: Context };

/** `browserToken`: the value of the cookie of the browser session; undefined while no application is active. */
export type SessionTokens = {
  sessionId: string;
  accessToken: string;
  refreshToken: string;
  browserToken?: string;
};

/** How a session begins. */
export type Beginning = {
  /** Id of the user. */
  id: string;
  /** The transaction's time. */
  now: Date;
  /** Whether it also counts as the latest sign-in. */
  isSignIn: boolean;
  /** The database refuses a session that an account with a factor begins without one. */
  proof: Proof;
  context: Context | null;
  /** The known device that it begins on; null if there is none. */
  deviceId: string | null;
  /** Of a session that begins with an identity. */
  origin?: SessionOrigin | undefined;
};

const noOrigin: SessionOrigin = { identity_id: null, provider_sid: null, provider_id_token_sealed: null };

/**
 * Starts a session with its tokens, and ends the oldest sessions beyond CONCURRENT_SESSION_LIMIT. The caller must
 * have locked the user's row. `revoked` holds the ids of the ended sessions, `record` the user as this transaction leaves them.
 */
export async function startSession(
  tx: Tx,
  deps: SessionDeps,
  { id: userId, now, isSignIn, proof, context, deviceId, origin = noOrigin }: Beginning,
  client: Client,
): Promise<{ tokens: SessionTokens; revoked: string[]; record: UserRow }> {
  const sessionId = newId();
  const about = { userId, sessionId, now, began: now, context };
  const access = createToken(deps, 'access', about);
  const refresh = createToken(deps, 'refresh', about);
  const browser = createBrowserToken(deps, client, { ...about, keyId: refresh.row.key_id });
  const session = {
    id: sessionId,
    user_id: userId,
    proof,
    device_id: deviceId,
    ...origin,
    origin_address: client.address,
    origin_network: networkOf(client.address),
    user_agent: client.userAgent,
    expires_at: endUnlessRefreshed(deps.settings, { ...about, tokenEnd: refresh.row.expires_at }),
  };
  const tokens = { access: access.row, refresh: refresh.row, browser };
  // What ends the sessions of a provider does not lock their users: it waits for this one, and then sees it.
  if (origin.identity_id !== null) await keepProviderOf(tx, origin.identity_id);
  const { beyond, ...record } = await insertSession(tx, session, tokens, {
    limit: deps.settings.concurrentSessionLimit,
    isSignIn,
  });
  const revoked = beyond.length > 0 ? await revokeSessions(tx, userId, beyond, 'session_limit') : [];
  return {
    tokens: textsOf(sessionId, { access, refresh, browser }),
    revoked,
    record,
  };
}

/** What new tokens of a live session are about. `began`: when the session began. */
type Going = { userId: string; sessionId: string; now: Date; began: Date; context: Context | null };

/** Throws `token_revoked` for a session that is older than SESSION_MAX_DAYS: a longer limit was in force when it was last refreshed. */
function requireTimeLeft({ settings }: SessionDeps, { now, began }: Going): void {
  const end = lastEndOf(settings, began);
  if (end && end <= now) throw new AppError('token_revoked');
}

/**
 * Adds tokens to a live session, which the caller has locked, and ends the oldest refresh tokens beyond four: a session
 * has some with different contexts, but not any number.
 */
export async function addTokens(
  tx: Tx,
  deps: SessionDeps,
  client: Client,
  about: Going,
): Promise<SessionTokens> {
  requireTimeLeft(deps, about);
  const { userId, sessionId } = about;
  const access = createToken(deps, 'access', about);
  const refresh = createToken(deps, 'refresh', about);
  const browser = createBrowserToken(deps, client, { ...about, keyId: refresh.row.key_id });
  await insertTokens(tx, { userId, sessionId }, { access: access.row, refresh: refresh.row, browser });
  const end = { ofToken: refresh.row.expires_at, ofSession: limitOf(deps.settings, about) };
  await endOldestRefreshTokens(tx, { userId, sessionId }, { limit: MAX_REFRESH_TOKENS, end });
  return textsOf(sessionId, { access, refresh, browser });
}

/**
 * Adds a token to the browser session that the client presents, and ends the one that it takes the place of. Returns its text;
 * undefined if the client presents none that lives.
 */
export async function addBrowserToken(
  tx: Tx,
  deps: SessionDeps,
  client: Client,
  about: Going,
): Promise<string | undefined> {
  requireTimeLeft(deps, about);
  const { userId, sessionId } = about;
  const replaced = presentedTo(deps, client, userId)?.presented?.hash;
  const keyId = replaced && (await findBrowserKey(tx, { userId, sessionId }, replaced));
  const browser = keyId === undefined ? undefined : createBrowserToken(deps, client, { ...about, keyId });
  if (browser) await insertBrowserToken(tx, { userId, sessionId }, browser);
  return browser?.text;
}

const textsOf = (
  sessionId: string,
  tokens: Record<'access' | 'refresh', { text: string }> & { browser: { text: string } | undefined },
): SessionTokens => ({
  sessionId,
  accessToken: tokens.access.text,
  refreshToken: tokens.refresh.text,
  ...(tokens.browser && { browserToken: tokens.browser.text }),
});

/** Live refresh tokens of one session. */
const MAX_REFRESH_TOKENS = 4;

/**
 * Returns how a session begins that takes the place of the caller's: with its proof, on its device, and with the context of
 * this call's token, never more. Trust in a device has ended by then.
 */
export function renewed(
  { proof, device_id: deviceId, created_at: _began, ...origin }: HeldSession,
  { record }: { record: ContextColumns },
): Pick<Beginning, 'proof' | 'context' | 'deviceId' | 'origin'> {
  const kept = proof !== null && isProof(proof) ? proof : 'password';
  return { proof: withoutTrust[kept] ?? kept, context: contextIn(record), deviceId, origin };
}

/** The proofs of sessions that go on although the trust in their device has ended. */
const withoutTrust: { [proof in Proof]?: Proof } = {
  'password+device': 'password+session',
  'provider+device': 'provider+session',
};

/** Returns the event of a session that the limit ended. */
export const capEvent = (userId: string, sessionId: string): AuditEvent => ({
  action: 'session_revoked',
  actorId: userId,
  resourceId: userId,
  details: { session_id: sessionId, reason: 'session_limit' },
});

/** Returns the token of an Authorization header (RFC 6750, section 2.1); undefined when it holds none. */
export const bearerToken = (authorization: string | undefined): string | undefined =>
  authorization === undefined ? undefined : /^bearer +([^\s]+)$/i.exec(authorization)?.[1];

/**
 * Returns the live token and its user. `claims` are those that `peekClaims` found. Throws 401: `token_invalid`,
 * `token_expired` or `token_revoked`.
 */
export async function authenticate(
  deps: SessionDeps,
  token: string,
  claims: PeekedClaims | null,
): Promise<LiveToken> {
  const live = claims ? await deps.tokenLookup(claims.sub, tokenHashText(token)) : undefined;
  if (!live) throw new AppError(refusalOf(deps, token));
  return live;
}

/** Returns why a token that is not live is refused. Verifying a signature takes 150 µs, so only refusals do it. */
export function refusalOf(deps: SessionDeps, token: string): ErrorCode {
  const verified = verify(token, 'access', deps.keyRing.publicKeys(), {
    issuer: deps.settings.publicUrl,
    audience: accessAudience(deps.settings),
    now: deps.clock.now(),
  });
  if (verified.ok) return 'token_revoked';
  return verified.reason === 'expired' ? 'token_expired' : 'token_invalid';
}

export type SessionList = { data: Session[]; pagination: Pagination };

/** Returns one page of the user's live sessions, newest first. Marks the session `currentId` as current. */
export async function listSessions(
  deps: SessionDeps,
  userId: string,
  currentId: string | null,
  page: PageQuery,
): Promise<SessionList> {
  const [total, rows] = await Promise.all([
    countLiveSessions(deps.db, userId),
    listLiveSessions(deps.db, userId, page),
  ]);
  return { data: rows.map((row) => toSession(row, currentId)), pagination: paginationOf(page, total) };
}

/** Converts a row to the session in the API. */
export const toSession = (row: LiveSession, currentId: string | null): Session => ({
  id: row.id,
  origin_address: row.origin_address,
  last_address: row.last_address,
  unusual_network: unusualNetwork(row),
  user_agent: row.user_agent,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
  current: row.id === currentId,
  ...methodsOf(row),
  ...(row.provider ? { provider: row.provider } : {}),
  ...(row.acted_by ? { acted_by: { ...row.acted_by, email: shownEmail(row.acted_by.email) } } : {}),
});

/** Returns what the session began with, if that is more than a password. */
function methodsOf({ proof }: LiveSession): Pick<Session, 'methods'> {
  if (proof === null || proof === 'password' || !isProof(proof)) return {};
  return { methods: [...sessionMethods[proof]] };
}

function unusualNetwork(row: LiveSession): Session['unusual_network'] {
  const { origin_network, last_address, is_new_network } = row;
  if (origin_network !== null && last_address !== null && networkOf(last_address) !== origin_network)
    return 'changed';
  return is_new_network ? 'new' : null;
}
