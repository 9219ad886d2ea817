// Replaces a user's password, authorized by the current password or by a mailed link.
// The password rules, the history and the end of all sessions belong to the passwords module.
import type { ChangePasswordBody, ResetConfirmBody } from '@castellan/contract/auth';
import type { User } from '@castellan/contract/users';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import type { Client } from '../../platform/http/client.ts';
import { overLimit } from '../../platform/http/plugins/rate-limits.ts';
import type { RateLimitRule } from '../../platform/limits/rate-limit.ts';
import { requireEmail } from '../../platform/security/email.ts';
import type { Tx } from '../../schema/database.ts';
import { type AuditEvent, recordBounded, recordEvent } from '../audit/service.ts';
import type { UserCaller } from '../authz/caller.ts';
import { beginAttempt, clearAttempts } from '../lockout/service.ts';
import {
  type CredentialHolder,
  countingRefusals,
  findPasswordHolder,
  findPasswordHolderByEmail,
  lockEpoch,
  type PasswordDeps,
  type PasswordHolder,
  prepareReplacement,
  type Refusals,
  replacementEvent,
  replacePassword,
  unlockEvent,
} from '../passwords/service.ts';
import { refuseWhereRequired } from '../required-providers/service.ts';
import { lockLiveSession, renewed, type SessionTokens, startSession } from '../sessions/service.ts';
import { present, readRecord, type VersionedUser } from '../users/service.ts';
import { type AbuseDeps, mayMail } from './abuse.ts';
import type { LoginDeps } from './login.ts';
import { consumeOneTimeToken, endOneTimeTokens, findTokenOwner } from './one-time-tokens.ts';

/** Changes the caller's password. Ends every session, including the caller's, and returns a new one. */
export async function changePassword(
  deps: LoginDeps,
  { client, principal }: UserCaller,
  { current_password, new_password: newPassword, ...rest }: ChangePasswordBody,
): Promise<SessionTokens & { user: User }> {
  allHandled(rest);
  const holder = await findPasswordHolder(deps.db, principal.id);
  if (!holder) throw new AppError('token_revoked');
  await requireCurrentPassword(deps, client, {
    holder,
    password: current_password,
    refusalOf: (reason) => refusalEvent(holder, reason),
  });
  await requireFewChanges(deps, client, holder);
  const replacement = await prepareReplacement(deps, client, {
    holder,
    newPassword,
    action: 'password_changed',
    actor: { actorId: principal.id },
  });
  const { tokens, record, sessionsEnded } = await inTransaction(deps.db, async (tx) => {
    await lockEpoch(tx, holder.user_id);
    // If the session ended or the user was deactivated during the hashing, the caller must not get a new session.
    const calling = await lockLiveSession(tx, holder.user_id, principal.session.id);
    if (!calling) throw new AppError('token_revoked');
    const { sessionsEnded, now } = await replacePassword(tx, deps, replacement);
    await endOneTimeTokens(tx, 'reset_password', holder.user_id);
    const anew = { id: holder.user_id, now, isSignIn: false, ...renewed(calling, principal) };
    const { tokens, record } = await startSession(tx, deps, anew, client);
    return { tokens, sessionsEnded, record };
  });
  await recordEvent(deps, client, replacementEvent(replacement, sessionsEnded));
  return { ...tokens, user: (await present(deps, record)).record };
}

/**
 * Throws `wrong_current_password` (400) and `account_locked` (422). Uses the counter of sign-ins, so that a stolen session
 * cannot be used to guess the password. Throws `no_password` (400), and counts nothing, for an account without one.
 */
export async function requireCurrentPassword(
  deps: LoginDeps,
  client: Client,
  {
    holder,
    password,
    refusalOf,
  }: {
    holder: PasswordHolder;
    password: string;
    /** Returns the event of a refusal. */
    refusalOf: (reason: 'locked' | 'wrong_current_password') => AuditEvent;
  },
): Promise<void> {
  if (holder.password_hash === null) throw new AppError('no_password');
  const attempt = await beginAttempt(deps, client, holder.email);
  if ('lockedSeconds' in attempt) {
    await recordEvent(deps, client, refusalOf('locked'));
    throw new AppError('account_locked', { retryAfterSeconds: attempt.lockedSeconds });
  }
  try {
    const turn = { key: holder.email, signal: client.gone };
    if (await deps.hasher.verify(holder.password_hash, password, turn)) {
      await attempt.succeed();
      return;
    }
    await attempt.fail(holder.user_id, refusalOf('wrong_current_password'));
  } finally {
    await attempt.release();
  }
  throw new AppError('wrong_current_password');
}

// Each change hashes up to PASSWORD_HISTORY_COUNT times and leaves an audit entry that is never left out.
const changesRule: RateLimitRule = { limit: 120, windowSeconds: 3_600 };

