// Writes security events in batches, on one connection at a time. While the audit log cannot be written, entries wait
// in memory and requests continue without them. It must not filter entries, and must log every lost one.
import { setTimeout as wait } from 'node:timers/promises';
import { isConnectionLost, isDatabaseUnavailable, isRefused } from '../../platform/db/failures.ts';
import type { Logger } from '../../platform/logging/log.ts';
import type { Db } from '../../schema/database.ts';
import { commitEntries, type NewEntry } from './store.ts';

/** Refusals can be caused by anyone. They have their own queue, so that a flood of them displaces no other event. */
export type Lane = 'events' | 'refusals';

export type EventWriter = {
  /** True while the log cannot be written and entries are kept in memory. */
  readonly isHeldUp: boolean;
  /** Returns the entries that wait in memory, and those that were lost since the start. */
  stats(): { waiting: number; lost: number };
  /** Tells the writer that the log cannot be written. The writer tries again with the next entry. */
  holdUp(cause: unknown, action: string): void;
  /**
   * Resolves when the entry is written or lost, but within `MAX_WAIT_MS`, and at once while the log cannot be written.
   */
  write(entry: NewEntry, lane: Lane): Promise<void>;
  /**
   * Tries a last time to write the waiting entries, for at most `timeoutMs`. Logs the rest as lost, and never writes
   * them, or as in doubt if a commit was sent and not confirmed. Later entries are lost at once.
   */
  close(timeoutMs?: number): Promise<void>;
};

type Waiting = {
  entry: NewEntry;
  lane: Lane;
  resolve: () => void;
  /** Number of commits that were sent and not confirmed. Unless it is 0, the entry may have been written. */
  unanswered: number;
};

// An entry takes about a kilobyte. 20,000 events are more than a minute of sign-ins, which hashing limits to a few
// hundred a second. Refusals are limited by the caller.
const maxWaiting: Readonly<Record<Lane, number>> = { events: 20_000, refusals: 1_000 };
// Maximum entries in one statement: about a megabyte.
const BATCH = 1_000;
// How long a request waits for a slow database (security rule: audit writes have their own timeout).
const MAX_WAIT_MS = 3_000;
const RETRY_MS = 500;
// Longer than the lock timeout, so that a running statement ends and a last one can follow.
const CLOSE_TIMEOUT_MS = 2_000;

