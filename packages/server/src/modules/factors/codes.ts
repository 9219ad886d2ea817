// Decides about codes of authenticator apps and recovery codes, and counts the wrong ones.
// A recovery code is hashed before the transaction; everything else is decided under the lock of the user's row.
import { afterCommit } from '../../platform/db/transaction.ts';
import type { Client } from '../../platform/http/client.ts';
import { readRecoveryCode } from '../../platform/security/factors/recovery-codes.ts';
import { checkTotp, readTotpCode } from '../../platform/security/factors/totp.ts';
import type { PasswordHasher } from '../../platform/security/password-hasher.ts';
import type { Db, Tx } from '../../schema/database.ts';
import type { AuditEvent } from '../audit/service.ts';
import { countDeviceCodeFailure, isOpenForCodes } from '../devices/service.ts';
import {
  clearCodeFailures,
  countCodeFailure,
  countExemptFailure,
  MAX_CODES_IN_A_ROW,
} from './attempts-store.ts';
import type { CheckResult, FactorChecks } from './checks.ts';
import { findRecoveryHash, readCodeState, suspendTotp, useRecoveryCode, useTotpStep } from './store.ts';
import type { TotpVault } from './totp-vault.ts';

export type CodeDeps = {
  db: Db;
  hasher: PasswordHasher;
  totpVault: TotpVault;
  factorChecks: FactorChecks;
  settings: { lockoutAttempts: number; lockoutMinutes: number };
};

/** A code that waits for its decision. */
export type PreparedCode =
  | { method: 'totp'; code: string }
  /** `found`: the stored code that the text matches; null if it matches none. */
  | { method: 'recovery_code'; found: { selector: string; code_hash: string } | null };

export type Verdict =
  | {
      accepted: PreparedCode['method'];
      /** Recovery codes that are left, if one was used. */
      left?: number;
    }
  | {
      refused: 'wrong_code' | 'used_code' | 'locked';
      /** Whether it counts as a wrong code of this sign-in. */
      isCounted: boolean;
      lockedSeconds?: number;
      /** What the failure led to: a closed or a suspended app. */
      consequences: AuditEvent[];
    };

/** `deviceId`: the known device that the code comes from; null if there is none. */
type Holder = { userId: string; email: string; deviceId: string | null };

/** Returns the digits of a code of an app; null for what is none. */
export const totpCodeIn = readTotpCode;

/** Prepares a recovery code. Hashes as long for a text that is no code as for one. */
export async function prepareRecoveryCode(
  deps: CodeDeps,
  client: Client,
  userId: string,
  input: string,
): Promise<PreparedCode> {
  const read = readRecoveryCode(input);
  const hash = read ? await findRecoveryHash(deps.db, userId, read.selector) : undefined;
  const turn = { key: `factor ${userId}`, signal: client.gone };
  const matches = await deps.hasher.verify(hash ?? null, read?.canonical ?? input, turn);
  const found = read && hash !== undefined && matches ? { selector: read.selector, code_hash: hash } : null;
  return { method: 'recovery_code', found };
}

/**
 * Decides about a code and uses it up. A wrong one is counted; `consequences` then hold what that led to. While the app is
 * closed, its codes are neither verified nor counted, except from a known device: somebody who has the password can shut one
 * door, not the house.
 */
export async function judgeCode(
  tx: Tx,
  deps: CodeDeps,
  holder: Holder,
  prepared: PreparedCode,
): Promise<Verdict> {
  const verdict = await (prepared.method === 'totp'
    ? judgeTotp(tx, deps, holder, prepared.code)
    : judgeRecoveryCode(tx, deps, holder, prepared.found));
  afterCommit(tx, () => deps.factorChecks.count(prepared.method, resultOf(verdict)));
  return verdict;
}

const refusals = { wrong_code: 'wrong', used_code: 'used', locked: 'locked' } as const;

/** Returns what the metrics call the verdict. */
export const resultOf = (verdict: { refused: keyof typeof refusals } | object): CheckResult =>
  'refused' in verdict ? refusals[verdict.refused] : 'accepted';

async function judgeTotp(tx: Tx, deps: CodeDeps, holder: Holder, code: string): Promise<Verdict> {
  const { userId, deviceId } = holder;
  const { secret_sealed, last_step, locked_seconds, now } = await readCodeState(tx, userId);
  const isClosed = locked_seconds !== null;
  const { lockoutAttempts } = deps.settings;
  if (isClosed && !(deviceId && (await isOpenForCodes(tx, { userId, deviceId }, lockoutAttempts))))
    return { refused: 'locked', isCounted: false, lockedSeconds: locked_seconds, consequences: [] };
  const secret = secret_sealed && deps.totpVault.open(userId, secret_sealed);
  // Without an app that works nothing was guessed.
  if (!secret) return { refused: 'wrong_code', isCounted: false, consequences: [] };
  const checked = checkTotp(secret, code, { now, lastStep: Number(last_step) });
  if (checked === null) return countWrong(tx, deps, holder, isClosed);
  if (checked === 'replayed' || !(await useTotpStep(tx, userId, checked.step)))
    return { refused: 'used_code', isCounted: false, consequences: [] };
  await clearCodeFailures(tx, userId);
  return { accepted: 'totp' };
}

async function judgeRecoveryCode(
  tx: Tx,
  deps: CodeDeps,
  holder: Holder,
  found: { selector: string; code_hash: string } | null,
): Promise<Verdict> {
  const left = found ? await useRecoveryCode(tx, holder.userId, found) : undefined;
  if (left === undefined) {
    // While the app is closed they would only keep its owner out for longer: their secret needs no limit of attempts.
    const { locked_seconds } = await readCodeState(tx, holder.userId);
    return locked_seconds === null
      ? countWrong(tx, deps, holder)
      : { refused: 'wrong_code', isCounted: true, consequences: [] };
  }
  await clearCodeFailures(tx, holder.userId);
  return { accepted: 'recovery_code', left };
}

/** `isExempt`: the app is closed to others, and the code came from a known device. */
async function countWrong(
  tx: Tx,
  deps: CodeDeps,
  { userId, email, deviceId }: Holder,
  isExempt = false,
): Promise<Verdict> {
  const { lockoutAttempts, lockoutMinutes } = deps.settings;
  const limits = { maxAttempts: lockoutAttempts, lockSeconds: lockoutMinutes * 60 };
  const failure = isExempt
    ? await countExemptFailure(tx, userId)
    : await countCodeFailure(tx, userId, limits);
  if (deviceId !== null) await countDeviceCodeFailure(tx, deviceId, limits);
  const about = { actorId: null, resourceId: userId };
  const consequences: AuditEvent[] = [];
  if (failure.locked_now)
    consequences.push({
      ...about,
      action: 'second_factor_locked',
      details: { email, failures: failure.total, until: failure.locked_until?.toISOString() },
    });
  if (failure.total >= MAX_CODES_IN_A_ROW && (await suspendTotp(tx, userId)))
    consequences.push({
      ...about,
      action: 'totp_suspended',
      details: { email, reason: 'wrong_codes', failures: failure.total },
    });
  return { refused: 'wrong_code', isCounted: true, consequences };
}
