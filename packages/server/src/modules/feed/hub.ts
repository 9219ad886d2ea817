// Follows the log of changes for the readers of one process, and says up to when it has all of it.
// While nobody reads, it sends no statement.
import type { FeedChange, ResetReason } from '@castellan/contract/feed';
import type { Pool } from 'pg';
import { AppError } from '../../platform/errors.ts';
import type { Logger } from '../../platform/logging/log.ts';
import { entryOf, Ring } from './ring.ts';
import { drawMark, isPassed, type Polled, poll, turnOn } from './store.ts';

type Listener = {
  /** New entries are in the ring. */
  changed(changes: readonly FeedChange[]): void;
  /** The ring begins anew: what readers know may be wrong. */
  reset(reason: ResetReason): void;
  /** `isLive` has become true. */
  live(): void;
};

export type Hub = {
  /** Follows the log until the returned function is called. Resolves after the first poll. Rejects if the database does not answer. */
  hold(): Promise<() => void>;
  /** What follows is valid while somebody holds the hub. */
  readonly ring: Ring;
  /** Whether no change can be missing: every transaction from before the feed was turned on has ended. */
  readonly isLive: boolean;
  /** The ring has all that had committed by then, by `performance.now()`; null if that cannot be said. */
  readonly completeAt: number | null;
  listen(listener: Listener): void;
  /** Resolves after the next poll, also one that failed. Rejects with `overloaded` (503) if the hub was stopped. */
  nextPoll(): Promise<void>;
  /** Sends no further statement. Who holds the hub can still read what it has. */
  stop(): void;
  stats(): HubStats;
};

type HubStats = {
  /** How far behind the ring is, in seconds; null while nobody reads. */
  lagSeconds: number | null;
};

const POLL_MS = 25;
/** After a poll that did not get everything. */
const MORE_MS = 5;
const FAILED_MS = 250;
const LIVE_CHECK_MS = 100;
const RENEW_MS = 3_600_000;
/** A poll that took longer says too little about when what it found was true. */
const SLOW_POLL_MS = 1_000;
/** Readers that ask again and again should not turn it off and on. */
const LINGER_MS = 30_000;

/** The state of following, from the first reader to the last. */
type Following = {
  ring: Ring;
  begunAt: number;
  completeAt: number | null;
  isLive: boolean;
  mark: string | null;
  checkedAt: number;
  renewedAt: number;
  timer: NodeJS.Timeout | undefined;
};

export function createHub(pool: Pool, log: Logger): Hub {
  const listeners: Listener[] = [];
  let holders = 0;
  let following: Following | null = null;
  let beginning: Promise<void> | null = null;
  let ending: NodeJS.Timeout | undefined;
  let isFailing = false;
  let isStopped = false;
  const waiting: (() => void)[] = [];

  const current = (): Following => {
    if (!following) throw new Error('nobody follows the log of changes');
    return following;
  };

  async function begin(): Promise<void> {
    await turnOn(pool);
    const begunAt = performance.now();
    const found = await poll(pool, null);
    const begun: Following = {
      ring: new Ring(found.head),
      begunAt,
      completeAt: null,
      isLive: false,
      mark: null,
      checkedAt: 0,
      renewedAt: begunAt,
      timer: undefined,
    };
    if (isTimely(found, begunAt)) begun.completeAt = begunAt;
    following = begun;
    // From here on others hold it, too, so that it has to go on, whatever happens.
    schedule(begun, POLL_MS);
    await becomeLive(begun);
  }

  /** A transaction that looked whether the feed was on before it was may commit unseen, so nothing counts until all have ended. */
  async function becomeLive(state: Following): Promise<void> {
    state.checkedAt = performance.now();
    state.mark ??= await drawMark(pool);
    if (!(await isPassed(pool, state.mark)) || following !== state) return;
    state.isLive = true;
    for (const one of listeners) one.live();
  }

  function schedule(state: Following, ms: number): void {
    clearTimeout(state.timer);
    if (following === state && !isStopped) state.timer = setTimeout(() => void follow(state), ms).unref();
  }

  async function follow(state: Following): Promise<void> {
    const begunAt = performance.now();
    let pauseMs = POLL_MS;
    try {
      const found = await poll(pool, state.ring.head);
      if (following === state) await take(state, found, begunAt);
      if (!found.isComplete) pauseMs = MORE_MS;
      if (isFailing) log.info('the change feed can be read again');
      isFailing = false;
    } catch (error) {
      pauseMs = FAILED_MS;
      if (!isFailing && following === state) log.warn({ err: error }, 'the change feed cannot be read');
      isFailing = true;
    } finally {
      for (const resume of waiting.splice(0)) resume();
      schedule(state, pauseMs);
    }
  }

  async function take(state: Following, found: Polled, begunAt: number): Promise<void> {
    const isTimelyNow = isTimely(found, begunAt);
    if (!found.isOn || !found.isKnown) {
      // Also when another instance turned it off and on between two polls: then its last position is gone.
      state.ring = new Ring(found.head);
      state.isLive = false;
      state.mark = null;
      if (isTimelyNow) state.completeAt = begunAt;
      for (const one of listeners) one.reset(found.isOn ? 'other_history' : 'off');
    } else {
      const { completeAt: before } = state;
      if (isTimelyNow) state.completeAt = begunAt;
      for (const [index, row] of found.rows.entries())
        state.ring.add(entryOf(row, index === found.rows.length - 1 ? state.completeAt : before));
      const changes = found.rows.flatMap((row) => row.changes);
      if (changes.length > 0) for (const one of listeners) one.changed(changes);
    }
    if (!found.isOn || begunAt - state.renewedAt > RENEW_MS) {
      await turnOn(pool);
      state.renewedAt = begunAt;
    }
    // Not before a poll has seen that it is on.
    if (found.isOn && !state.isLive && begunAt - state.checkedAt > LIVE_CHECK_MS) await becomeLive(state);
  }

  function end(): void {
    clearTimeout(ending);
    clearTimeout(following?.timer);
    following = null;
    for (const resume of waiting.splice(0)) resume();
  }

  function release(): void {
    holders -= 1;
    if (holders === 0 && !isStopped) ending = setTimeout(end, LINGER_MS).unref();
  }

  return {
    async hold() {
      clearTimeout(ending);
      holders += 1;
      try {
        if (!following) {
          beginning ??= begin().finally(() => {
            beginning = null;
          });
          await beginning;
        }
      } catch (error) {
        holders -= 1;
        if (holders === 0) end();
        throw error;
      }
      let isHeld = true;
      return () => {
        if (isHeld) release();
        isHeld = false;
      };
    },
    get ring() {
      return current().ring;
    },
    get isLive() {
      return current().isLive;
    },
    get completeAt() {
      return current().completeAt;
    },
    listen: (listener) => void listeners.push(listener),
    nextPoll: () =>
      new Promise((resolve, reject) => {
        if (isStopped) reject(new AppError('overloaded', { retryAfterSeconds: 1 }));
        else if (following) waiting.push(resolve);
        else resolve();
      }),
    stop() {
      isStopped = true;
      clearTimeout(ending);
      clearTimeout(following?.timer);
      for (const resume of waiting.splice(0)) resume();
    },
    stats: () => ({
      lagSeconds:
        following && holders > 0
          ? (performance.now() - (following.completeAt ?? following.begunAt)) / 1_000
          : null,
    }),
  };
}

const isTimely = (found: Polled, begunAt: number): boolean =>
  found.isComplete && performance.now() - begunAt <= SLOW_POLL_MS;
