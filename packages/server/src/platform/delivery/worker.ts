// Delivers what waits in the database to a destination outside: mails, entries of the audit log. Every instance has a worker.
// It must not hold a transaction or connection while it delivers, nor know what it delivers.
import { setTimeout as wait } from 'node:timers/promises';
import { type Backoff, backoffMs } from './backoff.ts';

/** Work that this instance has claimed. `attempts` counts this one. */
export type Claimed<W> = {
  work: readonly W[];
  /** When to look again, in milliseconds; 0 if more may be due now. Work that ends makes it look at once if it is 0. */
  nextMs: number;
};

/** Where work goes, and how its rows are read and settled. */
export type Destination<W extends { attempts: number }> = {
  /** How many deliveries run at once. */
  parallel: number;
  /** Claims due work, at most `free`. Its lease keeps other instances from it, also if this process dies. */
  claim(free: number): Promise<Claimed<W>>;
  /**
   * Makes one attempt. Rejects if it failed. `obsolete`: nothing is left to deliver. `claimedAt` is the time of the
   * claim by `performance.now()`.
   */
  send(work: W, claimedAt: number): Promise<'sent' | 'obsolete'>;
  /** Tells operators that an attempt failed. */
  failed(work: W, error: unknown): void;
  backoff: Backoff;
  /** Records how an attempt ended. Called again if it rejects. */
  settle: {
    sent(work: W): Promise<void>;
    obsolete(work: W): Promise<void>;
    retry(work: W, error: unknown, afterMs: number): Promise<void>;
  };
  /** Work that is not tried again is kept as dead. Without this, it is tried for as long as it takes. */
  deadLetter?: {
    /** Returns whether a failed attempt was the last. */
    isDue(work: W, error: unknown): boolean;
    settle(work: W, error: unknown): Promise<void>;
  };
  /** How long to wait after a claim that failed, in milliseconds. */
  unreachableMs: number;
  /** Tells operators what happened. */
  tell: {
    /** The first claim that failed. */
    unreachable(error: unknown): void;
    /** The first claim that succeeded after it. */
    reachable(): void;
    /** An outcome could not be recorded: the work is delivered again when its lease has ended. */
    unsettled(work: W, error: unknown): void;
    /** The worker stopped while this many deliveries were under way. */
    cutOff(underWay: number): void;
  };
};

export type DeliveryWorker = {
  start(): void;
  /** Looks for due work now. Call it after the commit of a transaction that added some. */
  wake(): void;
  /**
   * Claims nothing more and waits for what is under way, at most `timeoutMs`. The rest is delivered after the next start.
   * Further calls return the first call's promise.
   */
  stop(timeoutMs?: number): Promise<void>;
  /** Delivers due work without `start`, until none is due. Returns how many deliveries were sent. */
  drain(): Promise<number>;
  /** Returns how the attempts of this process ended. */
  stats(): { sent: number; retried: number; dead: number };
};

const settlePausesMs = [1_000, 2_000, 4_000, 8_000];
/** The part of a lease that is reserved for recording the outcome, with its repetitions. */
export const SETTLE_MS = 20_000;
const STOP_TIMEOUT_MS = 8_000; // supervisors kill after 10 s (Docker) to 90 s (systemd)

/**
 * Creates a worker. It delivers at least once: twice only if the process dies or loses the database between the acceptance
 * and its record.
 */
export function createDeliveryWorker<W extends { attempts: number }>(
  destination: Destination<W>,
): DeliveryWorker {
  const { parallel, backoff, settle, deadLetter, tell } = destination;
  const underWay = new Set<Promise<void>>();
  const stats = { sent: 0, retried: 0, dead: 0 };
  let isRunning = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> | undefined;
  let moreMayBeDue = false;
  let isUnreachable = false;
  let stopped: Promise<void> | undefined;

  /** Records how an attempt ended, with retries: a lost outcome would deliver twice. Never rejects. */
  async function record(work: W, outcome: () => Promise<void>): Promise<void> {
    for (const pauseMs of [...settlePausesMs, null]) {
      try {
        await outcome();
        return;
      } catch (error) {
        if (pauseMs === null) tell.unsettled(work, error);
        else await wait(pauseMs);
      }
    }
  }

  function fail(work: W, error: unknown): Promise<void> {
    destination.failed(work, error);
    if (deadLetter?.isDue(work, error)) {
      stats.dead += 1;
      return record(work, () => deadLetter.settle(work, error));
    }
    stats.retried += 1;
    const afterMs = backoffMs(backoff, work.attempts);
    return record(work, () => settle.retry(work, error, afterMs));
  }

  /** Returns whether the work was sent. Never rejects. */
  async function deliver(work: W, claimedAt: number): Promise<boolean> {
    let result: 'sent' | 'obsolete';
    try {
      result = await destination.send(work, claimedAt);
    } catch (error) {
      await fail(work, error);
      return false;
    }
    if (result === 'sent') stats.sent += 1;
    await record(work, () => settle[result](work));
    return result === 'sent';
  }

  function launch(work: W, claimedAt: number): void {
    const delivery = deliver(work, claimedAt).then(() => {
      underWay.delete(delivery);
      if (moreMayBeDue) pump();
    });
    underWay.add(delivery);
  }

  function lookAgainIn(ms: number): void {
    clearTimeout(timer);
    timer = isRunning ? setTimeout(pump, ms).unref() : undefined;
  }

  async function claimUntilFull(): Promise<void> {
    let nextMs = destination.unreachableMs;
    try {
      do {
        moreMayBeDue = false;
        const claimedAt = performance.now();
        const claimed = await destination.claim(parallel - underWay.size);
        nextMs = claimed.nextMs;
        if (nextMs === 0) moreMayBeDue = true;
        for (const work of claimed.work) launch(work, claimedAt);
      } while (moreMayBeDue && isRunning && underWay.size < parallel);
      if (isUnreachable) tell.reachable();
      isUnreachable = false;
    } catch (error) {
      if (!isUnreachable) tell.unreachable(error);
      isUnreachable = true;
    } finally {
      round = undefined; // in the same tick as the last check of moreMayBeDue, so that no wake is lost
      // While deliveries fill all places, the end of one looks again.
      lookAgainIn(nextMs === 0 ? destination.unreachableMs : nextMs);
    }
  }

  function pump(): void {
    moreMayBeDue = true;
    if (isRunning && underWay.size < parallel) round ??= claimUntilFull();
  }

  async function waitForDeliveries(timeoutMs: number): Promise<void> {
    const bound = new AbortController();
    const late = wait(timeoutMs, true, { signal: bound.signal }).catch(() => false);
    const ended = (async () => {
      await round;
      await Promise.all(underWay);
      return false;
    })();
    if (await Promise.race([late, ended])) tell.cutOff(underWay.size);
    bound.abort();
  }

  return {
    start() {
      stopped = undefined;
      isRunning = true;
      pump();
    },
    wake: pump,
    stop(timeoutMs = STOP_TIMEOUT_MS) {
      isRunning = false;
      clearTimeout(timer);
      stopped ??= waitForDeliveries(timeoutMs);
      return stopped;
    },
    async drain() {
      for (let sent = 0; ; ) {
        const claimedAt = performance.now();
        const { work } = await destination.claim(parallel);
        if (work.length === 0) return sent;
        const results = await Promise.all(work.map((one) => deliver(one, claimedAt)));
        sent += results.filter(Boolean).length;
      }
    },
    stats: () => ({ ...stats }),
  };
}
