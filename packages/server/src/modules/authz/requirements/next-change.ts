// Tells until when an answer holds if nothing is changed: what other services keep counts no longer.
// It must not judge anything itself: account.ts and call.ts do.

import type { Subject } from '../effective.ts';
import type { Graph } from '../graph/graph.ts';
import type { Need } from '../graph/needs.ts';
import { type AccountNeed, accountNeeds, type Policy } from './account.ts';
import { meets, type Proved } from './call.ts';

/** The longest time that is told, in seconds: for what never changes by time alone. */
const MOST_SECONDS = 86_400;

/** Returns when the earliest of the announced requirements takes effect, in milliseconds since 1970; Infinity for none. */
export function nextRequirement(
  judging: { graph: Graph; policy: Policy; now: number },
  account: Pick<Subject, 'is_superuser' | 'role_ids'>,
): number {
  const isAhead = ({ from }: AccountNeed): boolean => from > judging.now;
  return Math.min(
    Number.POSITIVE_INFINITY,
    ...accountNeeds(judging, account)
      .filter(isAhead)
      .map(({ from }) => from),
  );
}

/**
 * Returns when a proof that meets a need at `now` becomes too old for it, in milliseconds since 1970; Infinity if it never does, or
 * does not meet it.
 */
export function endOfProof(proved: Proved, need: Need | null | undefined, now: number): number {
  if (!need || need.maxAgeSeconds === null || proved.authTime === null || !meets(proved, need, now))
    return Number.POSITIVE_INFINITY;
  return proved.authTime.getTime() + need.maxAgeSeconds * 1_000;
}

/** Returns the whole seconds from `now` until the earliest of these times, each in milliseconds since 1970. */
export function secondsUntil(times: readonly number[], now: number): number {
  const seconds = Math.floor((Math.min(...times) - now) / 1_000);
  return Math.max(0, Math.min(MOST_SECONDS, seconds));
}
