// Signing in with e-mail and password. It must cost and say the same whether or not the account exists:
// the same statements, the same hashing, one answer for unknown, wrong and inactive.
import type { LoginBody } from '@castellan/contract/auth';
import type { User } from '@castellan/contract/users';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { canonicalEmail, hasMarkupOrControl } from '../../platform/security/email.ts';
import { recordEvent } from '../audit/service.ts';
import {
  findPasswordHolderByEmail,
  lockEpoch,
  type PasswordDeps,
  rehashWhenOld,
} from '../passwords/service.ts';
import {
  recordCapRevocations,
  recordLastLogin,
  type SessionTokens,
  startSession,
} from '../sessions/service.ts';
import { present, readRecord, type UserDeps } from '../users/service.ts';
import { beginAttempt, type LockoutDeps } from './lockout.ts';

export type LoginDeps = PasswordDeps & UserDeps & LockoutDeps;

type Reason = 'unknown_user' | 'wrong_password' | 'locked' | 'unverified' | 'inactive' | 'sanitization';

/** Longer than this is no password anybody set. */
const MAX_PASSWORD_LENGTH = 1_000;

export async function login(
  deps: LoginDeps,
  client: Client,
  body: LoginBody,
): Promise<SessionTokens & { user: User }> {
  if (hasMarkupOrControl(body.email) || body.password.length > MAX_PASSWORD_LENGTH) {
    await recordFailure(deps, client, 'sanitization', body.email, null);
    throw new AppError('sanitization_failed');
  }
  const email = canonicalEmail(body.email);
  if (email === null) {
    // No account can have it, so there is nothing to count; the work stays the same.
    await deps.hasher.verify(null, body.password);
    await recordFailure(deps, client, 'unknown_user', body.email, null);
    throw new AppError('invalid_credentials');
  }
  const attempt = await beginAttempt(deps, client, email);
  if ('lockedSeconds' in attempt) {
    await deps.hasher.verify(null, body.password);
    await recordFailure(deps, client, 'locked', email, null);
    throw new AppError('account_locked', { retryAfterSeconds: attempt.lockedSeconds });
  }
  try {
    const holder = await findPasswordHolderByEmail(deps.db, email);
    const matches = await deps.hasher.verify(holder?.password_hash ?? null, body.password);
    if (!holder || !matches || !holder.is_active) {
      const reason = !holder ? 'unknown_user' : matches ? 'inactive' : 'wrong_password';
      await attempt.fail(holder?.user_id ?? null);
      await recordFailure(deps, client, reason, email, holder?.user_id ?? null);
      throw new AppError('invalid_credentials');
    }
    await attempt.succeed();
    if (!holder.verified) {
      await recordFailure(deps, client, 'unverified', email, holder.user_id);
      throw new AppError('email_not_verified');
    }
    const started = await inTransaction(deps.db, async (tx) => {
      const locked = await lockEpoch(tx, holder.user_id);
      // The password was replaced, or the account closed, while this one was being verified: it opens nothing.
      if (locked?.password_epoch !== holder.password_epoch || !locked.is_active) return null;
      await recordLastLogin(tx, holder.user_id);
      const tokens = await startSession(tx, deps, { id: holder.user_id, now: locked.now }, client);
      return { tokens, record: await readRecord(tx, holder.user_id) };
    });
    if (!started) {
      await recordFailure(deps, client, 'wrong_password', email, holder.user_id);
      throw new AppError('invalid_credentials');
    }
    const { tokens, record } = started;
    await rehashWhenOld(deps, holder, body.password);
    await recordEvent(deps, client, {
      action: 'login_succeeded',
      actorId: holder.user_id,
      resourceId: holder.user_id,
      details: { email, session_id: tokens.sessionId, user_agent: client.userAgent },
    });
    await recordCapRevocations(deps, client, holder.user_id, tokens.revoked);
    return { ...tokens, user: (await present(deps, record)).user };
  } finally {
    await attempt.release();
  }
}

/** A body with text that no operation is given (NUL, ill-formed Unicode) is a sign-in that was tried all the same. */
export async function recordUnreadableLogin(deps: LoginDeps, client: Client, body: unknown): Promise<void> {
  const email = typeof body === 'object' && body !== null && 'email' in body ? body.email : '';
  await recordFailure(deps, client, 'sanitization', typeof email === 'string' ? email : '', null);
}

async function recordFailure(
  deps: LoginDeps,
  client: Client,
  reason: Reason,
  email: string,
  userId: string | null,
): Promise<void> {
  await recordEvent(deps, client, {
    action: 'login_failed',
    actorId: null,
    resourceId: userId ?? '',
    details: { email, reason, user_agent: client.userAgent },
  });
}
