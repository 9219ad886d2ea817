// Sessions and their tokens: start, prove, list, end. Refreshing stands in refresh.ts.
// A token counts only while its row is on the allowlist; a signature alone opens nothing.

import type { ErrorCode } from '@castellan/contract/errors';
import type { Session } from '@castellan/contract/sessions';
import type { Db, Tx } from '../../database.ts';
import type { Clock } from '../../platform/clock.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import type { RateLimiter } from '../../platform/limits/rate-limit.ts';
import type { Logger } from '../../platform/log.ts';
import { peekClaims, tokenHash, verify } from '../../platform/security/jwt.ts';
import { recordEvent } from '../audit/service.ts';
import type { KeyRing } from './key-ring.ts';
import {
  findSessionIdByRefreshToken,
  findSessionsBeyond,
  insertSession,
  insertTokens,
  listLiveSessions,
  revokeSessions,
  revokeSessionsOfUsers,
} from './store.ts';
import type { LiveToken, TokenLookup } from './token-lookup.ts';
import { accessAudience, createToken, type TokenSettings } from './tokens.ts';

export { lockLiveSession, recordLastLogin } from './store.ts';

export type SessionDeps = {
  db: Db;
  log: Logger;
  clock: Clock;
  keyRing: KeyRing;
  tokenLookup: TokenLookup;
  limiter: RateLimiter;
  settings: TokenSettings & {
    concurrentSessionLimit: number;
    refreshReuseSeconds: number;
    validateTokenIp: boolean;
  };
};

export type SessionTokens = { sessionId: string; accessToken: string; refreshToken: string };

/**
 * A new session of a user whose row the caller has locked, with both its tokens. Over the cap the oldest go.
 * `now` is the transaction's time. Answers also the ids that went.
 */
export async function startSession(
  tx: Tx,
  deps: SessionDeps,
  user: { id: string; now: Date },
  client: Client,
): Promise<SessionTokens & { revoked: string[] }> {
  const sessionId = newId();
  const about = { userId: user.id, sessionId, now: user.now };
  const access = createToken(deps, 'access', about);
  const refresh = createToken(deps, 'refresh', about);
  await insertSession(tx, {
    id: sessionId,
    user_id: user.id,
    origin_address: client.address,
    user_agent: client.userAgent,
    expires_at: refresh.row.expires_at,
  });
  await insertTokens(tx, user.id, sessionId, [access.row, refresh.row]);
  const limit = deps.settings.concurrentSessionLimit;
  const beyond = limit > 0 ? await findSessionsBeyond(tx, user.id, limit, sessionId) : [];
  const revoked =
    beyond.length > 0 ? await revokeSessions(tx, user.id, { ids: beyond }, 'session_limit') : [];
  return { sessionId, accessToken: access.text, refreshToken: refresh.text, revoked };
}

/** After the commit of `startSession`: one event for each session that the cap ended. */
export async function recordCapRevocations(
  deps: SessionDeps,
  client: Client,
  userId: string,
  revoked: string[],
): Promise<void> {
  for (const sessionId of revoked)
    await recordEvent(deps, client, {
      action: 'session_revoked',
      actorId: userId,
      resourceId: userId,
      details: { session_id: sessionId, reason: 'session_limit' },
    });
}

/** Who sends this access token. Throws 401 with the code that tells missing, invalid, expired and revoked apart. */
export async function authenticate(deps: SessionDeps, authorization: string | undefined): Promise<LiveToken> {
  if (authorization === undefined) throw new AppError('token_missing');
  const token = /^bearer +([^\s]+)$/i.exec(authorization)?.[1];
  if (token === undefined) throw new AppError('token_invalid');
  const claims = peekClaims(token);
  const live = claims ? await deps.tokenLookup(claims.sub, tokenHash(token)) : undefined;
  if (!live) throw new AppError(refusalOf(deps, token));
  return live;
}

// Only here, off the hot path, is a signature worth its 150 µs: to tell the owner what became of his token.
function refusalOf(deps: SessionDeps, token: string): ErrorCode {
  const verified = verify(token, 'access', deps.keyRing.publicKeys(), {
    issuer: deps.settings.publicUrl,
    audience: accessAudience(deps.settings),
    now: deps.clock.now(),
  });
  if (verified.ok) return 'token_revoked';
  return verified.reason === 'expired' ? 'token_expired' : 'token_invalid';
}

/** The sessions' owner is `userId`; the session `currentId` is marked. Newest first. */
export async function listSessions(
  deps: SessionDeps,
  userId: string,
  currentId: string | null,
): Promise<Session[]> {
  const rows = await listLiveSessions(deps.db, userId);
  return rows.map((row) => ({
    id: row.id,
    origin_address: row.origin_address,
    user_agent: row.user_agent,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    current: row.id === currentId,
  }));
}

/** 404 when the user has no such live session. `entitle` is the first in the transaction. */
export async function revokeSession(
  deps: SessionDeps,
  client: Client,
  actorId: string,
  userId: string,
  sessionId: string,
  entitle?: (tx: Tx) => Promise<unknown>,
): Promise<void> {
  const revoked = await inTransaction(deps.db, async (tx) => {
    await entitle?.(tx);
    return revokeSessions(tx, userId, { ids: [sessionId] }, 'revoked');
  });
  if (revoked.length === 0) throw new AppError('session_not_found');
  await recordEvent(deps, client, {
    action: 'session_revoked',
    actorId,
    resourceId: userId,
    details: { session_id: sessionId, reason: 'revoked' },
  });
}

/** Ends the session of the refresh cookie when it is one of this user's, else the session of the access token. */
export async function logout(
  deps: SessionDeps,
  client: Client,
  live: LiveToken,
  refreshCookie: string | undefined,
): Promise<void> {
  const fromCookie =
    refreshCookie === undefined
      ? undefined
      : await findSessionIdByRefreshToken(deps.db, live.user_id, tokenHash(refreshCookie));
  const sessionId = fromCookie ?? live.session_id;
  await inTransaction(deps.db, (tx) => revokeSessions(tx, live.user_id, { ids: [sessionId] }, 'logout'));
  await recordEvent(deps, client, {
    action: 'logout',
    actorId: live.user_id,
    resourceId: live.user_id,
    details: { email: live.email, session_id: sessionId },
  });
}

export async function logoutEverywhere(deps: SessionDeps, client: Client, live: LiveToken): Promise<void> {
  const revoked = await inTransaction(deps.db, (tx) => endAllSessions(tx, live.user_id, 'logout_all'));
  await recordEvent(deps, client, {
    action: 'logout_all',
    actorId: live.user_id,
    resourceId: live.user_id,
    details: { email: live.email, sessions: revoked.length },
  });
}

/** Inside the change that makes them void: a new password, a deactivation. Answers the ids of those that were live. */
export const endAllSessions = (tx: Tx, userId: string, reason: string): Promise<string[]> =>
  revokeSessions(tx, userId, 'all', reason);

/** The same for several users, in two statements. Answers the users of those that were live, one entry a session. */
export const endSessionsOfUsers = (tx: Tx, userIds: readonly string[], reason: string): Promise<string[]> =>
  userIds.length === 0 ? Promise.resolve([]) : revokeSessionsOfUsers(tx, userIds, reason);
