// Another user's way in: the live sessions, the lock after failed logins, the mail that confirms the address.
import type { Session } from '@castellan/contract/sessions';
import type { User } from '@castellan/contract/users';
import type { Tx } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { recordChange, recordEvent } from '../audit/service.ts';
import type { Actor } from '../authz/guard.ts';
import { clearAttempts } from '../passwords/service.ts';
import { endAllSessions, listSessions, revokeSession } from '../sessions/service.ts';
import type { UserAdminDeps } from './administration.ts';
import { present } from './service.ts';
import { requireMayActOn } from './standing.ts';
import { findUserById } from './store.ts';

/** Newest first. Throws `user_not_found`. */
export async function listSessionsOf(deps: UserAdminDeps, actor: Actor, id: string): Promise<Session[]> {
  if (!(await findUserById(deps.db, id))) throw new AppError('user_not_found');
  return listSessions(deps, id, actor.session_id);
}

/** Answers how many were live. Throws 404, 403. */
export async function endSessionsOf(
  deps: UserAdminDeps,
  client: Client,
  actor: Actor,
  id: string,
): Promise<number> {
  const ended = await inTransaction(deps.db, async (tx) => {
    // The row's lock: a login under way comes wholly before or wholly after.
    await requireMayActOn(tx, actor, id);
    return endAllSessions(tx, id, 'revoked');
  });
  if (ended.length > 0)
    await recordEvent(deps, client, {
      action: 'session_revoked',
      actorId: actor.user_id,
      resourceId: id,
      details: { reason: 'administrator', session_ids: ended },
    });
  return ended.length;
}

/** Throws 404 (user, or no such live session of this user), 403. */
export async function endSessionOf(
  deps: UserAdminDeps,
  client: Client,
  actor: Actor,
  id: string,
  sessionId: string,
): Promise<void> {
  const entitle = (tx: Tx) => requireMayActOn(tx, actor, id);
  await revokeSession(deps, client, actor.user_id, id, sessionId, entitle);
}

/** Answers whether there was a lock. Failures counted so far are forgotten either way. Throws 404, 403. */
export async function unlockUser(
  deps: UserAdminDeps,
  client: Client,
  actor: Actor,
  id: string,
): Promise<{ user: User; wasLocked: boolean }> {
  const { record, wasLocked } = await inTransaction(deps.db, async (tx) => {
    const record = await requireMayActOn(tx, actor, id);
    return { record, wasLocked: await clearAttempts(tx, record.email) };
  });
  if (wasLocked)
    await recordEvent(deps, client, {
      action: 'account_unlocked',
      actorId: actor.user_id,
      resourceId: id,
      details: { email: record.email, reason: 'administrator' },
    });
  return { user: (await present(deps, record)).user, wasLocked };
}

/** Queues the mail. Throws 404, 403, 400 (verified already), 409 (not active: nobody would get it). */
export async function resendVerification(
  deps: UserAdminDeps,
  client: Client,
  actor: Actor,
  id: string,
): Promise<void> {
  await inTransaction(deps.db, async (tx) => {
    const user = await requireMayActOn(tx, actor, id);
    if (user.verified)
      throw new AppError('already_verified', {
        detail: 'The e-mail address of this user is verified already.',
      });
    if (!user.is_active)
      throw new AppError('conflict', { detail: 'The account is not active: no mail is sent to it.' });
    await deps.accountMail.enqueue(tx, 'verification', { email: user.email });
    await recordChange(tx, deps.log, client, {
      action: 'verification_email_sent',
      actorId: actor.user_id,
      resourceId: id,
      details: { email: user.email, outcome: 'queued' },
    });
  });
  deps.accountMail.wake();
}
