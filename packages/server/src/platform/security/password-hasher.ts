// Hashes passwords to argon2id PHC strings and verifies them and the hashes of other systems, a limited number at a time.
// It must not be called while holding a database connection or a lock: a call may wait for seconds.

import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import { readHash } from './password-hashes/read-hash.ts';
import { normalized, withPlainSpaces } from './password-hashes/scheme.ts';

// OWASP Password Storage Cheat Sheet, argon2id: 19 MiB (KiB here), 2 passes, 1 lane.
// The library's algorithm (argon2id), version (19), salt (16 bytes) and output (32 bytes) are its defaults.
const fullWork = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

// Salt of 16 bytes and output of 32 bytes in unpadded base64, whose last characters have no bits beyond these bytes.
const ownEnd = /\$[A-Za-z0-9+/]{21}[AQgw]\$[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]$/;

// Measured: one core finishes about 100 hashes with these parameters per second.
const HASHES_PER_CORE_PER_SECOND = 100;

// Most users give up after this time, so the turn is better used for the next call.
const DEFAULT_WAIT_MS = 5_000;

// As many as the gate lets wait for one email (lockout/service.ts): each guess costs one hash.
const DEFAULT_MAX_QUEUE_PER_KEY = 64;

export type PasswordHasherOptions = {
  /** Cost of one hash; memory in KiB. Default: OWASP's. Tests lower it; no setting reaches it. */
  work?: { memoryCost: number; timeCost: number; parallelism: number };
  /** Processes of this machine that share its cores. Default: 1. */
  processes?: number;
  /**
   * Concurrent hashes. Default: this process's share of the cores minus one, at least 1. Each takes 19 MiB and a thread of
   * libuv's pool.
   */
  concurrency?: number;
  /** Number of calls that may wait. Default: as many as `concurrency` cores finish within `waitMs`. */
  maxQueue?: number;
  /** Number of calls with one `key` that may wait. Default: 64. */
  maxQueuePerKey?: number;
  /** Longest wait in milliseconds, checked when the turn comes. Default: 5,000. */
  waitMs?: number;
};

/** How a call waits for its turn. */
export type HashTurn = {
  /** Calls with different keys take turns, so that many calls of one key do not delay the others. */
  key?: string;
  /** If it aborts before the turn, the call throws its reason and does no work. */
  signal?: AbortSignal;
  /** The place that this call takes. */
  place?: HashPlace;
};

/** A place in the queue for a call that will follow. Free it in any case: `free` does nothing for a used place. */
export type HashPlace = { free(): void };

export type PasswordHasher = {
  /**
   * Returns the PHC string of the whole password, in NFC and with plain spaces.
   * Throws HasherBusyError, or the signal's reason when it is aborted before its turn.
   */
  hash(password: string, turn?: HashTurn): Promise<string>;
  /**
   * Whether this is the hash of the password. Of a hash that `hash` creates today, in NFC; of any other, as typed or in
   * NFC. Other spaces than the plain one count as plain or as they are, as they were hashed before; this takes twice the
   * time, whatever the hash. Unless the hash is of the first kind, it also does the work of one hash: a `null`, an unreadable hash and
   * one beyond the bounds take the same time as a real one, so that it does not reveal whether an account exists. An
   * imported hash takes its own time besides (docs/decisions/0015-imported-passwords.md). Throws as `hash` does.
   */
  verify(phc: string | null, password: string, turn?: HashTurn): Promise<boolean>;
  /**
   * Keeps a place in the queue, so that the work before a call is not done in vain. Throws HasherBusyError if the queue has
   * none.
   */
  reserve(): HashPlace;
  /** Whether `hash` would create another kind of hash today (other parameters, or this one is unreadable). */
  needsRehash(phc: string): boolean;
  /** Returns the finished calls since the start, and the number of calls that wait and run now. */
  stats(): { hashes: number; verifications: number; queued: number; running: number };
  /** Returns since the start: the calls that were refused, and how long the others waited and were worked on. */
  totals(): { refused: number; waitSeconds: number; workSeconds: number };
};

