// What waits for one target, in memory: which delivery may begin next, so that those with the same key follow each other.
// It must not send, nor read a clock: the caller passes the time.

export type Queued = {
  id: string;
  sourceId: string;
  type: string;
  key: string;
  isReplay: boolean;
  /** Attempts before this one. */
  attempts: number;
  /** Milliseconds until the next attempt is due; 0 or less: it is. */
  dueInMs: number;
  /** Milliseconds since the first attempt; null before it. */
  triedForMs: number | null;
};

/** More keys that have to wait are not kept: then the target takes one delivery at a time, of those that are known. */
export const MAX_STUCK = 1_000;

export type Lineup = {
  /** Adds what was read, in the order of the ids. A delivery that is not due makes its key wait. */
  add(read: readonly Queued[], now: number): void;
  /** Takes the next delivery whose key is free. */
  take(): Queued | undefined;
  /** Undoes `take`: the delivery is the next one with its key again. */
  putBack(one: Queued): void;
  /** Ends a delivery whose outcome is recorded. `retryAt`: its key waits until then. */
  settle(one: Queued, retryAt: number | null): void;
  /** Lets keys that wait go on; all of them without `keys`. */
  release(keys?: readonly string[]): void;
  /** Returns what must not be read again: the keys of what is in here, and those that wait at `now`. */
  excluded(now: number): string[];
  /** Returns the keys that waited and are due. */
  due(now: number): string[];
  readonly size: number;
  readonly underWay: number;
  readonly stuck: number;
};

export function createLineup(): Lineup {
  let waiting: Queued[] = [];
  /** Taken and not settled. One key is here once. */
  const open = new Set<string>();
  const stuckUntil = new Map<string, number>();

  return {
    add(read, now) {
      const stopped = new Set<string>();
      for (const one of read) {
        if (stopped.has(one.key)) continue;
        if (one.dueInMs > 0) {
          stuckUntil.set(one.key, now + one.dueInMs);
          stopped.add(one.key);
        } else {
          stuckUntil.delete(one.key);
          waiting.push(one);
        }
      }
    },
    take() {
      const index = waiting.findIndex(({ key }) => !open.has(key));
      if (index === -1) return undefined;
      const [one] = waiting.splice(index, 1);
      if (one) open.add(one.key);
      return one;
    },
    putBack(one) {
      open.delete(one.key);
      waiting.unshift(one);
    },
    settle({ key }, retryAt) {
      open.delete(key);
      if (retryAt === null) return;
      stuckUntil.set(key, retryAt);
      waiting = waiting.filter((one) => one.key !== key);
    },
    release(keys) {
      for (const key of keys ?? [...stuckUntil.keys()]) stuckUntil.delete(key);
    },
    excluded: (now) => {
      const keys = new Set([...open, ...waiting.map(({ key }) => key)]);
      for (const [key, until] of stuckUntil) if (until > now) keys.add(key);
      return [...keys];
    },
    due: (now) =>
      [...stuckUntil]
        .filter(([key, until]) => until <= now && !open.has(key) && !waiting.some((one) => one.key === key))
        .map(([key]) => key),
    get size() {
      return waiting.length;
    },
    get underWay() {
      return open.size;
    },
    get stuck() {
      return stuckUntil.size;
    },
  };
}
