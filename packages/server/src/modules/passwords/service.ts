// Checks and hashes first passwords, and contains the only code path that replaces a password.
// It must not hold a connection or a lock while it hashes or measures strength.

import type { PasswordPolicyName, PasswordRule } from '@castellan/contract/auth';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/logging/log.ts';
import type { HashTurn, PasswordHasher } from '../../platform/security/password-hasher.ts';
import { withPlainSpaces } from '../../platform/security/password-hashes/scheme.ts';
import type { PasswordHolder } from '../../schema/credential-holder.ts';
import type { Tx } from '../../schema/database.ts';
import { type Actor, type AuditEvent, recordEvent } from '../audit/service.ts';
import { endAllSessions, type SessionDeps } from '../sessions/service.ts';
import type { BannedWords } from './banned-words.ts';
import type { BreachFile } from './breach-file.ts';
import { brokenRules, type PolicyLimits, passwordRules, REUSED_MESSAGE } from './policy.ts';
import { findFormerHashes, lockEpoch, replaceHash, replaceHashInPlace } from './store.ts';
import { type StrengthMeter, StrengthUnavailableError } from './strength.ts';

export type { CredentialHolder, PasswordHolder } from '../../schema/credential-holder.ts';
export { countingRefusals, type Refusals } from './refusal-limit.ts';
export {
  findPasswordHolder,
  findPasswordHolderByEmail,
  type LockedHolder,
  lockEpoch,
  removePassword,
} from './store.ts';

export type PasswordDeps = SessionDeps & {
  log: Logger;
  hasher: PasswordHasher;
  strengthMeter: StrengthMeter;
  /** Null if PASSWORD_BREACH_FILE is not set. */
  breachFile: BreachFile | null;
  settings: {
    passwordPolicy: PasswordPolicyName;
    passwordMinLength: number;
    passwordMinStrength: number;
    passwordHistoryCount: number;
    passwordBannedWords: BannedWords;
  };
};

type PolicyDeps = Pick<PasswordDeps, 'settings' | 'breachFile'>;

const limitsOf = ({ settings, breachFile }: PolicyDeps): PolicyLimits => ({
  policy: settings.passwordPolicy,
  minLength: settings.passwordMinLength,
  minStrength: settings.passwordMinStrength,
  bannedWords: settings.passwordBannedWords,
  hasBreachFile: breachFile !== null,
});

/** Returns the policy and its rules in force, in the order in which refusals report them. */
export const policyInForce = (deps: PolicyDeps): { policy: PasswordPolicyName; rules: PasswordRule[] } => ({
  policy: deps.settings.passwordPolicy,
  rules: passwordRules({ ...limitsOf(deps), historyCount: deps.settings.passwordHistoryCount }),
});

type Person = { email: string; first_name: string; last_name: string };

/** Returns a sentence for every broken rule; empty if the password is allowed. Does not check the history. */
async function checkPassword(deps: PasswordDeps, password: string, person: Person): Promise<string[]> {
  const score = await deps.strengthMeter
    .score(password, [person.email, person.first_name, person.last_name])
    .catch((cause: unknown) => {
      throw cause instanceof StrengthUnavailableError
        ? new AppError('overloaded', { retryAfterSeconds: 1 })
        : cause;
    });
  const isBreached = (await deps.breachFile?.has(password)) ?? false;
  return brokenRules(password, { ...limitsOf(deps), score, isBreached }).map((rule) => rule.message);
}

const rejection = (errors: string[]): AppError =>
  new AppError('password_rejected', {
    detail: { message: 'The password does not meet the password policy.', errors },
  });

/** Returns the hash of an account's first password. Throws `password_rejected` with every broken rule. */
export async function hashFirstPassword(
  deps: PasswordDeps,
  password: string,
  person: Person,
): Promise<string> {
  const errors = await checkPassword(deps, password, person);
  if (errors.length > 0) throw rejection(errors);
  return deps.hasher.hash(password, { key: person.email });
}

type ReplacementRequest = {
  holder: PasswordHolder;
  newPassword: string;
  action: 'password_changed' | 'password_reset' | 'password_set_by_admin' | 'invitation_accepted';
  actor: Actor;
};

