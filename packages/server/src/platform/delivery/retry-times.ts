// When a delivery to a receiver of others is tried again, if it failed.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The waits after the first failures; the last one repeats. */
const waits = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  4 * HOUR,
  6 * HOUR,
];

/** A receiver that asks for more is asked again after this. */
const MAX_ASKED_MS = HOUR;

/**
 * Returns the milliseconds to wait after a failure, of which it is the `failures`th, from 1. Each wait is shortened by up to a
 * fifth, so that a backlog spreads out; `askedMs` is what the receiver asked for, which is kept up to an hour. `random` is from 0 to 1.
 */
export function retryAfterMs(failures: number, askedMs = 0, random: number = Math.random()): number {
  const wait = waits[Math.min(failures, waits.length) - 1] ?? waits[0] ?? 0;
  return Math.max(wait * (1 - 0.2 * random), Math.min(askedMs, MAX_ASKED_MS));
}
