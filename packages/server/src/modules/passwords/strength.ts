// How hard a password is to guess, by zxcvbn in one worker thread, with every cost bounded.
// Must not judge on the caller's thread: a score takes milliseconds to tenths of a second of pure computation.

import { Worker } from 'node:worker_threads';

export type StrengthScore = 0 | 1 | 2 | 3 | 4;

export interface StrengthRequest {
  password: string;
  userInputs: readonly string[];
}

export interface StrengthMeter {
  /**
   * The score from 0 to 4 of the first 64 characters (UTF-16 units, after NFC). What is written in `userInputs`
   * (e-mail address, names) and its parts count as the first guesses of an attacker.
   * A password on which the worker runs out of time or dies scores 0: what cannot be judged counts as weakest.
   * Throws StrengthUnavailableError when the worker does not start, the queue is full, or the meter is closed.
   */
  score(password: string, userInputs: readonly string[]): Promise<StrengthScore>;
  /** Ends the worker; calls still waiting throw StrengthUnavailableError. */
  close(): Promise<void>;
}

export interface StrengthMeterOptions {
  /** Milliseconds for one password. Default 3,000: fifteen times the slowest input found. */
  timeoutMs?: number;
  /** Milliseconds for the worker to load its dictionaries. Default 15,000; measured 0.2 s on an idle machine. */
  startTimeoutMs?: number;
  /** Calls that may wait. Default 50: a third of a second at the usual 6 ms each, ten seconds at the slowest. */
  maxQueue?: number;
  /** The worker's module. Default: strength-worker.ts. */
  worker?: URL;
  /** Told when the worker was lost: 'timeout' or the error that ended it. */
  onWorkerLost?: (reason: 'timeout' | Error) => void;
}

/** The meter cannot answer now, whatever the password. Answer 503. */
export class StrengthUnavailableError extends Error {
  override readonly name = 'StrengthUnavailableError';
}

// In UTF-16 units: what keeps the slowest password at 0.2 s (measured, with hostile user inputs).
const judgedLength = 64;
// Normalizing shrinks a text to no less than a quarter (UAX #15), and costs the square of a run of combining marks.
const unnormalizedLength = judgedLength * 4;

// An e-mail address and a few names, whole and in parts; an address has at most 254 characters (RFC 5321).
const maxUserInputs = 8;
const maxUserInputLength = 254;
const maxUserWords = 40;

// Measured: 35 MB when ready, and 20 MB less after some hundred passwords than without these limits, at the same speed.
// A worker that wants more ends alone, not with the process.
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };

interface Call {
  request: StrengthRequest;
  resolve: (score: StrengthScore) => void;
  reject: (error: Error) => void;
}

/** Starts no worker before the first call. The worker keeps the process alive only while a call waits for it. */
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
    // Neither the process's secrets nor its flags (an --eval's would keep a file from starting) concern the worker.
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

  // One password at a time is in the worker, so that only the one that breaks it suffers.
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
        const judged = password.slice(0, unnormalizedLength).normalize('NFC').slice(0, judgedLength);
        waiting.push({ request: { password: judged, userInputs: userWords(userInputs) }, resolve, reject });
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

/** The inputs, the local part of an address, and every word in them (names, domain labels); the whole ones first. */
function userWords(userInputs: readonly string[]): string[] {
  const inputs = userInputs
    .slice(0, maxUserInputs)
    .map((input) => input.slice(0, maxUserInputLength).normalize('NFC').toLowerCase());
  const localParts = inputs.map((input) => input.slice(0, Math.max(0, input.lastIndexOf('@'))));
  const words = inputs.flatMap((input) => input.split(/[^\p{L}\p{M}\p{N}]+/u));
  const all = [...inputs, ...localParts, ...words].map((word) => word.slice(0, judgedLength));
  // A single character is no guess worth counting.
  return [...new Set(all)].filter((word) => word.length > 1).slice(0, maxUserWords);
}
