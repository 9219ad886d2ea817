// Exchanges a refresh token. A token from the body is rotated; a token from the cookie only gets a new access token.
// If a refusal revokes the session, the transaction commits before the error is thrown.
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Gate } from '../../platform/limits/gate.ts';
import { rateLimitHeaders } from '../../platform/limits/rate-limit.ts';
import { peekClaims, readSigned, tokenHash } from '../../platform/security/jwt.ts';
import { isFirstOfFamily, strayedFrom } from '../../platform/security/session-origin.ts';
import type { Tx } from '../../schema/database.ts';
import { contextIn } from '../../schema/token-context.ts';
import { recordBounded, recordEvent } from '../audit/service.ts';
import { createBrowserToken, presentedTo } from './browser/token.ts';
import {
  findListedToken,
  findSuccessor,
  type ListedToken,
  lockSession,
  markRotated,
  revokeSessionOfUnlisted,
  touchSession,
} from './refresh-store.ts';
import type { SessionDeps } from './service.ts';
import { insertTokens, revokeSessions } from './store.ts';
import { createToken, endUnlessRefreshed, lastEndOf, rewriteToken } from './tokens.ts';

export type RefreshDeps = SessionDeps & {
  /** Limits parallel exchanges of one session, because each would hold a connection while waiting for the row lock. */
  exchangeGate: Gate;
};

/** The refusals that are events of their own. */
const securityEvents = ['refresh_origin_network_mismatch', 'refresh_token_reuse'] as const;
type SecurityEvent = (typeof securityEvents)[number];

type Refused = {
  refused: 'unknown' | 'session_expired' | SecurityEvent;
  userId: string | null;
  details: Record<string, unknown>;
};
type Refreshed = {
  userId: string;
  sessionId: string;
  accessToken: string;
  refreshToken: string;
  /** The client's address is now the session's origin of its address family. */
  isNewOrigin: boolean;
  /** The value of the cookie of the browser session, if the browser gets a new one. */
  browserToken?: string;
};
type Presented = { userId: string; text: string; hash: Buffer };
type Options = {
  /** False: the token stays as it is. */
  rotate: boolean;
  /** Whether a browser presents the token in its cookie, and gets a browser session if it lacks that of this session. */
  fromCookie?: boolean;
};
/** A presented token of a session. */
type Exchange = Presented & Options & { sessionId: string };

const unknownToken: Refused = { refused: 'unknown', userId: null, details: {} };

/**
 * Returns new tokens of the session; with `rotate` false it returns the same refresh token. Throws
 * `refresh_token_invalid` (401), `rate_limited` (429) if the session exceeds RATE_LIMIT_REFRESH, and GateFullError if
 * too many exchanges wait.
 */
export async function refreshSession(
  deps: RefreshDeps,
  client: Client,
  refreshToken: string,
  options: Options,
): Promise<Refreshed> {
  const outcome = await judge(deps, client, refreshToken, options);
  if ('refused' in outcome) {
    await recordRefusal(deps, client, outcome);
    throw new AppError('refresh_token_invalid');
  }
  await recordEvent(deps, client, {
    action: 'session_refreshed',
    actorId: outcome.userId,
    resourceId: outcome.userId,
    details: {
      session_id: outcome.sessionId,
      rotated: options.rotate,
      ...(outcome.isNewOrigin ? { new_origin: true } : {}),
    },
  });
  return outcome;
}

async function judge(
  deps: RefreshDeps,
  client: Client,
  refreshToken: string,
  options: Options,
): Promise<Refreshed | Refused> {
  const claims = peekClaims(refreshToken);
  if (!claims) return unknownToken;
  const presented = { userId: claims.sub, text: refreshToken, hash: tokenHash(refreshToken) };
  const listed = await findListed(deps, deps.db, presented);
  if (!listed) return judgeUnlisted(deps, client, presented);
  const { session_id: sessionId, reused } = listed;
  // Only a token on the allowlist gets here, so nobody else can block a session or use up its limit.
  const outcome = await deps.exchangeGate.run(sessionId, client, async () => {
    if (!reused) await countExchange(deps, client, presented.userId, sessionId);
    return inTransaction(deps.db, (tx) =>
      exchange(tx, deps, client, { ...presented, ...options, sessionId }),
    );
  });
  return outcome ?? judgeUnlisted(deps, client, presented);
}

const findListed = (
  deps: SessionDeps,
  db: SessionDeps['db'],
  { userId, hash }: Presented,
  browserHash?: Buffer,
): Promise<ListedToken | undefined> =>
  findListedToken(db, userId, hash, { reuseSeconds: deps.settings.refreshReuseSeconds, browserHash });

/**
 * Ends the session if a token without a row was signed by this service: the token was exchanged before and its row was
 * removed. Checks only the signature, because the issuer differs if PUBLIC_URL was changed.
 */
async function judgeUnlisted(deps: RefreshDeps, client: Client, { text, hash }: Presented): Promise<Refused> {
  const refused = 'refresh_token_reuse';
  const signed = readSigned(text, 'refresh', deps.keyRing.publicKeys());
  if (!signed.ok) return unknownToken;
  const { claims } = signed;
  const revoked = await deps.exchangeGate.run(claims.sid, client, () =>
    revokeSessionOfUnlisted(deps.db, claims, hash, refused),
  );
  return revoked ? { refused, userId: claims.sub, details: { session_id: claims.sid } } : unknownToken;
}

