// Turns passwords into argon2id PHC strings and checks them, a bounded number at a time.
// Must not be called with a database connection or a lock held: a caller may wait seconds for its turn.

import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';

// OWASP Password Storage Cheat Sheet, argon2id: 19 MiB (KiB here), 2 passes, 1 lane.
// The library's algorithm (argon2id), version (19), salt (16 bytes) and output (32 bytes) are its defaults.
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;

// What a stored hash may ask of this machine: up to RFC 9106's second recommendation (64 MiB, 3 passes, 4 lanes),
// with room for more passes. The worst is 17 times our own work, about 0.2 s.
const bounds = { memoryCost: 65_536, timeCost: 10, parallelism: 4 } as const;

// Salt of 8 to 48 bytes and output of 16 to 64 bytes, unpadded base64.
const phcPattern =
  /^\$argon2id\$v=19\$m=([1-9]\d{0,5}),t=([1-9]\d?),p=([1-9])\$[A-Za-z0-9+/]{11,64}\$[A-Za-z0-9+/]{22,86}$/;

const prefix = `$argon2id$v=19$m=${parameters.memoryCost},t=${parameters.timeCost},p=${parameters.parallelism}$`;

// Costs what a hash of ours costs; no password is known to have its all-zero output, and it is answered false anyway.
const dummyPhc = `${prefix}${'A'.repeat(22)}$${'A'.repeat(43)}`;

// In UTF-16 units. Normalizing takes quadratic time on a run of combining marks: measured 6 ms at this length,
// 4 to 7 s for 100,000 of them. A longer password is hashed as it came, all of it.
const maxNormalizedLength = 4_096;

// Measured: one core finishes about 100 hashes of these parameters a second.
const hashesPerCorePerSecond = 100;

// A login form's patience: who waited longer has likely gone, and the turn is better spent on the next call.
const defaultWaitMs = 5_000;

export interface PasswordHasherOptions {
  /** Hashes at once. Default: the cores minus one, at least 1. Each takes 19 MiB and a thread of libuv's pool. */
  concurrency?: number;
  /** Calls that may wait. Default: as many as `concurrency` cores finish within `waitMs`. */
  maxQueue?: number;
  /** The longest wait in milliseconds, judged when the turn comes. Default: 5,000. */
  waitMs?: number;
}

export interface PasswordHasher {
  /**
   * The PHC string of the whole password, in NFC.
   * Throws HasherBusyError, or the signal's reason when it is aborted before its turn.
   */
  hash(password: string, signal?: AbortSignal): Promise<string>;
  /**
   * Whether this is the hash of the password, in NFC. `null`, an unreadable hash and one beyond our bounds cost the work
   * of a hash of ours and answer false, so that time does not tell whether an account exists. Throws as `hash` does.
   */
  verify(phc: string | null, password: string, signal?: AbortSignal): Promise<boolean>;
  /** True when the hash is not one that `hash` would make today (other parameters, or unreadable). */
  needsRehash(phc: string): boolean;
  /** Finished work since the start, and what waits and runs now. */
  stats(): { hashes: number; verifications: number; queued: number; running: number };
}

/** The queue is full, or the turn came too late. Answer 503 with `Retry-After: retryAfterSeconds`. */
export class HasherBusyError extends Error {
  override readonly name = 'HasherBusyError';
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('too many passwords are waiting to be hashed');
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

function isReadable(phc: string): boolean {
  const match = phcPattern.exec(phc);
  if (match === null) return false;
  const [memoryCost, timeCost, parallelism] = match.slice(1).map(Number) as [number, number, number];
  return memoryCost <= bounds.memoryCost && timeCost <= bounds.timeCost && parallelism <= bounds.parallelism;
}

function normalized(password: string): string {
  return password.length > maxNormalizedLength ? password : password.normalize('NFC');
}

async function hasHash(phc: string | null, password: string): Promise<boolean> {
  if (phc !== null && isReadable(phc)) {
    try {
      return await verify(phc, password);
    } catch {
      // Right in form, yet not decodable: costs and answers the same as any unreadable hash, below.
    }
  }
  await verify(dummyPhc, password);
  return false;
}

/** Runs at most `concurrency` tasks at once and the others in order of arrival, within both bounds. */
function createTurnstile(concurrency: number, maxQueue: number, waitMs: number) {
  const waiting: (() => void)[] = [];
  const busy = () => new HasherBusyError(Math.max(1, Math.ceil(waitMs / 1_000)));
  let running = 0;

  /** Takes a place; says whether it came later than `waitMs`. */
  async function enter(): Promise<{ late: boolean }> {
    if (running < concurrency) {
      running += 1;
      return { late: false };
    }
    if (waiting.length >= maxQueue) throw busy();
    const arrival = performance.now();
    await new Promise<void>((begin) => waiting.push(begin));
    return { late: performance.now() - arrival > waitMs };
  }

  // A place is handed on, so that no newcomer slips in between.
  function leave(): void {
    const begin = waiting.shift();
    if (begin === undefined) running -= 1;
    else begin();
  }

  async function run<T>(task: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    signal?.throwIfAborted();
    const { late } = await enter();
    try {
      signal?.throwIfAborted();
      if (late) throw busy();
      return await task();
    } finally {
      leave();
    }
  }

  return { run, queued: () => waiting.length, running: () => running };
}

export function createPasswordHasher(options: PasswordHasherOptions = {}): PasswordHasher {
  const concurrency = options.concurrency ?? Math.max(1, availableParallelism() - 1);
  const waitMs = options.waitMs ?? defaultWaitMs;
  const maxQueue = options.maxQueue ?? Math.ceil((concurrency * hashesPerCorePerSecond * waitMs) / 1_000);
  const turnstile = createTurnstile(concurrency, maxQueue, waitMs);
  let hashes = 0;
  let verifications = 0;

  return {
    hash: (password, signal) =>
      turnstile.run(async () => {
        const phc = await hash(normalized(password), parameters);
        hashes += 1;
        return phc;
      }, signal),

    verify: (phc, password, signal) =>
      turnstile.run(async () => {
        const answer = await hasHash(phc, normalized(password));
        verifications += 1;
        return answer;
      }, signal),

    needsRehash: (phc) => !phc.startsWith(prefix) || phc.length !== dummyPhc.length || !isReadable(phc),

    stats: () => ({
      hashes,
      verifications,
      queued: turnstile.queued(),
      running: turnstile.running(),
    }),
  };
}
