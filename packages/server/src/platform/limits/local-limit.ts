// Counts hits per key in a fixed window, in this process only: it needs no statement and ignores other instances.
// Its memory must not grow with the number of keys ever seen.
import { performance } from 'node:perf_hooks';
import type { RateLimitResult, RateLimitRule } from './rate-limit.ts';

export type LocalLimit = {
  /**
   * Counts one hit, or `weight` of them; a window begins with its first hit. `firstRefusal`: the first hit over the limit in this window.
   */
  hit(key: string, weight?: number): RateLimitResult & { firstRefusal: boolean };
  /** Returns the state of a key that is over the limit, otherwise null. Counts nothing. */
  refusal(key: string): RateLimitResult | null;
  /** Returns the state of a key whose next hit would be over the limit, otherwise null. Counts nothing. */
  usedUp(key: string): RateLimitResult | null;
};

type Window = { hits: number; endsAt: number };

// About 15 MB of keys. Beyond it the oldest window is dropped, so its key starts again from 0.
const MAX_KEYS = 100_000;

/** Creates a limit. `now` is monotonic, in milliseconds. */
export function createLocalLimit(
  rule: RateLimitRule,
  { maxKeys = MAX_KEYS, now = () => performance.now() } = {},
): LocalLimit {
  // Sorted by the begin of the window, so that the first ones end first.
  const windows = new Map<string, Window>();

  const resultOf = ({ hits, endsAt }: Window): RateLimitResult => ({
    allowed: hits <= rule.limit,
    limit: rule.limit,
    remaining: Math.max(0, rule.limit - hits),
    resetSeconds: Math.max(1, Math.ceil((endsAt - now()) / 1_000)),
  });

  function open(key: string): Window {
    const time = now();
    windows.delete(key);
    for (const [oldest, { endsAt }] of windows) {
      if (endsAt > time && windows.size < maxKeys) break;
      windows.delete(oldest);
    }
    const window = { hits: 0, endsAt: time + rule.windowSeconds * 1_000 };
    windows.set(key, window);
    return window;
  }

  function stateOf(key: string): RateLimitResult | null {
    const window = windows.get(key);
    return window && window.endsAt > now() ? resultOf(window) : null;
  }

  return {
    hit(key, weight = 1) {
      const known = windows.get(key);
      const window = known && known.endsAt > now() ? known : open(key);
      const before = window.hits;
      window.hits += weight;
      return { ...resultOf(window), firstRefusal: before <= rule.limit && window.hits > rule.limit };
    },
    refusal(key) {
      const state = stateOf(key);
      return state?.allowed === false ? state : null;
    },
    usedUp(key) {
      const state = stateOf(key);
      return state?.remaining === 0 ? state : null;
    },
  };
}