/** The queue is full, or the turn came too late. Answer 503 with `Retry-After: retryAfterSeconds`. */
export class HasherBusyError extends Error {
  override readonly name = 'HasherBusyError';
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('too many passwords are waiting to be hashed');
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The password as `hash` hashes it. */
const hashedForm = (password: string): string => normalized(withPlainSpaces(password), 'NFC');

/**
 * Returns the forms in which an own hash may hold the password: the one of today and, where it differs, the former one, which
 * kept every kind of space.
 */
const ownForms = (password: string): string[] => [
  ...new Set([hashedForm(password), normalized(password, 'NFC')]),
];

/**
 * Verifies a hash of another kind. Other systems hash the password as typed; our own hashes with former parameters are of
 * its NFC. Returns false for a hash that cannot be used.
 */
async function isForeignHash(stored: string, password: string): Promise<boolean> {
  const reading = readHash(stored);
  if ('fault' in reading) return false;
  for (const form of new Set([password, ...ownForms(password)])) if (await reading.verify(form)) return true;
  return false;
}

type Bounds = { concurrency: number; maxQueue: number; maxQueuePerKey: number; waitMs: number };

/**
 * Runs at most `concurrency` tasks at once. The others wait, within the bounds. Keys take turns; tasks of one key keep
 * their order.
 */
function createQueue({ concurrency, maxQueue, maxQueuePerKey, waitMs }: Bounds) {
  // The key at the front has the next turn; then it goes to the back.
  const waiting = new Map<string, (() => void)[]>();
  const totals = { refused: 0, waitSeconds: 0, workSeconds: 0 };
  const busy = (): HasherBusyError => {
    totals.refused += 1;
    return new HasherBusyError(Math.max(1, Math.ceil(waitMs / 1_000)));
  };
  let queued = 0;
  let running = 0;
  let reserved = 0;

  function reserve(): HashPlace {
    if (running + queued + reserved >= concurrency + maxQueue) throw busy();
    reserved += 1;
    let isFree = false;
    return {
      free() {
        if (!isFree) reserved -= 1;
        isFree = true;
      },
    };
  }

  /** Waits for a turn. Returns whether it came later than `waitMs`. */
  async function enter(key: string): Promise<{ late: boolean }> {
    if (running < concurrency) {
      running += 1;
      return { late: false };
    }
    const own = waiting.get(key) ?? [];
    if (queued + reserved >= maxQueue || own.length >= maxQueuePerKey) throw busy();
    const arrival = performance.now();
    await new Promise<void>((begin) => {
      own.push(begin);
      waiting.set(key, own);
      queued += 1;
    });
    const waited = performance.now() - arrival;
    totals.waitSeconds += waited / 1_000;
    return { late: waited > waitMs };
  }

  // The turn is passed on, so that no later call overtakes the waiting ones.
  function leave(): void {
    const next = waiting.entries().next().value;
    if (next === undefined) {
      running -= 1;
      return;
    }
    const [key, own] = next;
    const begin = own.shift();
    waiting.delete(key);
    if (own.length > 0) waiting.set(key, own);
    queued -= 1;
    begin?.();
  }

  async function run<T>(task: () => Promise<T>, { key = '', signal, place }: HashTurn = {}): Promise<T> {
    signal?.throwIfAborted();
    // The call enters in the same tick, so that no other one gets the place.
    place?.free();
    const { late } = await enter(key);
    try {
      signal?.throwIfAborted();
      if (late) throw busy();
      const begin = performance.now();
      try {
        return await task();
      } finally {
        totals.workSeconds += (performance.now() - begin) / 1_000;
      }
    } finally {
      leave();
    }
  }

  return { run, reserve, queued: () => queued, running: () => running, totals: () => ({ ...totals }) };
}

export function createPasswordHasher(options: PasswordHasherOptions = {}): PasswordHasher {
  const work = options.work ?? fullWork;
  const prefix = `$argon2id$v=19$m=${work.memoryCost},t=${work.timeCost},p=${work.parallelism}$`;
  // Costs as much as a real hash. No password is known to have its all-zero output, and the result is ignored anyway.
  const dummyPhc = `${prefix}${'A'.repeat(22)}$${'A'.repeat(43)}`;
  const isOwn = (stored: string): boolean =>
    stored.startsWith(prefix) && stored.length === dummyPhc.length && ownEnd.test(stored);

  async function isHashOf(stored: string | null, password: string): Promise<boolean> {
    if (stored !== null && isOwn(stored)) return isOfOneForm(stored, password);
    try {
      return stored !== null && (await isForeignHash(stored, password));
    } finally {
      await isOfOneForm(dummyPhc, password);
    }
  }

  /** Verifies every form, so that the time does not reveal which one matched, nor whether there is an account. */
  async function isOfOneForm(own: string, password: string): Promise<boolean> {
    let matches = false;
    for (const form of ownForms(password)) if (await verify(own, form)) matches = true;
    return matches;
  }

  const share = Math.floor((availableParallelism() - 1) / (options.processes ?? 1));
  const concurrency = options.concurrency ?? Math.max(1, share);
  const waitMs = options.waitMs ?? DEFAULT_WAIT_MS;
  const maxQueue = options.maxQueue ?? Math.ceil((concurrency * HASHES_PER_CORE_PER_SECOND * waitMs) / 1_000);
  const maxQueuePerKey = options.maxQueuePerKey ?? DEFAULT_MAX_QUEUE_PER_KEY;
  const queue = createQueue({ concurrency, maxQueue, maxQueuePerKey, waitMs });
  let hashes = 0;
  let verifications = 0;

  return {
    hash: (password, turn) =>
      queue.run(async () => {
        const phc = await hash(hashedForm(password), work);
        hashes += 1;
        return phc;
      }, turn),

    verify: (phc, password, turn) =>
      queue.run(async () => {
        const answer = await isHashOf(phc, password);
        verifications += 1;
        return answer;
      }, turn),

    reserve: queue.reserve,

    needsRehash: (phc) => !isOwn(phc),

    stats: () => ({
      hashes,
      verifications,
      queued: queue.queued(),
      running: queue.running(),
    }),

    totals: queue.totals,
  };
}
