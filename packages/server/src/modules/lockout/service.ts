// Locks an email after too many wrong passwords, whether or not an account has it. Every attempt takes a slot before
// the password is verified and settles it afterwards, so that parallel attempts get no more guesses than allowed.
import { setTimeout as wait } from 'node:timers/promises';
import { afterCommit } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import { createGate, type Gate, type Leave } from '../../platform/limits/gate.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { type AuditEvent, type Audited, inRecordedTransaction, recordEvent } from '../audit/service.ts';
import {
  type DeviceSettings,
  deviceHash,
  releaseDeviceSlot,
  settleDeviceFailure,
  settleDeviceSuccess,
  takeDeviceSlot,
} from '../devices/service.ts';
import {
  type AttemptHolder,
  findLock,
  lockOverdrawn,
  releaseSlot,
  removePassedLock,
  settleFailure,
  settleSuccess,
  takeSlot,
} from './store.ts';

export { type AttemptHolder, clearAttempts, deleteIdleAttempts, endLock } from './store.ts';

type LockMail = {
  /** Queues a mail, which is sent only if the transaction commits. Call `wake` after the commit. */
  enqueue(tx: Tx, kind: 'account_locked', payload: { email: string }): Promise<void>;
  wake(): void;
};

export type LockoutDeps = Audited & {
  /** Notifies the owner of a locked email. */
  accountMail: LockMail;
  /**
   * Limits parallel sign-ins with one email, resets of one user's password and uses of one mailed link in this process.
   */
  attemptGate: Gate;
  settings: { lockoutAttempts: number; lockoutMinutes: number } & Pick<
    DeviceSettings,
    'knownDeviceDays' | 'lockExemptsKnownDevices'
  >;
};

/** A running attempt. `succeed` or `fail` settles it. Always call `release` last: it ends the turn. */
export type Attempt = {
  /** The account with the email when the attempt began; null if there is none. */
  holder: AttemptHolder | null;
  /** Resets the failures; with `tx`, as part of it and only if it commits. */
  succeed(tx?: Tx): Promise<void>;
  /** Counts the failure and records `refusal`. `userId` is the id of the account, null if there is none. */
  fail(userId: string | null, refusal: AuditEvent): Promise<void>;
  release(): Promise<void>;
};

// Attempts on other instances may hold every slot. The few that passed the gate then retry with backoff: 14 times in
// about 10 s, the longest time that a statement may take.
const FIRST_WAIT_MS = 25;
const MAX_WAIT_MS = 1_000;
const MAX_TRIES = 14;

// Attempts on one email that run or wait in one process. Verifying a password takes about 20 ms.
const MAX_RUNNING_ATTEMPTS = 4;
const MAX_WAITING_ATTEMPTS = 64;

/**
 * Creates the gate of the process. It runs at most as many attempts as there are slots, so they never wait for a slot.
 */
export const createAttemptGate = (settings: { lockoutAttempts: number }): Gate =>
  createGate({
    running: Math.min(MAX_RUNNING_ATTEMPTS, settings.lockoutAttempts),
    waiting: MAX_WAITING_ATTEMPTS,
  });

/** An attempt that a lock refuses. */
export type LockedOut = { lockedSeconds: number; holder: AttemptHolder | null };

type AttemptOptions = {
  /** Those of the client's cookie. */
  deviceTokens?: readonly string[];
  /** Runs before the first statement. What it throws ends the attempt. */
  beforeSlot?: () => void;
};

/**
 * Begins an attempt, after waiting for a slot. If the email is locked, returns the remaining seconds instead; then
 * nothing is counted and no password may be verified. With LOCK_EXEMPTS_KNOWN_DEVICES, a device that the account knows
 * passes the lock until its own failures reach the limit. Throws GateFullError if too many attempts on the email are
 * waiting, and `overloaded` if no slot becomes free.
 */
export async function beginAttempt(
  deps: LockoutDeps,
  client: Client,
  email: string,
  { deviceTokens = [], beforeSlot = () => {} }: AttemptOptions = {},
): Promise<Attempt | LockedOut> {
  const leave = await deps.attemptGate.enter(email, client);
  try {
    beforeSlot();
    const begun = await takeSlotOrLock(deps, client, email, deviceTokens.map(deviceHash));
    if ('lockedSeconds' in begun) leave();
    else return attemptOf(deps, client, { email, ...begun, leave });
    return begun;
  } catch (error) {
    leave();
    throw error;
  }
}

