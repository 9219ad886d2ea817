// How long a failed delivery waits before it is tried again.

/** The first wait, and the longest, in milliseconds. */
export type Backoff = { firstMs: number; maxMs: number };

/**
 * Returns the milliseconds to wait after a failed attempt: `firstMs` after the first, doubled after each, at most `maxMs`.
 * Each is shortened by up to a fifth, so that a backlog spreads out. `random` is from 0 to 1.
 */
export const backoffMs = (
  { firstMs, maxMs }: Backoff,
  attempts: number,
  random: number = Math.random(),
): number => Math.min(firstMs * 2 ** (attempts - 1), maxMs) * (0.8 + 0.2 * random);
