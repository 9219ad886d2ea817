// Ends a user's token at the request of its holder (RFC 7009).
// It must not tell the holder whether anything ended.
import { inTransaction } from '../../platform/db/transaction.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Gate } from '../../platform/limits/gate.ts';
import { peekClaims, readSigned, tokenHash } from '../../platform/security/jwt.ts';
import type { Tx } from '../../schema/database.ts';
import { recordEvent } from '../audit/service.ts';
import { revokeSessionOfUnlisted } from './refresh-store.ts';
import type { SessionDeps } from './service.ts';
import { expireAccessToken, findLiveToken, lockOwner, revokeSessions } from './store.ts';

export type TokenRevocationDeps = SessionDeps & {
  /** Limits parallel revocations of one session, because each waits for a row lock on a connection. */
  exchangeGate: Gate;
};

type Presented = { userId: string; hash: Buffer; sessionId: string };

/**
 * Ends a live access token alone, and with a refresh token its whole session. That includes a refresh token that was
 * exchanged: its holder wants the sign-in to end, and its use anywhere else would end the session as well. Does
 * nothing for any other text. Throws GateFullError if too many revocations of one session wait.
 */
export async function revokeUserToken(
  deps: TokenRevocationDeps,
  client: Client,
  token: string,
): Promise<void> {
  const userId = peekClaims(token)?.sub;
  if (userId === undefined) return;
  const hash = tokenHash(token);
  const listed = await findLiveToken(deps.db, userId, hash);
  if (!listed) return revokeUnlisted(deps, client, token);
  const presented = { userId, hash, sessionId: listed.session_id };
  if (listed.kind !== 'refresh') return endAccessToken(deps, client, presented);
  await endSession(deps, client, presented, async (tx) => {
    const revoked = await revokeSessions(tx, userId, [presented.sessionId], 'logout');
    return revoked.length > 0;
  });
}

/** An exchanged refresh token loses its row, but its signature still names the session. */
async function revokeUnlisted(deps: TokenRevocationDeps, client: Client, token: string): Promise<void> {
  const signed = readSigned(token, 'refresh', deps.keyRing.publicKeys());
  if (!signed.ok) return;
  const { claims } = signed;
  const hash = tokenHash(token);
  await endSession(deps, client, { userId: claims.sub, hash, sessionId: claims.sid }, (tx) =>
    revokeSessionOfUnlisted(tx, claims, hash, 'logout'),
  );
}

async function endAccessToken(
  deps: TokenRevocationDeps,
  client: Client,
  { userId, hash, sessionId }: Presented,
): Promise<void> {
  if (!(await expireAccessToken(deps.db, userId, hash))) return;
  await recordEvent(deps, client, {
    action: 'access_token_revoked',
    actorId: userId,
    resourceId: userId,
    details: { session_id: sessionId },
  });
}

/** `end` returns whether the session was live until then. */
async function endSession(
  deps: TokenRevocationDeps,
  client: Client,
  { userId, sessionId }: Presented,
  end: (tx: Tx) => Promise<boolean>,
): Promise<void> {
  const ended = await deps.exchangeGate.run(sessionId, client, () =>
    inTransaction(deps.db, async (tx) => {
      const email = await lockOwner(tx, userId);
      return (await end(tx)) ? { email } : undefined;
    }),
  );
  if (!ended) return;
  await recordEvent(deps, client, {
    action: 'logout',
    actorId: userId,
    resourceId: userId,
    details: { email: ended.email, session_id: sessionId },
  });
}
