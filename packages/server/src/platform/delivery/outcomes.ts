// Records how attempts ended, all that ended while the last ones were written at once. It must not begin any.
import { setTimeout as wait } from 'node:timers/promises';
import type { QueryExecutorProvider } from 'kysely';
import { type Held, PROBED_AFTER } from './held.ts';
import type { Queued } from './lineup.ts';
import { retryAfterMs } from './retry-times.ts';
import { readThese, type Settled, settleAttempts, type TargetState, type Told } from './targets-store.ts';

/** How an attempt ended. `cause`: why it failed; null: it arrived. */
export type Attempt = {
  status: number | null;
  cause: string | null;
  ms: number;
  /** When the target wants to be asked again. */
  askedMs?: number;
  /** Nothing is left to deliver: it is not tried again. */
  isLast?: true;
  /** The target wants nothing more. */
  isGone?: true;
};

type Outcome = { held: Held; one: Queued; attempt: Attempt; endedAt: number };

export type Recorder = {
  add(held: Held, one: Queued, attempt: Attempt): void;
  /** Resolves when everything is recorded; undefined: it is. */
  recording(): Promise<void> | undefined;
  /**
   * Records what another instance had under way when it ended: nobody knows whether it arrived, so it counts as tried, and is sent
   * again.
   */
  interrupted(target: TargetState, ids: readonly string[]): Promise<void>;
  /** Returns how the attempts of this process ended. */
  stats(): { sent: number; failed: number };
};

/** What is done with recorded outcomes. */
export type Recorded = {
  /** An endpoint wants nothing more, or has failed for so long that it is paused. */
  pause(id: string, reason: 'failing' | 'gone'): Promise<void>;
  /** Outcomes of a target are recorded. */
  done(held: Held): void;
  failed(error: unknown): void;
};

export const SETTLE_RETRY_MS = 1_000;
/** A target that has failed for so long is paused. */
const hopeless = { hopelessHours: 24, hopelessFailures: PROBED_AFTER };

/** Creates a recorder. A delivery is tried for `hours`, then it is dead. */
export function createRecorder(
  db: QueryExecutorProvider,
  hours: number,
  { pause, done, failed }: Recorded,
): Recorder {
  const stats = { sent: 0, failed: 0 };
  let outcomes: Outcome[] = [];
  let recording: Promise<void> | undefined;

  /** Records all outcomes there are, until there are none. Never rejects. */
  async function recordAll(): Promise<void> {
    while (outcomes.length > 0) {
      const batch = outcomes;
      outcomes = [];
      await record(batch);
    }
    recording = undefined;
  }

  async function record(batch: readonly Outcome[]): Promise<void> {
    const settled = batch.map(({ one, attempt, endedAt }) => settledOf(one, attempt, endedAt));
    const targets = new Set(batch.map(({ held }) => held));
    const paused = await write(batch, settled, [...targets]);
    const now = performance.now();
    for (const [index, { held, one }] of batch.entries()) {
      const { state, afterMs } = settled[index] ?? {};
      held.lineup.settle(one, state === 'waiting' ? now + (afterMs ?? 0) : null);
      // While others with its key wait in memory, the database has nothing that could begin.
      if (held.lineup.size === 0) held.isExhausted = false;
    }
    const gone = new Set(batch.filter(({ attempt }) => attempt.isGone).map(({ held }) => held.id));
    for (const id of new Set([...gone, ...paused])) await pause(id, gone.has(id) ? 'gone' : 'failing');
    for (const held of targets) done(held);
  }

  /** Returns the ids of targets that are to be paused. */
  async function write(
    batch: readonly Outcome[],
    settled: readonly Settled[],
    targets: readonly Held[],
  ): Promise<string[]> {
    const told = targets.map((held) => toldOf(held, batch));
    for (;;) {
      try {
        return await settleAttempts(db, settled, told, hopeless);
      } catch (error) {
        failed(error);
        // Others deliver again what is not recorded, when the lease has ended.
        if (targets.every(({ leaseUntil }) => leaseUntil < performance.now())) return [];
        await wait(SETTLE_RETRY_MS);
      }
    }
  }

  function settledOf(one: Queued, attempt: Attempt, endedAt: number): Settled {
    const { status, cause, ms } = attempt;
    if (cause === null) stats.sent += 1;
    else stats.failed += 1;
    const isLast = attempt.isLast || (one.triedForMs ?? 0) >= hours * 3_600_000;
    return {
      id: one.id,
      state: cause === null ? 'sent' : isLast ? 'dead' : 'waiting',
      afterMs: cause === null ? 0 : retryAfterMs(one.attempts + 1, attempt.askedMs),
      status,
      cause,
      ms: Math.round(ms),
      age: performance.now() - endedAt,
    };
  }

  return {
    add(held, one, attempt) {
      outcomes.push({ held, one, attempt, endedAt: performance.now() });
      recording ??= recordAll();
    },
    recording: () => recording,
    async interrupted({ id, failures, next_in_ms }, ids) {
      const attempt = { status: null, cause: 'interrupted', ms: 0 };
      const tried = await readThese(db, id, ids);
      const settled = tried.map((one) => settledOf(one, attempt, performance.now()));
      // It says nothing about the endpoint.
      const told = { id, failures, hasSucceeded: false, nextMs: next_in_ms, ended: ids };
      await settleAttempts(db, settled, [told], hopeless);
    },
    stats: () => ({ ...stats }),
  };
}

/** The state of a target now, which may be later than the outcomes. */
function toldOf(held: Held, batch: readonly Outcome[]): Told {
  const own = batch.filter((one) => one.held === held);
  return {
    id: held.id,
    failures: held.failures,
    hasSucceeded: own.some(({ attempt }) => attempt.cause === null),
    nextMs: held.failures >= PROBED_AFTER ? held.nextAt - performance.now() : null,
    ended: own.map(({ one }) => one.id),
  };
}
