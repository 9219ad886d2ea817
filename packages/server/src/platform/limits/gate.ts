// Limits concurrent work per key (a user, an email, a refresh token) in this process; further work waits for its turn.
// It must not query the database, nor keep anything about an idle key.
import { performance } from 'node:perf_hooks';

export type GateOptions = {
  /** Number of tasks that run at once for one key. */
  running: number;
  /** Number of tasks that wait for one key. One more is refused at once. */
  waiting: number;
  /** Longest wait in milliseconds, checked when the turn comes. Default: 30,000. */
  maxWaitMs?: number;
};

/** The caller of the work. `gone` is read only if the work has to wait. */
type Caller = { readonly gone: AbortSignal };

/** Ends the turn; calls after the first do nothing. */
export type Leave = () => void;

export type Gate = {
  /**
   * Takes a turn: at once if one is free, otherwise in order of arrival. Throws GateFullError when too many wait or the
   * turn comes too late, and the reason of `caller.gone` when that aborts before the turn.
   */
  enter(key: string, caller?: Caller): Leave | Promise<Leave>;
  /** Runs `work` within one turn. Throws as `enter` does. */
  run<T>(key: string, caller: Caller | undefined, work: () => Promise<T>): Promise<T>;
  stats(): { keys: number; running: number; waiting: number };
};

/** Too many tasks run and wait for one key. Answer 503 with `Retry-After: retryAfterSeconds`. */
export class GateFullError extends Error {
  override readonly name = 'GateFullError';
  readonly retryAfterSeconds = 1;

  constructor() {
    super('too many tasks run and wait for one key');
  }
}

// As long as clients and proxies usually wait for a response.
const DEFAULT_MAX_WAIT_MS = 30_000;

type Waiter = { begin: () => void };
type Entry = { running: number; waiting: Waiter[] };

export function createGate(options: GateOptions): Gate {
  const { running: maxRunning, waiting: maxWaiting, maxWaitMs = DEFAULT_MAX_WAIT_MS } = options;
  const entries = new Map<string, Entry>();

  function leaveOf(key: string, entry: Entry): Leave {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      // The turn is passed on, so that no later task overtakes the waiting ones.
      const next = entry.waiting.shift();
      if (next) return next.begin();
      entry.running -= 1;
      if (entry.running === 0) entries.delete(key);
    };
  }

  async function wait(key: string, entry: Entry, caller: Caller | undefined): Promise<Leave> {
    const gone = caller?.gone;
    gone?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { begin: resolve };
    const giveUp = (): void => {
      const index = entry.waiting.indexOf(waiter);
      // Otherwise this task already has the turn, which is passed on below.
      if (index >= 0) entry.waiting.splice(index, 1);
      reject(gone?.reason);
    };
    gone?.addEventListener('abort', giveUp, { once: true });
    entry.waiting.push(waiter);
    const arrival = performance.now();
    await promise.finally(() => gone?.removeEventListener('abort', giveUp));
    const leave = leaveOf(key, entry);
    if (!gone?.aborted && performance.now() - arrival <= maxWaitMs) return leave;
    leave();
    gone?.throwIfAborted();
    throw new GateFullError();
  }

  function enter(key: string, caller?: Caller): Leave | Promise<Leave> {
    const entry = entries.get(key) ?? { running: 0, waiting: [] };
    entries.set(key, entry);
    if (entry.running < maxRunning) {
      entry.running += 1;
      return leaveOf(key, entry);
    }
    if (entry.waiting.length >= maxWaiting) throw new GateFullError();
    return wait(key, entry, caller);
  }

  return {
    enter,
    async run(key, caller, work) {
      const leave = await enter(key, caller);
      try {
        return await work();
      } finally {
        leave();
      }
    },
    stats() {
      const all = [...entries.values()];
      return {
        keys: all.length,
        running: all.reduce((sum, { running }) => sum + running, 0),
        waiting: all.reduce((sum, { waiting }) => sum + waiting.length, 0),
      };
    },
  };
}
