// A target that this instance has, in memory: what is under way, and how many deliveries may be. It must not send, nor read a clock.
import { createLineup, type Lineup, MAX_STUCK, type Queued } from './lineup.ts';
import { retryAfterMs } from './retry-times.ts';
import { LEASE_SECONDS, type TargetState } from './targets-store.ts';

/** After so many failures without a success, a target waits as one. */
export const PROBED_AFTER = 20;
/** What is read at once, and after a read that took longer than `SLOW_READ_MS`: it passed over many rows of keys that wait. */
const READ_AT_ONCE = 200;
const READ_AFTER_SLOW = 2_000;
const SLOW_READ_MS = 20;
export const LEASE_MS = LEASE_SECONDS * 1_000;
const RENEW_BELOW_MS = (LEASE_MS * 2) / 3;
const TAKEN_AT_ONCE = 5;

export type Held = {
  id: string;
  /** Deliveries under way at once. */
  parallel: number;
  leaseUntil: number;
  lineup: Lineup;
  /** Noted in the database as under way, and not begun. */
  noted: Queued[];
  /** Writes of what is noted that run now. One follows the other: they must not overtake each other. */
  notes: number;
  sending: number;
  /** Failed attempts since the last success. Of those before the first probe, at most PROBED_AFTER count. */
  failures: number;
  /** No attempt begins before. */
  nextAt: number;
  isReading: boolean;
  /** The last read found nothing new: the next one waits for a round, or for an outcome. */
  isExhausted: boolean;
  /** How much the next read reads. */
  readLimit: number;
};

export const holdTarget = (
  target: Pick<Held, 'id' | 'parallel' | 'leaseUntil' | 'failures' | 'nextAt'>,
): Held => ({
  ...target,
  lineup: createLineup(),
  noted: [],
  notes: 0,
  sending: 0,
  isReading: false,
  isExhausted: false,
  readLimit: READ_AT_ONCE,
});

export const readLimitAfter = (ms: number): number => (ms > SLOW_READ_MS ? READ_AFTER_SLOW : READ_AT_ONCE);

/** Whether a target waits as one: it gets a single delivery at a time. */
export const isProbed = ({ failures, lineup }: Held): boolean =>
  failures >= PROBED_AFTER || lineup.stuck > MAX_STUCK;

/** How many deliveries may be under way at once. */
export const limitOf = (held: Held): number => (isProbed(held) ? 1 : held.parallel);

/**
 * How many deliveries to note as under way now. Some are noted before there is room for them, so that one write covers several and no
 * answer waits for it.
 */
export function roomToNote(held: Held): number {
  const limit = limitOf(held);
  if (limit === 1) return 1 - held.sending - held.noted.length;
  return held.noted.length * 2 > limit ? 0 : 2 * limit - held.sending - held.noted.length;
}

/**
 * Counts a failed attempt, in the order in which attempts end. `wasProbe`: it began while the target waited as one. The others
 * that were under way do not make it wait longer.
 */
export function countFailure(held: Held, wasProbe: boolean, askedMs: number | undefined, now: number): void {
  if (wasProbe) held.failures += 1;
  else held.failures = Math.max(held.failures, Math.min(held.failures + 1, PROBED_AFTER));
  if (held.failures >= PROBED_AFTER)
    held.nextAt = now + retryAfterMs(held.failures - PROBED_AFTER + 1, askedMs);
}

/** Returns the targets to take and to renew. A few are taken at once, so that instances share them. */
export function wantedOf(
  found: readonly TargetState[],
  held: ReadonlyMap<string, Held>,
  now: number,
): string[] {
  const isWanted = ({ id, is_mine, is_free, is_paused, has_waiting }: TargetState): boolean =>
    !is_paused &&
    has_waiting &&
    (is_mine || is_free) &&
    (held.get(id)?.leaseUntil ?? Number.NEGATIVE_INFINITY) - now < RENEW_BELOW_MS;
  const ids = found.filter(isWanted).map(({ id }) => id);
  const taken = ids.filter((id) => !held.has(id)).slice(0, TAKEN_AT_ONCE);
  return [...ids.filter((id) => held.has(id)), ...taken];
}