/** The hash of an accepted password, for `replacePassword`. */
export type Replacement = Omit<ReplacementRequest, 'newPassword'> & { hash: string };

/**
 * Checks a new password against the rules and the former passwords, and hashes it. Throws `password_rejected` (400)
 * with every broken rule. Call `replacePassword` in a transaction next, and record `replacementEvent` after its commit;
 * no other code replaces a password (spec: Authentication, 8).
 */
export async function prepareReplacement(
  deps: PasswordDeps,
  client: Client,
  { newPassword, ...about }: ReplacementRequest,
): Promise<Replacement> {
  const { holder, action, actor } = about;
  const errors = await checkPassword(deps, newPassword, holder);
  const turn = { key: holder.email, signal: client.gone };
  if (errors.length === 0 && (await isReused(deps, holder, newPassword, turn))) errors.push(REUSED_MESSAGE);
  if (errors.length > 0) {
    await recordEvent(deps, client, {
      ...actor,
      action: 'password_refused',
      resourceId: holder.user_id,
      details: { email: holder.email, attempted: action, broken_rules: errors.length },
    });
    throw rejection(errors);
  }
  return { ...about, hash: await deps.hasher.hash(newPassword, turn) };
}

/**
 * Locks the user's row, replaces the password and ends every session of the user. A password that the user chose also
 * ends `must_change_password`. Returns how many sessions ended, and
 * the transaction's time. Throws `conflict` if the password has been changed by then.
 */
export async function replacePassword(
  tx: Tx,
  deps: PasswordDeps,
  { holder, hash, action }: Replacement,
): Promise<{ sessionsEnded: number; now: Date }> {
  const locked = await lockEpoch(tx, holder.user_id);
  if (!locked || locked.password_epoch !== holder.password_epoch)
    throw new AppError('conflict', { detail: 'The password was changed at the same time. Start again.' });
  await replaceHash(
    tx,
    { id: holder.user_id, newHistoryId: newId(), byUser: action !== 'password_set_by_admin' },
    hash,
    deps.settings.passwordHistoryCount,
  );
  const { count } = await endAllSessions(tx, holder.user_id, action);
  return { sessionsEnded: count, now: locked.now };
}

/** Returns the event of a replaced password. Record it after the commit. */
export const replacementEvent = (
  { holder, action, actor }: Replacement,
  sessionsEnded: number,
): AuditEvent => ({
  ...actor,
  action,
  resourceId: holder.user_id,
  details: { email: holder.email, sessions_ended: sessionsEnded },
});

/** Returns the event of a lock that ended with a new password. Record it after the commit. */
export const unlockEvent = ({ holder, actor }: Replacement): AuditEvent => ({
  ...actor,
  action: 'account_unlocked',
  resourceId: holder.user_id,
  details: { email: holder.email, reason: 'password_set' },
});

// Verifies every hash, so that the time does not reveal which one matched, and one after the other, so that a request
// has only one entry in the hasher's queue.
async function isReused(
  deps: PasswordDeps,
  holder: PasswordHolder,
  password: string,
  turn: HashTurn,
): Promise<boolean> {
  const former = await findFormerHashes(deps.db, holder.user_id, deps.settings.passwordHistoryCount);
  const hashes = holder.password_hash === null ? former : [holder.password_hash, ...former];
  let matches = false;
  for (const hash of hashes) if (await deps.hasher.verify(hash, password, turn)) matches = true;
  return matches;
}

/** Replaces a hash with outdated parameters, or one of a password with other spaces than plain ones. Call it after the password has been verified. */
export async function rehashWhenOld(
  deps: PasswordDeps,
  holder: PasswordHolder,
  password: string,
): Promise<void> {
  const old = holder.password_hash;
  if (old === null) return;
  try {
    const plain = withPlainSpaces(password);
    const isOfPlain = plain === password || (await deps.hasher.verify(old, plain));
    if (isOfPlain && !deps.hasher.needsRehash(old)) return;
    await replaceHashInPlace(deps.db, holder.user_id, old, await deps.hasher.hash(password));
  } catch (error) {
    // This sign-in has succeeded nevertheless; the next one tries again.
    deps.log.warn({ err: error }, 'a password hash could not be updated to the current parameters');
  }
}