export function createEventWriter(db: Db, log: Logger): EventWriter {
  const lanes: Record<Lane, Waiting[]> = { events: [], refusals: [] };
  const closing = new AbortController();
  const inFlight = new Set<Waiting>();
  let running: Promise<void> | undefined;
  let isHeldUp = false;
  let hasGivenUp = false;
  let lost = 0;
  let lostInAll = 0;

  const lose = ({ action, details }: NewEntry, error: unknown, isInDoubt = false): void => {
    lost += 1;
    lostInAll += 1;
    const doubt = isInDoubt ? { may_be_written: true } : {};
    log.error({ err: error, action, request_id: requestIdOf(details), ...doubt }, 'audit entry lost');
  };

  const settle = (one: Waiting): void => {
    inFlight.delete(one);
    one.resolve();
  };

  function holdUp(cause: unknown, action: string): void {
    if (hasGivenUp) return;
    if (!isHeldUp)
      log.error({ err: cause, action }, 'audit entry delayed: the request was answered without it');
    isHeldUp = true;
    for (const { resolve } of [...inFlight, ...lanes.events, ...lanes.refusals]) resolve();
  }

  function endHoldUp(written: number): void {
    if (!isHeldUp || lanes.events.length + lanes.refusals.length > 0) return;
    isHeldUp = false;
    log.warn({ written, lost }, 'the audit log can be written again');
    lost = 0;
  }

  function next(): Waiting[] {
    const batch = lanes.events.splice(0, BATCH);
    return [...batch, ...lanes.refusals.splice(0, BATCH - batch.length)];
  }

  function putBack(batch: readonly Waiting[]): void {
    for (const lane of ['events', 'refusals'] as const)
      lanes[lane] = [...batch.filter((one) => one.lane === lane), ...lanes[lane]];
  }

  async function writeAll(): Promise<void> {
    let late = 0;
    for (let batch = next(); batch.length > 0; batch = next()) {
      const isLast = closing.signal.aborted;
      for (const one of batch) inFlight.add(one);
      const left = await writeTogether(batch);
      if (hasGivenUp) return;
      inFlight.clear();
      late += isHeldUp ? batch.length - left.length : 0;
      putBack(left);
      if (left.length === 0) endHoldUp(late);
      else if (isLast) break;
      else await wait(RETRY_MS, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
    }
    // In the same tick as the last check of the lanes, so that no entry is missed.
    running = undefined;
  }

  /**
   * Returns the entries that could not be written yet. If PostgreSQL refuses the batch, writes its entries one by one.
   */
  async function writeTogether(batch: readonly Waiting[]): Promise<Waiting[]> {
    const [first, ...others] = batch;
    if (!first) return [];
    try {
      await insert(batch);
      for (const one of batch) settle(one);
      return [];
    } catch (error) {
      if (hasGivenUp) return [...batch];
      if (isDatabaseUnavailable(error)) {
        holdUp(error, first.entry.action);
        return [...batch];
      }
      if (others.length > 0) return writeOneByOne(batch);
      lose(first.entry, error, first.unanswered > 0);
      settle(first);
      return [];
    }
  }

  async function writeOneByOne(batch: readonly Waiting[]): Promise<Waiting[]> {
    for (const [index, one] of batch.entries()) {
      const left = await writeTogether([one]);
      if (left.length > 0) return batch.slice(index);
    }
    return [];
  }

  async function insert(batch: readonly Waiting[]): Promise<void> {
    const action = batch[0]?.entry.action ?? '';
    const slow = setTimeout(
      () => holdUp(new Error(`the audit log did not answer within ${MAX_WAIT_MS} ms`), action),
      MAX_WAIT_MS,
    ).unref();
    try {
      await commit(batch);
    } catch (error) {
      // A lost connection loses no entry: they are sent again, and their ids keep them from being stored twice.
      if (!isConnectionLost(error)) throw error;
      await commit(batch);
    } finally {
      clearTimeout(slow);
    }
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    let isSent = false;
    const beforeCommit = (): void => {
      if (hasGivenUp) throw new Error('already reported as lost');
      isSent = true;
      for (const one of batch) one.unanswered += 1;
    };
    try {
      const entries = batch.map(({ entry }) => entry);
      // With `nowait`, no connection is held while the table is locked.
      await commitEntries(db, entries, { nowait: isHeldUp, beforeCommit });
    } catch (error) {
      if (isSent && isRefused(error)) for (const one of batch) one.unanswered -= 1;
      throw error;
    }
  }

  return {
    get isHeldUp() {
      return isHeldUp;
    },
    stats: () => ({
      waiting: inFlight.size + lanes.events.length + lanes.refusals.length,
      lost: lostInAll,
    }),
    holdUp,
    async write(entry, lane) {
      if (hasGivenUp) {
        lose(entry, new Error('the audit log is closed'));
        return;
      }
      if (lanes[lane].length >= maxWaiting[lane]) {
        lose(entry, new Error(`the queue of ${maxWaiting[lane]} audit entries (${lane}) is full`));
        return;
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      lanes[lane].push({ entry: { madeAt: performance.now(), ...entry }, lane, resolve, unanswered: 0 });
      running ??= writeAll();
      if (!isHeldUp) await promise;
    },
    async close(timeoutMs = CLOSE_TIMEOUT_MS) {
      closing.abort();
      await Promise.race([running, wait(timeoutMs, undefined, { ref: false })]);
      hasGivenUp = true;
      const left = [...inFlight, ...lanes.events, ...lanes.refusals];
      for (const { resolve } of left) resolve();
      const missing = left.filter(({ unanswered }) => unanswered === 0);
      if (missing.length > 0)
        log.error(
          { lost: countByAction(missing) },
          'audit entries lost: the log could not be written before shutdown',
        );
      const doubtful = left.filter(({ unanswered }) => unanswered > 0);
      if (doubtful.length > 0)
        log.error(
          { may_be_written: countByAction(doubtful) },
          'audit entries in doubt: the database did not confirm their commit before shutdown',
        );
    },
  };
}

const requestIdOf = (details: unknown): unknown =>
  typeof details === 'object' && details !== null && 'request_id' in details ? details.request_id : undefined;

function countByAction(waiting: readonly Waiting[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { entry } of waiting) counts[entry.action] = (counts[entry.action] ?? 0) + 1;
  return counts;
}
