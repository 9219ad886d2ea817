// Administration of another user's access: sessions, lockout, email verification.
import type { PageQuery } from '@castellan/contract/common';
import type { User } from '@castellan/contract/users';
import { AppError } from '../../../platform/errors.ts';
import { overLimit } from '../../../platform/http/plugins/rate-limits.ts';
import { type Caller, sessionIdOf } from '../../authz/caller.ts';
import {
  change,
  type Done,
  type Entitled,
  type Entry,
  isNonEmpty,
  type Locking,
} from '../../authz/change.ts';
import { sameAccess } from '../../authz/impact/impact.ts';
import { endPendingOf, openClosedApp } from '../../factors/service.ts';
import { endLock } from '../../lockout/service.ts';
import { endAllSessions, listSessions, revokeSession, type SessionList } from '../../sessions/service.ts';
import type { UserAdminDeps } from '../changes/administration.ts';
import { endPendingLinks } from '../changes/change-store.ts';
import type { VersionedUser } from '../presentation.ts';
import { requireMayActOn } from '../protection.ts';
import { present } from '../service.ts';
import { findUserById } from '../store.ts';

/** Returns one page of the live sessions of a user, newest first. Throws `user_not_found`. */
export async function listSessionsOf(
  deps: UserAdminDeps,
  caller: Caller,
  id: string,
  page: PageQuery,
): Promise<SessionList> {
  if (!(await findUserById(deps.db, id))) throw new AppError('user_not_found');
  return listSessions(deps, id, sessionIdOf(caller.principal), page);
}

/** Ends every session and every mailed link of a user. Returns how many sessions were live. Throws 404, 403. */
export const endSessionsOf = (deps: UserAdminDeps, caller: Caller, id: string): Promise<number> =>
  change(deps, caller, async (locking) => {
    // Locks the user's row, so that a running sign-in is completed either before or after this change.
    const { entitled } = await requireMayActOn(locking, id);
    await endPendingLinks(entitled, [id]);
    const ended = await endAllSessions(locking.tx, id, 'revoked');
    // Recorded even if no session was live, because the mailed links have ended.
    return entitled.done(ended.count, sameAccess, endedEntry(id, ended));
  });

/** Returns the audit entry of sessions of a user that an administrator ended. */
export const endedEntry = (
  userId: string,
  { count, ids }: { count: number; ids: readonly string[] },
): Entry => ({
  action: 'session_revoked',
  resourceId: userId,
  details: { reason: 'administrator', sessions_ended: count, session_ids: ids },
});

/** Ends one session of a user. Throws 404 (no such user, or no such live session of this user), 403. */
export const endSessionOf = (
  deps: UserAdminDeps,
  caller: Caller,
  id: string,
  sessionId: string,
): Promise<void> => change(deps, caller, (locking) => endSession(locking, id, sessionId));

/** Ends one session of a user in the transaction of the change. */
export async function endSession(locking: Locking, id: string, sessionId: string): Promise<Done<void>> {
  const { entitled } = await requireMayActOn(locking, id);
  const revoked = await revokeSession(locking.tx, id, sessionId);
  await endPendingLinks(entitled, [id]);
  await endPendingOf(locking.tx, [id]);
  return entitled.done(undefined, sameAccess, revoked);
}

/**
 * Ends the lock of a user, and opens an authenticator app that wrong codes closed. Returns whether there was either. If there was none, the counted failures stay; otherwise a
 * caller who may unlock users could guess passwords without ever reaching the lock. Throws 404, 403.
 */
export async function unlockUser(
  deps: UserAdminDeps,
  caller: Caller,
  id: string,
): Promise<{ user: User; wasLocked: boolean }> {
  const { user, wasLocked } = await change(deps, caller, async (locking) => {
    const { entitled, user } = await requireMayActOn(locking, id);
    const details = { email: user.email, reason: 'administrator' };
    const entries: readonly Entry[] = [
      ...((await endLock(locking.tx, user.email))
        ? [{ action: 'account_unlocked', resourceId: id, details } as const]
        : []),
      ...((await openClosedApp(locking.tx, id))
        ? [{ action: 'second_factor_unlocked', resourceId: id, details } as const]
        : []),
    ];
    if (!isNonEmpty(entries)) return entitled.unchanged({ user, wasLocked: false });
    await endPendingLinks(entitled, [id]);
    return entitled.done({ user, wasLocked: true }, sameAccess, ...entries);
  });
  return { user: (await present(deps, user)).record, wasLocked };
}

/**
 * Queues the verification mail of a user. Throws 404, 403, 400 (already verified), 409 (account not active, so the mail
 * would not be sent), 429 (ACCOUNT_EMAIL_LIMIT reached).
 */
export async function resendVerification(deps: UserAdminDeps, caller: Caller, id: string): Promise<void> {
  // Checked before counting, so that a refused request does not use up the limit of the email.
  const email = await change(deps, caller, async (locking) => {
    const { entitled, user } = await requireRecipient(locking, id);
    return entitled.unchanged(user.email);
  });
  const counted = await deps.accountMail.count(email, 'verification');
  if (counted?.allowed === false) throw overLimit(counted);
  await change(deps, caller, async (locking) => {
    const { entitled, user } = await requireRecipient(locking, id);
    await deps.accountMail.enqueue(locking.tx, 'verification', { email: user.email });
    return entitled.done(undefined, sameAccess, {
      action: 'verification_email_sent',
      resourceId: id,
      details: { email: user.email, outcome: 'queued' },
    });
  });
  deps.accountMail.wake();
}

async function requireRecipient(
  locking: Locking,
  id: string,
): Promise<{ entitled: Entitled; user: VersionedUser }> {
  const found = await requireMayActOn(locking, id);
  if (found.user.verified)
    throw new AppError('already_verified', {
      detail: 'The email address of this user is already verified.',
    });
  if (!found.user.is_active)
    throw new AppError('conflict', {
      detail: 'The account is not active, so no mail is sent to it. Activate it first.',
    });
  return found;
}
