// Signs a user in with email and password. Neither the response nor its timing may reveal whether an account exists:
// the statements and the hashing are the same, and unknown, wrong and inactive get the same error.
import type { LoginBody } from '@castellan/contract/auth';
import type { Acr, SecondFactorRequest } from '@castellan/contract/authentication';
import type { UnmetRequirement } from '@castellan/contract/requirements';
import type { User } from '@castellan/contract/users';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { canonicalEmail, hasMarkupOrControl } from '../../platform/security/email.ts';
import type { HashPlace, HashTurn } from '../../platform/security/password-hasher.ts';
import type { Tx } from '../../schema/database.ts';
import { type AuditEvent, inRecordedTransaction, recordEvent } from '../audit/service.ts';
import { policyOf } from '../authz/requirements/account.ts';
import { findAccountLevel } from '../authz/requirements/standing.ts';
import { isTrusted, mayTrustDevice } from '../devices/service.ts';
import type { PasskeyDeps } from '../factors/service.ts';
import {
  type Attempt,
  type AttemptHolder,
  beginAttempt,
  type LockedOut,
  type LockoutDeps,
} from '../lockout/service.ts';
import { type LockedHolder, lockEpoch, type PasswordDeps, rehashWhenOld } from '../passwords/service.ts';
import { type RequiredProviders, refuseWhereRequired } from '../required-providers/service.ts';
import { present, type UserDeps } from '../users/service.ts';
import { type BeginDeps, beginSession, type IssuedTokens, type Started } from './devices/begin-session.ts';
import type { Visitor } from './devices/cookie.ts';
import { openSecondStep } from './second-factors/pending.ts';
import { noticeOf, type RequirementDeps } from './second-factors/requirement.ts';

/** `secondFactor`: what the account still requires, or will. */
export type SignedIn = IssuedTokens & { user: User; secondFactor?: UnmetRequirement };

/** What a proof came to: a session, or what its user must do before there can be one. */
export type SignIn =
  | { done: SignedIn }
  | { needs: 'verified_email' }
  | { needs: 'second_factor'; request: SecondFactorRequest };

/** Returns the tokens and the user. Throws what its user must do first, which only who proved to be the user is told. */
export function signedInOr(outcome: SignIn): SignedIn {
  if ('done' in outcome) return outcome.done;
  if (outcome.needs === 'verified_email') throw new AppError('email_not_verified');
  throw new AppError('second_factor_required', { members: { second_factor: outcome.request } });
}

export type LoginDeps = PasswordDeps &
  UserDeps &
  LockoutDeps &
  BeginDeps &
  PasskeyDeps &
  RequirementDeps & { requiredProviders: RequiredProviders };

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

/** Returns what the right password came to. Throws 400, 401 and 422 for all else; `provider_required` by the email alone. */
export async function login(deps: LoginDeps, visitor: Visitor, body: LoginBody): Promise<SignIn> {
  const { client, deviceTokens } = visitor;
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
  refuseWhereRequired(deps, email);
  let place: HashPlace | undefined;
  try {
    // A full queue refuses before the first statement: a flood of sign-ins must not fill the connections of the others.
    const beforeSlot = (): void => {
      place = deps.hasher.reserve();
    };
    const attempt = await beginAttempt(deps, client, email, { deviceTokens, beforeSlot });
    const turn = { key: email, signal: client.gone, ...(place ? { place } : {}) };
    const tried = { visitor, email, password: body.password, turn };
    if ('lockedSeconds' in attempt) return await refuseLocked(deps, tried, attempt);
    try {
      return await attemptLogin(deps, tried, attempt);
    } finally {
      await attempt.release();
    }
  } finally {
    place?.free();
  }
}

/** What somebody signs in with. `email` is canonical. */
type Tried = { visitor: Visitor; email: string; password: string; turn: HashTurn };

async function refuseLocked(
  deps: LoginDeps,
  { visitor: { client }, email, password, turn }: Tried,
  { lockedSeconds, holder }: LockedOut,
): Promise<never> {
  await deps.hasher.verify(null, password, turn);
  await recordFailure(deps, client, { reason: 'locked', email, userId: holder?.user_id ?? null });
  throw new AppError('account_locked', { retryAfterSeconds: lockedSeconds });
}

