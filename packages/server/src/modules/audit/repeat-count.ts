// Limits how many entries of one kind a subject can cause, because events repeated at will would fill the log.
// Entries left out are counted exactly. Once a subject is over the limit, no statement is sent for it.
import { createHash } from 'node:crypto';
import type { RateLimiter } from '../../platform/limits/rate-limit.ts';

// 60 entries of one kind a minute tell an operator enough.
const WINDOW_MS = 60_000;
const LIMIT = 60;
// Each instance admits this many a minute without a statement. The others count against the limit that instances share.
const OWN_SHARE = 10;
const sharedRule = { limit: LIMIT - OWN_SHARE, windowSeconds: WINDOW_MS / 1_000 };
// The shared limit rounds the remaining time up to seconds, so the subject is remembered for a second less, but at
// least for this time. In the last second of a flood, the next window may thus begin up to 0.1 s late.
const LEAST_MEMORY_MS = 100;
// At most about 6 MB of keys: see `subjectKey`. With more networks than this, each event costs a statement.
const MAX_REMEMBERED = 10_000;
// Maximum characters of an email. Longer text comes from public forms.
const MAX_SUBJECT_LENGTH = 254;
// Counts are reported within a minute, so the timer runs twice as often.
const REPORT_MS = 30_000;

/** `T` is the data needed to write an entry about the events left out. */
export type RepeatCount<T> = {
  /** Counts one event. Returns whether to record it; false once the subject is over the limit. */
  admits(key: string): Promise<boolean>;
  /** Counts one event, as `admits` does, if that takes no statement. Returns false, and counts nothing, if it does. */
  admitsAtOnce(key: string): boolean;
  /** Counts one event left out. For the first event of a key it resolves after the report, for later ones at once. */
  leaveOut(key: string, about: T): Promise<void>;
  /** Reports every count that was not reported yet. */
  reportAll(): Promise<void>;
  /** Number of windows in memory. */
  readonly size: number;
};

/** Returns a text of up to 254 characters unchanged, and a longer one as its SHA-256, so that keys are short. */
export const subjectKey = (text: string): string =>
  text.length <= MAX_SUBJECT_LENGTH ? text : `sha256:${createHash('sha256').update(text).digest('hex')}`;

// `until` is the end of the window by the monotonic clock, in milliseconds.
type Seen = { until: number; count: number; isOver: boolean };
type LeftOut<T> = { about: T; count: number };

/** `report` writes an entry that stands for `count` events left out. Instances with one limiter count together. */
export function createRepeatCount<T>(
  limiter: Pick<RateLimiter, 'hit'>,
  report: (about: T, count: number) => Promise<void>,
): RepeatCount<T> {
  const seen = new Map<string, Seen>();
  const leftOut = new Map<string, LeftOut<T>>();
  let timer: NodeJS.Timeout | undefined;

  function windowOf(key: string): Seen {
    const now = performance.now();
    const known = seen.get(key);
    if (known && now < known.until) return known;
    const fresh = { until: now + WINDOW_MS, count: 0, isOver: false };
    // Deleted first, so that the map is sorted by the start of the windows.
    seen.delete(key);
    seen.set(key, fresh);
    dropEnded(seen, now);
    return fresh;
  }

  function reportCount(key: string): Promise<void> {
    const one = leftOut.get(key);
    if (!one) return Promise.resolve();
    // Without an event since the last report, the key is removed.
    if (one.count === 0) leftOut.delete(key);
    const { count } = one;
    one.count = 0;
    return count === 0 ? Promise.resolve() : report(one.about, count);
  }

  async function reportAll(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    await Promise.all([...leftOut.keys()].map(reportCount));
    reportLater();
  }

  function reportLater(): void {
    if (leftOut.size > 0) timer ??= setTimeout(() => void reportAll(), REPORT_MS).unref();
  }

  return {
    async admits(key) {
      const window = windowOf(key);
      if (window.isOver) return false;
      window.count += 1;
      if (window.count <= OWN_SHARE) return true;
      // If counting fails, nothing is left out.
      const counted = await limiter.hit(key, sharedRule).catch(() => null);
      if (counted === null || counted.allowed) return true;
      window.isOver = true;
      window.until = performance.now() + Math.max((counted.resetSeconds - 1) * 1_000, LEAST_MEMORY_MS);
      return false;
    },
    admitsAtOnce(key) {
      const window = windowOf(key);
      if (window.isOver || window.count >= OWN_SHARE) return false;
      window.count += 1;
      return true;
    },
    async leaveOut(key, about) {
      const known = leftOut.get(key);
      if (known) {
        known.count += 1;
        known.about = about;
        return;
      }
      leftOut.set(key, { about, count: 0 });
      reportLater();
      const oldest = leftOut.size > MAX_REMEMBERED ? leftOut.keys().next().value : undefined;
      if (oldest !== undefined) {
        void reportCount(oldest);
        leftOut.delete(oldest);
      }
      await report(about, 1);
    },
    reportAll,
    get size() {
      return seen.size;
    },
  };
}

/** Removes ended windows up to the first running one. A later window that ends early stays for at most a minute. */
function dropEnded(seen: Map<string, Seen>, now: number): void {
  for (const [key, { until }] of seen) {
    if (now < until && seen.size <= MAX_REMEMBERED) return;
    seen.delete(key);
  }
}
