// How many refusals of one kind are recorded: what people can cause at will would fill the log.
// It must not ask the database about what it has been told to leave out already.
import type { RateLimiter } from '../../platform/limits/rate-limit.ts';

// This many entries of one kind a minute tell an operator all there is to know.
const FLOOD_RULE = { limit: 60, windowSeconds: 60 };
// The answer rounds the rest of the window up to seconds: what is remembered is a second less, and this at least. The
// next window may so begin to count a tenth of a second late, in the last second of a flood.
const LEAST_MEMORY_MS = 100;
// About a megabyte of keys. Whoever floods from more networks than this costs a reading of the database each.
const MAX_REMEMBERED = 10_000;

/** Until when a key is over its limit, by the monotonic clock in ms; oldest first. One map for each instance. */
const over = new WeakMap<RateLimiter, Map<string, number>>();

/** `last`: the others of this minute will be left out. Where counting fails nothing is left out. */
export async function countRefusal(
  limiter: RateLimiter,
  key: string,
): Promise<'recorded' | 'last' | 'left out'> {
  const remembered = over.get(limiter) ?? new Map<string, number>();
  over.set(limiter, remembered);
  const until = remembered.get(key);
  if (until !== undefined) {
    if (performance.now() < until) return 'left out';
    remembered.delete(key);
  }
  const counted = await limiter.hit(key, FLOOD_RULE).catch(() => null);
  if (counted === null) return 'recorded';
  if (counted.allowed) return counted.remaining === 0 ? 'last' : 'recorded';
  const rest = Math.max((counted.resetSeconds - 1) * 1_000, LEAST_MEMORY_MS);
  remembered.set(key, performance.now() + rest);
  const [oldest] = remembered.keys();
  if (remembered.size > MAX_REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  return 'left out';
}