async function countExchange(
  deps: SessionDeps,
  client: Client,
  userId: string,
  sessionId: string,
): Promise<void> {
  const rule = deps.settings.rateLimitRefresh;
  if (!rule) return;
  const result = await deps.limiter.hit(`refresh|session:${sessionId}`, rule);
  if (result.allowed) return;
  await recordBounded(deps, client, {
    action: 'rate_limited',
    actorId: userId,
    resourceId: userId,
    details: { limit: 'refresh', session_id: sessionId },
  });
  throw new AppError('rate_limited', {
    retryAfterSeconds: result.resetSeconds,
    headers: rateLimitHeaders(result),
  });
}

/** Returns undefined if the token is no longer on the allowlist. */
async function exchange(
  tx: Tx,
  deps: SessionDeps,
  client: Client,
  presented: Exchange,
): Promise<Refreshed | Refused | undefined> {
  const { userId, text, hash, sessionId, rotate, fromCookie = false } = presented;
  const browser = fromCookie ? presentedTo(deps, client, userId) : undefined;
  await lockSession(tx, userId, sessionId);
  // Read again under the lock: a parallel exchange may have been faster, or the session may have ended.
  const token = await findListed(deps, tx, presented, browser?.presented?.hash);
  if (!token) return undefined;
  const fault = faultOf(deps, client, userId, token);
  if (fault) {
    await revokeSessions(tx, userId, [sessionId], fault.refused);
    return fault;
  }
  // The row lock decides between two that are the first of their family: the second one reads what the first one left.
  const otherOrigin = isFirstOfFamily(deps.settings, client, token) ? client.address : null;
  const use = { address: client.address, otherOrigin };
  const { now, began } = token;
  const about = { userId, sessionId, now, began, context: contextIn(token) };
  const access = createToken(deps, 'access', about);
  const answer = { userId, sessionId, accessToken: access.text, isNewOrigin: otherOrigin !== null };
  if (rotate && !token.exchanged) {
    const successor = createToken(deps, 'refresh', about);
    await insertTokens(tx, about, { access: access.row, refresh: successor.row });
    await markRotated(tx, { userId, sessionId, tokenHash: hash }, successor.row, {
      reuseSeconds: deps.settings.refreshReuseSeconds,
      isNewKey: successor.row.key_id !== token.key_id,
    });
    const end = endUnlessRefreshed(deps.settings, { now, began, tokenEnd: successor.row.expires_at });
    await touchSession(tx, presented, { ...use, expiresAt: end });
    return { ...answer, refreshToken: successor.text };
  }
  const refreshToken = rotate ? await writeSuccessorAgain(tx, deps, { userId, sessionId, hash }) : text;
  if (refreshToken === undefined) return { refused: 'unknown', userId, details: { session_id: sessionId } };
  const begun =
    browser && !token.has_browser
      ? createBrowserToken(deps, client, { ...about, keyId: token.key_id })
      : undefined;
  await insertTokens(tx, about, { access: access.row, browser: begun });
  // The session lasts as long as the longest of its refresh tokens.
  const tokenEnd = token.expires_at > token.session_expires_at ? token.expires_at : token.session_expires_at;
  const end = endUnlessRefreshed(deps.settings, { now, began, tokenEnd });
  await touchSession(tx, presented, { ...use, expiresAt: end });
  return { ...answer, refreshToken, ...(begun && { browserToken: begun.text }) };
}

async function writeSuccessorAgain(
  tx: Tx,
  deps: SessionDeps,
  { hash, ...about }: { userId: string; sessionId: string; hash: Buffer },
): Promise<string | undefined> {
  const successor = await findSuccessor(tx, about.userId, hash);
  return successor && rewriteToken(deps, 'refresh', { ...about, ...successor });
}

function faultOf(deps: SessionDeps, client: Client, userId: string, token: ListedToken): Refused | null {
  const { session_id } = token;
  const origin = strayedFrom(deps.settings, client, token);
  if (origin !== null)
    return {
      refused: 'refresh_origin_network_mismatch',
      userId,
      details: { session_id, origin_address: origin },
    };
  if (token.reused) return { refused: 'refresh_token_reuse', userId, details: { session_id } };
  // Of tokens that were issued before SESSION_MAX_DAYS was what it is: later ones expire in time.
  const end = lastEndOf(deps.settings, token.began);
  if (end && end <= token.now) return { refused: 'session_expired', userId, details: { session_id } };
  return null;
}

async function recordRefusal(deps: SessionDeps, client: Client, outcome: Refused): Promise<void> {
  const about = { actorId: outcome.userId, resourceId: outcome.userId ?? '' };
  const event = securityEvents.find((one) => one === outcome.refused);
  if (event !== undefined)
    await recordEvent(deps, client, { action: event, ...about, details: outcome.details });
  await recordBounded(deps, client, {
    action: 'refresh_failed',
    ...about,
    details: { ...outcome.details, reason: outcome.refused },
  });
}