/** Verifies the password and starts a session. What follows the password is one commit. */
async function attemptLogin(
  deps: LoginDeps,
  { visitor, email, password, turn }: Tried,
  attempt: Attempt,
): Promise<SignIn> {
  const { client } = visitor;
  const { holder } = attempt;
  const matches = await deps.hasher.verify(holder?.password_hash ?? null, password, turn);
  if (!holder || !matches || !holder.is_active) {
    const reason = !holder ? 'unknown_user' : matches ? 'inactive' : 'wrong_password';
    const userId = holder?.user_id ?? null;
    await attempt.fail(userId, failureEvent(client, { reason, email, userId }));
    throw new AppError('invalid_credentials');
  }
  const { user_id: userId } = holder;
  const started = await inRecordedTransaction(deps, client, async (tx) => {
    const came = holder.verified ? await startUnlessChanged(tx, deps, visitor, holder) : null;
    // In the same commit, and after the session: parallel attempts on the email wait for its row.
    await attempt.succeed(tx);
    if (came) return { result: came.result, events: came.events };
    const reason = holder.verified ? 'wrong_password' : 'unverified';
    return { result: null, events: [failureEvent(client, { reason, email, userId })] };
  });
  if (!holder.verified) return { needs: 'verified_email' };
  if (!started) throw new AppError('invalid_credentials');
  await rehashWhenOld(deps, holder, password);
  if ('methods' in started) return { needs: 'second_factor', request: started };
  return { done: await signedIn(deps, started, 'aal1') };
}

/** Returns what the client gets of a started session. `acr`: what its proof reaches. */
export const signedIn = async (
  deps: LoginDeps,
  { tokens, record }: Pick<Started, 'tokens' | 'record'>,
  acr: Acr,
): Promise<SignedIn> => ({
  ...tokens,
  user: (await present(deps, record)).record,
  ...(await noticeOf(deps, record, acr)),
});

/** What the right password came to, with its events. */
type Came = { result: Started | SecondFactorRequest; events: AuditEvent[] };

/**
 * Starts a session, or the second step of an account with a factor, unless an administrator has changed the account while
 * the password was verified: no session may outlive that. Then returns null.
 */
async function startUnlessChanged(
  tx: Tx,
  deps: LoginDeps,
  visitor: Visitor,
  { user_id: userId, email, password_epoch: epoch, device_id: deviceId }: AttemptHolder,
): Promise<Came | null> {
  const locked = await lockEpoch(tx, userId);
  if (locked?.password_epoch !== epoch || !locked.is_active) return null;
  if (!locked.verified || locked.email !== email) return null;
  const proof = await proofOf(tx, deps, 'password', { userId, locked, deviceId });
  if (proof !== null) {
    const { started, events } = await beginSession(tx, deps, visitor, { userId, locked, proof });
    return { result: started, events };
  }
  const { client, browserId } = visitor;
  const request = await openSecondStep(tx, deps, { userId, client, browserId, deviceId, ...locked });
  const details = { email, methods: request.methods, user_agent: client.userAgent };
  const event = { action: 'second_factor_requested', actorId: userId, resourceId: userId, details } as const;
  return { result: request, events: [event] };
}

/**
 * Returns what the first proof alone is worth here; null if the account must prove more. Call it with the lock of the user's
 * row.
 */
export async function proofOf<F extends 'password' | 'provider'>(
  tx: Tx,
  deps: Pick<LoginDeps, 'settings'>,
  first: F,
  { userId, locked, deviceId }: { userId: string; locked: LockedHolder; deviceId: string | null },
): Promise<F | `${F}+device` | null> {
  if (locked.recovery_pending) return null;
  if (!locked.has_factor) return first;
  if (deviceId === null || !mayTrustDevice(deps.settings)) return null;
  // No device is trusted past a requirement, not even where it comes after the trust.
  const required = await findAccountLevel(tx, policyOf(deps.settings), userId);
  if (!mayTrustDevice(deps.settings, required)) return null;
  return (await isTrusted(tx, userId, deviceId)) ? `${first}+device` : null;
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

/** Returns the event of a failed sign-in. */
export const failureEvent = ({ userAgent }: Client, { reason, email, userId }: Failure): AuditEvent => ({
  action: 'login_failed',
  actorId: null,
  resourceId: userId ?? '',
  details: { email, reason, user_agent: userAgent },
});

const recordFailure = (deps: LoginDeps, client: Client, failure: Failure): Promise<void> =>
  recordEvent(deps, client, failureEvent(client, failure));
