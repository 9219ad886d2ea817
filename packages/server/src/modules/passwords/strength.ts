// Scores how hard a password is to guess, with zxcvbn in one worker thread and with bounded costs.
// It must not compute on the caller's thread: a score takes from a few milliseconds to 0.2 s of CPU time.

import { Worker } from 'node:worker_threads';
import { withPlainSpaces } from '../../platform/security/password-hashes/scheme.ts';

export type StrengthScore = 0 | 1 | 2 | 3 | 4;

export type StrengthRequest = {
  password: string;
  userInputs: readonly string[];
};

export type StrengthMeter = {
  /**
   * Returns the score, 0 to 4, of the first 64 UTF-16 units after NFC. The texts in `userInputs` (email, names) and
   * their parts count as the first guesses of an attacker. A password that times out or crashes the worker scores 0.
   * Throws StrengthUnavailableError if the worker does not start, the queue is full, or the meter is closed.
   */
  score(password: string, userInputs: readonly string[]): Promise<StrengthScore>;
  /** Ends the worker. Waiting calls throw StrengthUnavailableError. */
  close(): Promise<void>;
};

export type StrengthMeterOptions = {
  /** Timeout for one password in milliseconds. Default: 3,000, fifteen times the slowest input found. */
  timeoutMs?: number;
  /** Timeout for loading the dictionaries in milliseconds. Default: 15,000; measured 0.2 s on an idle machine. */
  startTimeoutMs?: number;
  /** Maximum waiting calls. Default: 50, which take 0.3 s at the usual 6 ms each and 10 s at the slowest. */
  maxQueue?: number;
  /** The worker's module. Default: strength-worker.ts. */
  worker?: URL;
  /** Called when the worker is lost, with 'timeout' or the error that ended it. */
  onWorkerLost?: (reason: 'timeout' | Error) => void;
};

/** The meter is unavailable for any password. Respond with 503. */
export class StrengthUnavailableError extends Error {
  override readonly name = 'StrengthUnavailableError';
}

// In UTF-16 units. Keeps the slowest password at 0.2 s (measured, with hostile user inputs).
const SCORED_LENGTH = 64;
// NFC shrinks a text to a quarter at most (UAX #15). Its time grows with the square of a run of combining marks.
const unnormalizedLength = SCORED_LENGTH * 4;

// An email and a few names, whole and in parts. An email has at most 254 characters (RFC 5321).
const MAX_USER_INPUTS = 8;
const MAX_USER_INPUT_LENGTH = 254;
const MAX_USER_WORDS = 40;

// Measured: the worker uses 35 MB when ready. After a few hundred passwords, the limits save 20 MB at the same speed.
// A worker that exceeds them ends without ending the process.
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };

type Call = {
  request: StrengthRequest;
  resolve: (score: StrengthScore) => void;
  reject: (error: Error) => void;
};

/**
 * Returns a meter that starts its worker at the first call. The worker keeps the process alive only while a call waits.
 */
export function createStrengthMeter(options: StrengthMeterOptions = {}): StrengthMeter {
  const timeoutMs = options.timeoutMs ?? 3_000;
  const startTimeoutMs = options.startTimeoutMs ?? 15_000;
  const maxQueue = options.maxQueue ?? 50;
  const url = options.worker ?? new URL('./strength-worker.ts', import.meta.url);

  const waiting: Call[] = [];
  let running: Call | undefined;
  let worker: Worker | undefined;
  let isReady = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  function start(): Worker {
    // The worker needs neither the secrets in the environment nor the process's flags; --eval would prevent its start.
    const started = new Worker(url, { env: {}, execArgv: [], resourceLimits });
    let fault: Error | undefined;
    started.on('message', (message: 'ready' | StrengthScore) => {
      if (worker === started) settle(message);
    });
    started.on('error', (error) => {
      fault = error instanceof Error ? error : new Error(String(error));
    });
    started.on('exit', (code) => {
      if (worker === started) lose(fault ?? new Error(`the worker ended with code ${code}`));
    });
    timer = setTimeout(lose, startTimeoutMs, 'timeout');
    return started;
  }

  function settle(message: 'ready' | StrengthScore): void {
    clearTimeout(timer);
    if (message === 'ready') isReady = true;
    else running?.resolve(message);
    running = undefined;
    advance();
  }

  function lose(reason: 'timeout' | Error): void {
    const failed = isReady ? [] : waiting.splice(0);
    discardWorker();
    running?.resolve(0);
    running = undefined;
    for (const call of failed)
      call.reject(new StrengthUnavailableError('the strength worker does not start'));
    options.onWorkerLost?.(reason);
    advance();
  }

  function discardWorker(): Promise<unknown> {
    clearTimeout(timer);
    const discarded = worker;
    worker = undefined;
    isReady = false;
    return Promise.resolve(discarded?.terminate());
  }

  // The worker gets one password at a time, so that a password that crashes it affects no other.
  function advance(): void {
    if (running !== undefined) return;
    if (waiting.length === 0) {
      worker?.unref();
      return;
    }
    worker ??= start();
    worker.ref();
    if (!isReady) return;
    running = waiting.shift()!;
    timer = setTimeout(lose, timeoutMs, 'timeout');
    worker.postMessage(running.request);
  }

  return {
    score: (password, userInputs) =>
      new Promise((resolve, reject) => {
        if (isClosed) throw new StrengthUnavailableError('the strength meter is closed');
        if (waiting.length >= maxQueue)
          throw new StrengthUnavailableError('too many passwords wait for their score');
        const read = withPlainSpaces(password.slice(0, unnormalizedLength));
        const scored = read.normalize('NFC').slice(0, SCORED_LENGTH);
        waiting.push({ request: { password: scored, userInputs: userWords(userInputs) }, resolve, reject });
        advance();
      }),

    async close() {
      isClosed = true;
      const left = running === undefined ? waiting.splice(0) : [running, ...waiting.splice(0)];
      running = undefined;
      const ended = discardWorker();
      for (const call of left) call.reject(new StrengthUnavailableError('the strength meter is closed'));
      await ended;
    },
  };
}

/** Returns the inputs, the local parts of emails, and every word in them (names, domain labels), whole inputs first. */
function userWords(userInputs: readonly string[]): string[] {
  const inputs = userInputs
    .slice(0, MAX_USER_INPUTS)
    .map((input) => input.slice(0, MAX_USER_INPUT_LENGTH).normalize('NFC').toLowerCase());
  const localParts = inputs.map((input) => input.slice(0, Math.max(0, input.lastIndexOf('@'))));
  const words = inputs.flatMap((input) => input.split(/[^\p{L}\p{M}\p{N}]+/u));
  const all = [...inputs, ...localParts, ...words].map((word) => word.slice(0, SCORED_LENGTH));
  // A single character is too short to matter.
  return [...new Set(all)].filter((word) => word.length > 1).slice(0, MAX_USER_WORDS);
}
