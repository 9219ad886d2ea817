// Accepting passwords: the rules for a first one, and the one way in which an existing one is replaced.
// It must not hold a connection or a lock while it hashes or measures strength.
import type { Db, Tx } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import type { PasswordHasher } from '../../platform/security/password-hasher.ts';
import { recordEvent } from '../audit/service.ts';
import { endAllSessions, type SessionDeps } from '../sessions/service.ts';
import { clearAttempts } from './lockout-store.ts';
import { brokenRules } from './policy.ts';
import {
  findFormerHashes,
  lockEpoch,
  type PasswordHolder,
  replaceHash,
  replaceHashInPlace,
} from './store.ts';
import { type StrengthMeter, StrengthUnavailableError } from './strength.ts';

export { clearAttempts } from './lockout-store.ts';
export { findPasswordHolder, findPasswordHolderByEmail, lockEpoch, type PasswordHolder } from './store.ts';

export type PasswordDeps = SessionDeps & {
  hasher: PasswordHasher;
  strengthMeter: StrengthMeter;
  settings: { passwordMinLength: number; passwordMinStrength: number; passwordHistoryCount: number };
};

type Person = { email: string; first_name: string; last_name: string };

/** Sentences for every broken rule, empty when the password may be used. History is not asked. */
export async function judgePassword(deps: PasswordDeps, password: string, person: Person): Promise<string[]> {
  const score = await deps.strengthMeter
    .score(password, [person.email, person.first_name, person.last_name])
    .catch((cause: unknown) => {
      throw cause instanceof StrengthUnavailableError
        ? new AppError('overloaded', { retryAfterSeconds: 1 })
        : cause;
    });
  return brokenRules(password, {
    minLength: deps.settings.passwordMinLength,
    minStrength: deps.settings.passwordMinStrength,
    score,
  }).map((rule) => rule.message);
}

const rejection = (errors: string[]): AppError =>
  new AppError('password_rejected', {
    detail: { message: 'The password does not meet the password policy.', errors },
  });

/** The hash of an account's first password. Throws `password_rejected` with every broken rule. */
export async function hashFirstPassword(
  deps: PasswordDeps,
  password: string,
  person: Person,
): Promise<string> {
  const errors = await judgePassword(deps, password, person);
  if (errors.length > 0) throw rejection(errors);
  return deps.hasher.hash(password);
}

export type Replacement<T> = {
  holder: PasswordHolder;
  newPassword: string;
  action: 'password_changed' | 'password_reset' | 'password_set_by_admin';
  actorId: string;
  /** First of all, for rows that are locked together with the user's. A throw undoes everything. */
  prepare?: (tx: Tx) => Promise<void>;
  /** Next, under the user's lock: what entitles to the change. A throw undoes everything. */
  entitle?: (tx: Tx) => Promise<void>;
  /** Last in the transaction, after every session has ended. `now` is the transaction's time. */
  finish: (tx: Tx, user: { id: string; now: Date }) => Promise<T>;
};

/**
 * The one way to replace a password: rules, reuse, end of every session, commit, then the success event
 * (spec: Authentication, 8). Throws `password_rejected` (400), or `conflict` when the password changed meanwhile.
 */
export async function replacePassword<T>(
  deps: PasswordDeps,
  client: Client,
  change: Replacement<T>,
): Promise<T> {
  const { holder } = change;
  const about = { actorId: change.actorId, resourceId: holder.user_id };
  const errors = await judgePassword(deps, change.newPassword, holder);
  if (errors.length === 0 && (await isReused(deps, holder, change.newPassword)))
    errors.push('Choose a password that you have not used here before.');
  if (errors.length > 0) {
    await recordEvent(deps, client, {
      action: 'password_refused',
      ...about,
      details: { email: holder.email, attempted: change.action, broken_rules: errors.length },
    });
    throw rejection(errors);
  }
  const hash = await deps.hasher.hash(change.newPassword);
  const { result, ended } = await inTransaction(deps.db, async (tx) => {
    await change.prepare?.(tx);
    const locked = await lockEpoch(tx, holder.user_id);
    await change.entitle?.(tx);
    if (!locked || locked.password_epoch !== holder.password_epoch)
      throw new AppError('conflict', { detail: 'The password was changed a moment ago. Start again.' });
    await replaceHash(
      tx,
      { id: holder.user_id, newHistoryId: newId() },
      hash,
      deps.settings.passwordHistoryCount,
    );
    const ended = await endAllSessions(tx, holder.user_id, change.action);
    return { ended, result: await change.finish(tx, { id: holder.user_id, now: locked.now }) };
  });
  await recordEvent(deps, client, {
    action: change.action,
    ...about,
    details: { email: holder.email, sessions_ended: ended.length },
  });
  return result;
}

// Every hash is tried, so that the time tells nothing about which one matched.
async function isReused(deps: PasswordDeps, holder: PasswordHolder, password: string): Promise<boolean> {
  const former = await findFormerHashes(deps.db, holder.user_id, deps.settings.passwordHistoryCount);
  const hashes = holder.password_hash === null ? former : [holder.password_hash, ...former];
  const matches = await Promise.all(hashes.map((hash) => deps.hasher.verify(hash, password)));
  return matches.includes(true);
}

/** After a right password: brings a hash of older parameters up to date. */
export async function rehashWhenOld(
  deps: PasswordDeps,
  holder: PasswordHolder,
  password: string,
): Promise<void> {
  const old = holder.password_hash;
  if (old === null || !deps.hasher.needsRehash(old)) return;
  try {
    await replaceHashInPlace(deps.db, holder.user_id, old, await deps.hasher.hash(password));
  } catch (error) {
    // The next login tries again; this one has succeeded.
    deps.log.warn({ err: error }, 'a password hash was not brought up to date');
  }
}

/** Ends the lock on signing in and forgets the failures; an event when there was a lock. Answers whether there was. */
export async function clearLock(
  deps: { db: Db; log: Logger },
  client: Client,
  about: { actorId: string; userId: string; email: string; reason: 'password_set' | 'administrator' },
): Promise<boolean> {
  if (!(await clearAttempts(deps.db, about.email))) return false;
  await recordEvent(deps, client, {
    action: 'account_unlocked',
    actorId: about.actorId,
    resourceId: about.userId,
    details: { email: about.email, reason: about.reason },
  });
  return true;
}
