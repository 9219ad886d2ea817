// Exchanges a refresh token: rotating on the body path, for an access token alone on the cookie path.
// A refusal that must last (a revoked session) is committed first and thrown afterwards.
import type { Tx } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { networkOf } from '../../platform/security/client-address.ts';
import { peekClaims, tokenHash } from '../../platform/security/jwt.ts';
import { recordBounded, recordEvent } from '../audit/service.ts';
import type { SessionDeps } from './service.ts';
import {
  findRefreshToken,
  findTokenByJti,
  insertTokens,
  lockSessionOfRefreshToken,
  markRotated,
  type RefreshToken,
  revokeSessions,
  type SessionOfToken,
  touchSession,
} from './store.ts';
import { createToken, rewriteToken } from './tokens.ts';

type Refused = {
  refused: 'unknown' | 'refresh_origin_network_mismatch' | 'refresh_token_reuse';
  userId: string | null;
  details: Record<string, unknown>;
};
type Refreshed = { userId: string; sessionId: string; accessToken: string; refreshToken: string };

/** `rotate` false leaves the refresh token as it is and answers it again. Throws `refresh_token_invalid` (401). */
export async function refreshSession(
  deps: SessionDeps,
  client: Client,
  refreshToken: string,
  options: { rotate: boolean },
): Promise<Refreshed> {
  const claims = peekClaims(refreshToken);
  const outcome: Refreshed | Refused = claims
    ? await inTransaction(deps.db, (tx) =>
        exchange(tx, deps, client, claims.sub, refreshToken, options.rotate),
      )
    : { refused: 'unknown', userId: null, details: {} };
  if ('refused' in outcome) {
    await recordRefusal(deps, client, outcome);
    throw new AppError('refresh_token_invalid');
  }
  await recordEvent(deps, client, {
    action: 'session_refreshed',
    actorId: outcome.userId,
    resourceId: outcome.userId,
    details: { session_id: outcome.sessionId, rotated: options.rotate },
  });
  return outcome;
}

async function exchange(
  tx: Tx,
  deps: SessionDeps,
  client: Client,
  userId: string,
  refreshToken: string,
  rotate: boolean,
): Promise<Refreshed | Refused> {
  const hash = tokenHash(refreshToken);
  const session = await lockSessionOfRefreshToken(tx, userId, hash);
  const token = session && (await findRefreshToken(tx, userId, hash, deps.settings.refreshReuseSeconds));
  if (!session || !token) return { refused: 'unknown', userId: null, details: {} };

  const fault = faultOf(deps, client, session, token);
  if (fault) {
    await revokeSessions(tx, userId, { ids: [session.session_id] }, fault.refused);
    return fault;
  }
  const about = { userId, sessionId: session.session_id, now: session.now };
  const access = createToken(deps, 'access', about);
  await insertTokens(tx, userId, session.session_id, [access.row]);
  const answer = { userId, sessionId: session.session_id, accessToken: access.text };
  if (!rotate) {
    await touchSession(tx, session.session_id, null);
    return { ...answer, refreshToken };
  }
  if (token.successor_jti !== null) {
    const successor = await findTokenByJti(tx, userId, token.successor_jti);
    const text =
      successor && rewriteToken(deps, 'refresh', { ...about, jti: token.successor_jti, ...successor });
    if (text === undefined)
      return { refused: 'unknown', userId, details: { session_id: session.session_id } };
    await touchSession(tx, session.session_id, null);
    return { ...answer, refreshToken: text };
  }
  const successor = createToken(deps, 'refresh', about);
  await insertTokens(tx, userId, session.session_id, [successor.row]);
  await markRotated(tx, userId, hash, successor.row.jti);
  await touchSession(tx, session.session_id, successor.row.expires_at);
  return { ...answer, refreshToken: successor.text };
}

function faultOf(
  deps: SessionDeps,
  client: Client,
  session: SessionOfToken,
  token: RefreshToken,
): Refused | null {
  const origin = session.origin_address;
  if (deps.settings.validateTokenIp && origin !== null && networkOf(origin) !== networkOf(client.address))
    return {
      refused: 'refresh_origin_network_mismatch',
      userId: session.user_id,
      details: { session_id: session.session_id, origin_address: origin },
    };
  if (token.reused)
    return {
      refused: 'refresh_token_reuse',
      userId: session.user_id,
      details: { session_id: session.session_id },
    };
  return null;
}

async function recordRefusal(deps: SessionDeps, client: Client, outcome: Refused): Promise<void> {
  const about = { actorId: outcome.userId, resourceId: outcome.userId ?? '' };
  if (outcome.refused !== 'unknown')
    await recordEvent(deps, client, { action: outcome.refused, ...about, details: outcome.details });
  await recordBounded(deps, client, {
    action: 'refresh_failed',
    ...about,
    details: { ...outcome.details, reason: outcome.refused },
  });
}
