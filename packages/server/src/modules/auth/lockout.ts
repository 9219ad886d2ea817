// The lock on guessing passwords: every attempt takes a slot before the password is looked at and settles it after,
// so that no number of parallel attempts gets more guesses than allowed. Counts on the e-mail, account or not.
import { setTimeout as wait } from 'node:timers/promises';
import type { Db } from '../../database.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { recordEvent } from '../audit/service.ts';
import {
  findLock,
  lockOverdrawn,
  releaseSlot,
  removePassedLock,
  settleFailure,
  settleSuccess,
  takeSlot,
} from './lockout-store.ts';
import type { AccountMail } from './mails.ts';

export type LockoutDeps = {
  db: Db;
  log: Logger;
  accountMail: AccountMail;
  settings: { lockoutAttempts: number; lockoutMinutes: number };
};

/** An attempt under way. Exactly one of the three must be called; `release` after the others does nothing. */
export type Attempt = {
  succeed(): Promise<void>;
  /** `userId`: the account's, when there is one. */
  fail(userId: string | null): Promise<void>;
  release(): Promise<void>;
};

// While other attempts on the same e-mail hold all slots this one waits: up to 10 s, as long as a statement may take.
const SLOT_WAIT_MS = 25;
const SLOT_WAITS = 400;

/** A lock answers the seconds it still lasts; nothing is counted then and nothing may be verified. */
export async function beginAttempt(
  deps: LockoutDeps,
  client: Client,
  email: string,
): Promise<Attempt | { lockedSeconds: number }> {
  const slot = newId();
  for (let waits = 0; waits < SLOT_WAITS; waits += 1) {
    if (await takeSlot(deps.db, email, slot, deps.settings.lockoutAttempts))
      return attemptOf(deps, client, email, slot);
    const lock = await findLock(deps.db, email);
    if (lock !== null && lock > 0) return { lockedSeconds: lock };
    if (lock !== null) {
      if (await removePassedLock(deps.db, email))
        await recordEvent(deps, client, {
          action: 'account_unlocked',
          actorId: null,
          details: { email, reason: 'expired' },
        });
    } else if (!(await lockOverdrawn(deps.db, email, limitsOf(deps)))) await wait(SLOT_WAIT_MS);
  }
  throw new AppError('overloaded', { retryAfterSeconds: 1 });
}

const limitsOf = ({ settings }: LockoutDeps) => ({
  maxAttempts: settings.lockoutAttempts,
  lockSeconds: settings.lockoutMinutes * 60,
});

function attemptOf(deps: LockoutDeps, client: Client, email: string, slot: string): Attempt {
  let settled = false;
  const settle = async (run: () => Promise<void>): Promise<void> => {
    if (settled) return;
    settled = true;
    await run();
  };
  return {
    succeed: () => settle(() => settleSuccess(deps.db, email, slot)),
    release: () => settle(() => releaseSlot(deps.db, email, slot)),
    fail: (userId) => settle(() => countFailure(deps, client, email, slot, userId)),
  };
}

async function countFailure(
  deps: LockoutDeps,
  client: Client,
  email: string,
  slot: string,
  userId: string | null,
): Promise<void> {
  const { lockoutAttempts, lockoutMinutes } = deps.settings;
  const locked = await inTransaction(deps.db, async (tx) => {
    const lockedNow = await settleFailure(tx, email, slot, {
      maxAttempts: lockoutAttempts,
      lockSeconds: lockoutMinutes * 60,
    });
    // Queued for any e-mail; whether an account has it is found out when the mail is made, not while the caller waits.
    if (lockedNow) await deps.accountMail.enqueue(tx, 'account_locked', { email });
    return lockedNow;
  });
  if (!locked) return;
  deps.accountMail.wake();
  await recordEvent(deps, client, {
    action: 'account_locked',
    actorId: null,
    resourceId: userId ?? '',
    details: { email, failures: lockoutAttempts, minutes: lockoutMinutes },
  });
}