/** Counts after the current password was verified, so that a stolen token cannot use up the owner's changes. Throws 429. */
async function requireFewChanges(
  deps: LoginDeps,
  client: Client,
  { user_id: id, email }: PasswordHolder,
): Promise<void> {
  const counted = await deps.limiter.hit(`password-change|${id}`, changesRule);
  if (counted.allowed) return;
  await recordBounded(deps, client, {
    action: 'rate_limited',
    actorId: id,
    resourceId: id,
    details: { email, limit: 'password-change' },
  });
  throw overLimit(counted);
}

const refusalEvent = (holder: PasswordHolder, reason: string): AuditEvent => ({
  action: 'password_refused',
  actorId: holder.user_id,
  resourceId: holder.user_id,
  details: { email: holder.email, attempted: 'password_changed', reason },
});

/**
 * Queues a reset mail. Returns nothing, so that the response is the same whether or not an account exists. Throws
 * `provider_required` (422) by the email alone.
 */
export async function requestPasswordReset(
  deps: LoginDeps & AbuseDeps,
  client: Client,
  input: string,
): Promise<void> {
  const email = requireEmail(input);
  refuseWhereRequired(deps, email);
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
    details: { email, outcome: allowed ? outcomeFor(holder) : 'limited' },
  });
}

function outcomeFor(holder: CredentialHolder | undefined): string {
  if (!holder?.is_active) return 'no_account';
  return holder.invited_at === null ? 'queued' : 'invited';
}

/** Counts rejected passwords of all links of one user together, so that a new link does not reset the count. */
const linkRefusals = ({ user_id: id }: PasswordHolder): Refusals => ({
  limit: 'link-password',
  by: [id],
  actor: { actorId: id },
  userId: id,
});

/** Records the refusal of a reset link in the audit log. Returns the error to throw. */
async function resetRefusal(deps: LoginDeps, client: Client): Promise<AppError> {
  await recordBounded(deps, client, {
    action: 'password_refused',
    actorId: null,
    details: { attempted: 'password_reset', reason: 'reset_token_invalid' },
  });
  return new AppError('reset_token_invalid');
}

/**
 * Sets a new password with a mailed link. Throws `reset_token_invalid` or `password_rejected` (400), or `rate_limited`
 * (429) after too many rejected passwords. The link stays usable after a rejected password.
 */
export async function confirmPasswordReset(
  deps: LoginDeps & AbuseDeps,
  client: Client,
  { token, new_password: newPassword, ...rest }: ResetConfirmBody,
): Promise<void> {
  allHandled(rest);
  const owner = await findTokenOwner(deps.db, 'reset_password', token);
  const holder = owner && (await findPasswordHolder(deps.db, owner.user_id));
  if (!holder) throw await resetRefusal(deps, client);
  // Parallel requests with one link take turns, because each of them would check and hash a password.
  await deps.attemptGate.run(`reset ${holder.user_id}`, client, async () => {
    if ((await findTokenOwner(deps.db, 'reset_password', token)) === undefined)
      throw await resetRefusal(deps, client);
    await setPasswordByLink(deps, client, holder, {
      newPassword,
      consume: (tx) => consumeReset(tx, token),
    }).catch(async (error: unknown) => {
      // The link became invalid while the password was hashed.
      const isLinkInvalid = error instanceof AppError && error.code === 'reset_token_invalid';
      throw isLinkInvalid ? await resetRefusal(deps, client) : error;
    });
  });
}

async function consumeReset(tx: Tx, token: string): Promise<void> {
  if (!(await consumeOneTimeToken(tx, 'reset_password', token))) throw new AppError('reset_token_invalid');
}

/**
 * Sets the password of the user of a link, and ends their sessions, pending links and lock. Calls `consume` while
 * holding the user's row lock. Returns the user's record. Throws `password_rejected` (400), `rate_limited` (429) after
 * too many rejected passwords, `conflict`, and the errors of `consume`.
 */
export const setPasswordByLink = (
  deps: PasswordDeps,
  client: Client,
  holder: PasswordHolder,
  {
    newPassword,
    consume,
    action = 'password_reset',
  }: {
    newPassword: string;
    consume: (tx: Tx) => Promise<void>;
    action?: 'password_reset' | 'invitation_accepted';
  },
): Promise<VersionedUser> =>
  countingRefusals(deps, client, linkRefusals(holder), async () => {
    const id = holder.user_id;
    const replacement = await prepareReplacement(deps, client, {
      holder,
      newPassword,
      action,
      actor: { actorId: id },
    });
    const { record, sessionsEnded, wasLocked } = await inTransaction(deps.db, async (tx) => {
      await lockEpoch(tx, id);
      await consume(tx);
      const { sessionsEnded } = await replacePassword(tx, deps, replacement);
      await endOneTimeTokens(tx, 'reset_password', id);
      await endOneTimeTokens(tx, 'verify_email', id);
      const wasLocked = await clearAttempts(tx, holder.email);
      return { record: await readRecord(tx, id), sessionsEnded, wasLocked };
    });
    await recordEvent(deps, client, replacementEvent(replacement, sessionsEnded));
    if (wasLocked) await recordEvent(deps, client, unlockEvent(replacement));
    return record;
  });
