// Ends sessions: one, those of a user but one, or all of them. A session whose row says so is over at the next request.
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { tokenHash } from '../../platform/security/jwt.ts';
import type { Tx } from '../../schema/database.ts';
import { type Audited, recordEvent } from '../audit/service.ts';
import {
  carryOver,
  type EndedSessions,
  type Ending,
  endEpochs,
  findSessionIdByRefreshToken,
  lockOwner,
  revokeSessionOfOrigin,
  revokeSessions,
  type SessionOrigin,
} from './store.ts';

/** The parts of a caller that operations on their own sessions need. */
type SessionOwner = {
  client: Client;
  principal: { id: string; email: string; session: { readonly id: string } };
};

/** Ends one live session. Returns its audit event without the actor. Throws `session_not_found`. */
export async function revokeSession(tx: Tx, userId: string, sessionId: string) {
  await lockOwner(tx, userId);
  const revoked = await revokeSessions(tx, userId, [sessionId], 'revoked');
  if (revoked.length === 0) throw new AppError('session_not_found');
  return {
    action: 'session_revoked',
    resourceId: userId,
    details: { session_id: sessionId, reason: 'revoked' },
  } as const;
}

/** Ends one of the user's own sessions. Throws `session_not_found` if the user has no such live session. */
export async function revokeOwnSession(
  deps: Audited,
  { client, principal }: SessionOwner,
  sessionId: string,
): Promise<void> {
  const event = await inTransaction(deps.db, (tx) => revokeSession(tx, principal.id, sessionId));
  await recordEvent(deps, client, { ...event, actorId: principal.id });
}

/**
 * Ends the session of the refresh cookie if it belongs to the user, otherwise the session of the access token. Returns with what
 * the session began; undefined if it was over.
 */
export async function logout(
  deps: Audited,
  { client, principal }: SessionOwner,
  refreshCookie: string | undefined,
): Promise<SessionOrigin | undefined> {
  const fromCookie =
    refreshCookie === undefined
      ? undefined
      : await findSessionIdByRefreshToken(deps.db, principal.id, tokenHash(refreshCookie));
  const sessionId = fromCookie ?? principal.session.id;
  const origin = await inTransaction(deps.db, async (tx) => {
    await lockOwner(tx, principal.id);
    return revokeSessionOfOrigin(tx, principal.id, sessionId, 'logout');
  });
  await recordEvent(deps, client, {
    action: 'logout',
    actorId: principal.id,
    resourceId: principal.id,
    details: { email: principal.email, session_id: sessionId },
  });
  return origin;
}

/**
 * Ends the session of a browser for its user, who presents no access token. `details`: more of them for the audit entry. Returns
 * with what the session began. Does nothing, and returns undefined, if it has ended.
 */
export async function signOut(
  deps: Audited,
  client: Client,
  { userId, sessionId }: { userId: string; sessionId: string },
  details: Record<string, unknown>,
): Promise<SessionOrigin | undefined> {
  const ended = await inTransaction(deps.db, async (tx) => {
    const email = await lockOwner(tx, userId);
    const origin = await revokeSessionOfOrigin(tx, userId, sessionId, 'logout');
    return origin && { email, origin };
  });
  if (!ended) return undefined;
  await recordEvent(deps, client, {
    action: 'logout',
    actorId: userId,
    resourceId: userId,
    details: { email: ended.email, session_id: sessionId, ...details },
  });
  return ended.origin;
}

/**
 * Returns where the browser goes on to after a sign-out, so that the person is signed out at the provider of the session, too; null
 * where there is nothing to do. `keepNext`: keeps where it goes from there, and returns the id of that; without it, a page says that
 * the person is signed out.
 */
export type SignOutUpstream = (
  origin: SessionOrigin,
  keepNext?: () => Promise<string>,
) => Promise<string | null>;

export async function logoutEverywhere(deps: Audited, { client, principal }: SessionOwner): Promise<void> {
  const ended = await inTransaction(deps.db, async (tx) => {
    await lockOwner(tx, principal.id);
    return endAllSessions(tx, principal.id, 'logout_all', { keepsTokens: true });
  });
  await recordEvent(deps, client, {
    action: 'logout_all',
    actorId: principal.id,
    resourceId: principal.id,
    details: { email: principal.email, sessions: ended.count },
  });
}

/**
 * Ends every session and every personal access token of a user in the transaction of the change that requires it, such as a new
 * password or a deactivation. With `keepsTokens`, the tokens go on. The caller must have locked the user's row. Returns how many were live, and the newest 100 ids.
 */
export async function endAllSessions(
  tx: Tx,
  userId: string,
  reason: string,
  ending: Ending = {},
): Promise<Pick<EndedSessions, 'count' | 'ids'>> {
  const [ended] = await endEpochs(tx, [userId], reason, ending);
  return ended ?? { count: 0, ids: [] };
}

/**
 * Ends every session of a user but one, as `endAllSessions`: also what hangs on all of them, such as trust in devices and what
 * applications were given. Returns how many ended. If the one has ended before, none stays.
 */
export async function endOtherSessions(
  tx: Tx,
  userId: string,
  keptId: string,
  reason: string,
): Promise<number> {
  const { count } = await endAllSessions(tx, userId, reason);
  return (await carryOver(tx, userId, keptId)) ? count - 1 : count;
}

/**
 * Ends every session of several users, as `endAllSessions`, in one statement. Returns how many were live, by user id.
 */
export async function endSessionsOfUsers(
  tx: Tx,
  userIds: readonly string[],
  reason: string,
): Promise<ReadonlyMap<string, number>> {
  const ended = await endSessionsOfEach(tx, userIds, reason);
  return new Map(ended.filter(({ count }) => count > 0).map(({ user_id, count }) => [user_id, count]));
}

/** As `endSessionsOfUsers`. Returns what ended of each user, also of those who had no session. */
export const endSessionsOfEach = async (
  tx: Tx,
  userIds: readonly string[],
  reason: string,
): Promise<EndedSessions[]> => (userIds.length === 0 ? [] : endEpochs(tx, userIds, reason));
