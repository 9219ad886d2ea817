// Replacing one's password: by the present one, or by a mailed link when it is forgotten.
// The rules, the history and the end of all sessions are the passwords module's; this decides who is entitled.
import type { ChangePasswordBody, ResetConfirmBody } from '@castellan/contract/auth';
import type { User } from '@castellan/contract/users';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { recordBounded, recordEvent } from '../audit/service.ts';
import type { Actor } from '../authz/guard.ts';
import {
  clearAttempts,
  findPasswordHolder,
  findPasswordHolderByEmail,
  type PasswordHolder,
  replacePassword,
} from '../passwords/service.ts';
import { lockLiveSession, type SessionTokens, startSession } from '../sessions/service.ts';
import { present, readRecord } from '../users/service.ts';
import { type AbuseDeps, mayMail } from './abuse.ts';
import { requireEmail } from './email-input.ts';
import { beginAttempt } from './lockout.ts';
import type { LoginDeps } from './login.ts';
import { consumeOneTimeToken, endOneTimeTokens, findTokenOwner } from './one-time-tokens.ts';

/** Every session ends, the caller's too; the answer is a new one. */
export async function changePassword(
  deps: LoginDeps,
  client: Client,
  actor: Actor,
  body: ChangePasswordBody,
): Promise<SessionTokens & { user: User }> {
  const holder = await findPasswordHolder(deps.db, actor.user_id);
  if (!holder) throw new AppError('token_revoked');
  await requireCurrentPassword(deps, client, holder, body.current_password);
  const { tokens, record } = await replacePassword(deps, client, {
    holder,
    newPassword: body.new_password,
    action: 'password_changed',
    actorId: holder.user_id,
    // A logout or a deactivation that came in between must not be answered with a new session.
    entitle: async (tx) => {
      if (!(await lockLiveSession(tx, holder.user_id, actor.session_id))) throw new AppError('token_revoked');
    },
    finish: async (tx, user) => {
      await endOneTimeTokens(tx, 'reset_password', user.id);
      const tokens = await startSession(tx, deps, user, client);
      return { tokens, record: await readRecord(tx, user.id) };
    },
  });
  return { ...tokens, user: (await present(deps, record)).user };
}

// The same counter as at login: a stolen session is no place to guess the password from.
async function requireCurrentPassword(
  deps: LoginDeps,
  client: Client,
  holder: PasswordHolder,
  password: string,
): Promise<void> {
  const attempt = await beginAttempt(deps, client, holder.email);
  if ('lockedSeconds' in attempt) {
    await recordRefusal(deps, client, holder, 'locked');
    throw new AppError('account_locked', { retryAfterSeconds: attempt.lockedSeconds });
  }
  try {
    if (await deps.hasher.verify(holder.password_hash, password)) {
      await attempt.succeed();
      return;
    }
    await attempt.fail(holder.user_id);
  } finally {
    await attempt.release();
  }
  await recordRefusal(deps, client, holder, 'wrong_current_password');
  throw new AppError('wrong_current_password');
}

const recordRefusal = (
  deps: LoginDeps,
  client: Client,
  holder: PasswordHolder,
  reason: string,
): Promise<void> =>
  recordEvent(deps, client, {
    action: 'password_refused',
    actorId: holder.user_id,
    resourceId: holder.user_id,
    details: { email: holder.email, attempted: 'password_changed', reason },
  });

/** Answers nothing on purpose: the caller says the same sentence to everybody. */
export async function requestPasswordReset(
  deps: LoginDeps & AbuseDeps,
  client: Client,
  input: string,
): Promise<void> {
  const email = requireEmail(input);
  const allowed = await mayMail(deps, 'reset', email);
  const holder = await findPasswordHolderByEmail(deps.db, email);
  if (allowed) {
    await inTransaction(deps.db, (tx) => deps.accountMail.enqueue(tx, 'password_reset', { email }));
    deps.accountMail.wake();
  }
  await recordEvent(deps, client, {
    action: 'password_reset_requested',
    actorId: null,
    resourceId: holder?.user_id ?? '',
    details: { email, outcome: !allowed ? 'limited' : holder?.is_active ? 'queued' : 'no_account' },
  });
}

/** Throws `reset_token_invalid` or `password_rejected` (400); a refused password leaves the link usable. */
export async function confirmPasswordReset(
  deps: LoginDeps,
  client: Client,
  body: ResetConfirmBody,
): Promise<void> {
  const ownerId = await findTokenOwner(deps.db, 'reset_password', body.token);
  const holder = ownerId === undefined ? undefined : await findPasswordHolder(deps.db, ownerId);
  if (!holder) {
    await recordBounded(deps, client, {
      action: 'password_refused',
      actorId: null,
      details: { attempted: 'password_reset', reason: 'reset_token_invalid' },
    });
    throw new AppError('reset_token_invalid');
  }
  const wasLocked = await replacePassword(deps, client, {
    holder,
    newPassword: body.new_password,
    action: 'password_reset',
    actorId: holder.user_id,
    entitle: async (tx) => {
      if (!(await consumeOneTimeToken(tx, 'reset_password', body.token)))
        throw new AppError('reset_token_invalid');
    },
    // A reset ends all pending links.
    finish: async (tx, user) => {
      await endOneTimeTokens(tx, 'reset_password', user.id);
      await endOneTimeTokens(tx, 'verify_email', user.id);
      return clearAttempts(tx, holder.email);
    },
  });
  if (wasLocked)
    await recordEvent(deps, client, {
      action: 'account_unlocked',
      actorId: holder.user_id,
      resourceId: holder.user_id,
      details: { email: holder.email, reason: 'password_set' },
    });
}
