// Signs a user in with email and password. Neither the response nor its timing may reveal whether an account exists:
// the statements and the hashing are the same, and unknown, wrong and inactive get the same error.
import type { LoginBody } from '@castellan/contract/auth';
import type { User } from '@castellan/contract/users';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { canonicalEmail, hasMarkupOrControl } from '../../platform/security/email.ts';
import type { HashPlace, HashTurn } from '../../platform/security/password-hasher.ts';
import type { Tx } from '../../schema/database.ts';
import { recordEvent } from '../audit/service.ts';
import { type Attempt, beginAttempt, type LockoutDeps } from '../lockout/service.ts';
import {
  type CredentialHolder,
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
import { present, readRecord, recordLanguage, type UserDeps } from '../users/service.ts';
import { languageOf } from './mail-language.ts';
import type { AccountMail } from './mails.ts';

export type LoginDeps = PasswordDeps & UserDeps & LockoutDeps & { accountMail: AccountMail };

/** A failed sign-in, as the audit log records it. */
type Failure = {
  reason: 'unknown_user' | 'wrong_password' | 'locked' | 'unverified' | 'inactive' | 'sanitization';
  /** As typed, or canonical if it is an email. */
  email: string;
  /** Id of the account; null if there is none. */
  userId: string | null;
};

/** Far above the limit of the password policy, in UTF-16 units. */
const MAX_PASSWORD_LENGTH = 1_000;

export async function login(
  deps: LoginDeps,
  client: Client,
  body: LoginBody,
): Promise<SessionTokens & { user: User }> {
  if (hasMarkupOrControl(body.email) || body.password.length > MAX_PASSWORD_LENGTH) {
    await recordFailure(deps, client, { reason: 'sanitization', email: body.email, userId: null });
    throw new AppError('sanitization_failed');
  }
  const email = canonicalEmail(body.email);
  if (email === null) {
    // No account can have this email, so nothing is counted. Hashing keeps the response time the same.
    await deps.hasher.verify(null, body.password, { signal: client.gone });
    await recordFailure(deps, client, { reason: 'unknown_user', email: body.email, userId: null });
    throw new AppError('invalid_credentials');
  }
  let place: HashPlace | undefined;
  try {
    // A full queue refuses before the first statement: a flood of sign-ins must not fill the connections of the others.
    const attempt = await beginAttempt(deps, client, email, () => {
      place = deps.hasher.reserve();
    });
    const turn = { key: email, signal: client.gone, ...(place ? { place } : {}) };
    if ('lockedSeconds' in attempt)
      return await refuseLocked(deps, client, { ...body, email }, turn, attempt);
    try {
      return await attemptLogin(deps, client, { ...body, email }, turn, attempt);
    } finally {
      await attempt.release();
    }
  } finally {
    place?.free();
  }
}

async function refuseLocked(
  deps: LoginDeps,
  client: Client,
  { email, password }: LoginBody,
  turn: HashTurn,
  { lockedSeconds }: { lockedSeconds: number },
): Promise<never> {
  const owner = await findPasswordHolderByEmail(deps.db, email);
  await deps.hasher.verify(null, password, turn);
  await recordFailure(deps, client, { reason: 'locked', email, userId: owner?.user_id ?? null });
  throw new AppError('account_locked', { retryAfterSeconds: lockedSeconds });
}

/** Verifies the password and starts a session. `email` is canonical. */
async function attemptLogin(
  deps: LoginDeps,
  client: Client,
  { email, password }: LoginBody,
  turn: HashTurn,
  attempt: Attempt,
): Promise<SessionTokens & { user: User }> {
  const holder = await findPasswordHolderByEmail(deps.db, email);
  const matches = await deps.hasher.verify(holder?.password_hash ?? null, password, turn);
  if (!holder || !matches || !holder.is_active) {
    const reason = !holder ? 'unknown_user' : matches ? 'inactive' : 'wrong_password';
    await attempt.fail(holder?.user_id ?? null);
    await recordFailure(deps, client, { reason, email, userId: holder?.user_id ?? null });
    throw new AppError('invalid_credentials');
  }
  if (!holder.verified) {
    await attempt.succeed();
    await recordFailure(deps, client, { reason: 'unverified', email, userId: holder.user_id });
    throw new AppError('email_not_verified');
  }
  const started = await inTransaction(deps.db, async (tx) => {
    const session = await startUnlessChanged(tx, deps, client, holder);
    // In the same commit, and last: parallel attempts on the email wait for its row.
    await attempt.succeed(tx);
    return session;
  });
  if (!started) {
    await recordFailure(deps, client, { reason: 'wrong_password', email, userId: holder.user_id });
    throw new AppError('invalid_credentials');
  }
  const { tokens, record } = started;
  await rehashWhenOld(deps, holder, password);
  await recordEvent(deps, client, {
    action: 'login_succeeded',
    actorId: holder.user_id,
    resourceId: holder.user_id,
    details: { email, session_id: tokens.sessionId, user_agent: client.userAgent },
  });
  await recordCapRevocations(deps, client, holder.user_id, tokens.revoked);
  return { ...tokens, user: (await present(deps, record)).record };
}

/**
 * Starts a session, unless an administrator has changed the account while the password was verified: no session may outlive
 * that. Then returns null.
 */
async function startUnlessChanged(tx: Tx, deps: LoginDeps, client: Client, holder: CredentialHolder) {
  const { user_id: userId, email, password_epoch: epoch } = holder;
  const locked = await lockEpoch(tx, userId);
  if (locked?.password_epoch !== epoch || !locked.is_active) return null;
  if (!locked.verified || locked.email !== email) return null;
  await recordLastLogin(tx, userId);
  const language = languageOf(client);
  if (language !== null && language !== locked.language) await recordLanguage(tx, userId, language);
  const tokens = await startSession(tx, deps, { id: userId, now: locked.now }, client);
  return { tokens, record: await readRecord(tx, userId) };
}

/** Records a failed sign-in whose body was refused before the operation ran (NUL characters, ill-formed Unicode). */
export async function recordUnreadableLogin(deps: LoginDeps, client: Client, body: unknown): Promise<void> {
  const email = typeof body === 'object' && body !== null && 'email' in body ? body.email : '';
  await recordFailure(deps, client, {
    reason: 'sanitization',
    email: typeof email === 'string' ? email : '',
    userId: null,
  });
}

async function recordFailure(
  deps: LoginDeps,
  client: Client,
  { reason, email, userId }: Failure,
): Promise<void> {
  await recordEvent(deps, client, {
    action: 'login_failed',
    actorId: null,
    resourceId: userId ?? '',
    details: { email, reason, user_agent: client.userAgent },
  });
}