async function takeSlotOrLock(
  deps: LockoutDeps,
  client: Client,
  email: string,
  hashes: readonly Buffer[],
): Promise<Begun | LockedOut> {
  const { lockoutAttempts: maxAttempts, knownDeviceDays, lockExemptsKnownDevices } = deps.settings;
  const slot = newId();
  let waitMs = FIRST_WAIT_MS;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const { taken, holder } = await takeSlot(deps.db, email, {
      slot,
      maxAttempts,
      devices: { hashes, knownDays: knownDeviceDays, areCounted: lockExemptsKnownDevices },
    });
    const device = lockExemptsKnownDevices ? (holder?.device_id ?? null) : null;
    if (taken) return { holder, slots: { slot, email, device } };
    const lock = await findLock(deps.db, email, limitsOf(deps).lockSeconds);
    if (lock !== null && lock > 0) {
      const passed = device === null ? 'closed' : await takeDeviceSlot(deps.db, device, slot, maxAttempts);
      if (passed === 'taken') return { holder, slots: { slot, email: null, device } };
      if (passed === 'closed') return { lockedSeconds: lock, holder };
      waitMs = await pause(client, waitMs);
    } else if (lock !== null) {
      const passed = await removePassedLock(deps.db, email);
      if (passed)
        await recordEvent(deps, client, {
          action: 'account_unlocked',
          actorId: null,
          resourceId: passed.userId ?? '',
          details: { email, reason: 'expired' },
        });
    } else if (!(await lockOverdrawn(deps.db, email, limitsOf(deps)))) {
      waitMs = await pause(client, waitMs);
    }
  }
  throw new AppError('overloaded', { retryAfterSeconds: 1 });
}

/** Waits, and returns how long to wait the next time. Throws if the client is gone. */
async function pause(client: Client, waitMs: number): Promise<number> {
  await wait(waitMs);
  if (client.gone.aborted) throw client.gone.reason;
  return Math.min(2 * waitMs, MAX_WAIT_MS);
}

const limitsOf = ({ settings }: LockoutDeps) => ({
  maxAttempts: settings.lockoutAttempts,
  lockSeconds: settings.lockoutMinutes * 60,
});

/** The id of a slot, and whose it is: of the email unless that is locked, and of the device if that counts too. */
type Slots = { slot: string; email: string | null; device: string | null };
type Begun = { holder: AttemptHolder | null; slots: Slots };

function attemptOf(
  deps: LockoutDeps,
  client: Client,
  { email, holder, slots, leave }: Begun & { email: string; leave: Leave },
): Attempt {
  let settled = false;
  const settle = async (run: () => Promise<void>): Promise<void> => {
    if (settled) return;
    settled = true;
    await run();
  };
  return {
    holder,
    async succeed(tx) {
      if (!tx) return settle(() => countSuccess(deps.db, slots));
      await countSuccess(tx, slots);
      // Until then `release` frees the slot: the transaction may fail.
      afterCommit(tx, () => {
        settled = true;
      });
    },
    release: async () => {
      try {
        await settle(() => releaseSlots(deps.db, slots));
      } finally {
        leave();
      }
    },
    fail: (userId, refusal) => settle(() => countFailure(deps, client, { email, slots, userId, refusal })),
  };
}

// The device before the email, everywhere: two transactions that lock both must not wait for each other.

async function countSuccess(db: Db, { slot, email, device }: Slots): Promise<void> {
  if (device !== null) await settleDeviceSuccess(db, device, slot);
  if (email !== null) await settleSuccess(db, email, slot);
}

async function releaseSlots(db: Db, { slot, email, device }: Slots): Promise<void> {
  if (device !== null) await releaseDeviceSlot(db, device, slot);
  if (email !== null) await releaseSlot(db, email, slot);
}

async function countFailure(
  deps: LockoutDeps,
  client: Client,
  {
    email,
    slots: { slot, device, email: counted },
    userId,
    refusal,
  }: { email: string; slots: Slots; userId: string | null; refusal: AuditEvent },
): Promise<void> {
  const { lockoutAttempts, lockoutMinutes } = deps.settings;
  const lockEvent: AuditEvent = {
    action: 'account_locked',
    actorId: null,
    resourceId: userId ?? '',
    details: { email, failures: lockoutAttempts, minutes: lockoutMinutes },
  };
  const locked = await inRecordedTransaction(deps, client, async (tx) => {
    if (device !== null) await settleDeviceFailure(tx, device, slot, limitsOf(deps));
    const lockedNow = counted !== null && (await settleFailure(tx, email, slot, limitsOf(deps)));
    // Queued for any email, so that the response time does not reveal whether an account has it.
    if (lockedNow) await deps.accountMail.enqueue(tx, 'account_locked', { email });
    return { result: lockedNow, events: lockedNow ? [lockEvent, refusal] : [refusal] };
  });
  if (locked) deps.accountMail.wake();
}
