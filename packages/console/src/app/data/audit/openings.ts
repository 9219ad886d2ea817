// How many streams of the change feed a service account may have open, from the entries that say when it opened them.
// It must not claim an exact number: each instance knows its own streams alone, and the log does not record their ends.
import type { AuditLogEntry } from '@castellan/sdk';

/** Streams end after 15 minutes, and the tick that ends them comes within one. */
export const LONGEST_STREAM_MINUTES = 16;

export type Openings = {
  /** When it last began to read, as a stream or not; null if never. */
  lastAt: string | null;
  /** No more streams than so many are open. */
  most: number;
  /** Further streams were opened than were read. */
  isLowerBound: boolean;
};

/** `entries`: the latest ones, newest first, at most `limit`. */
export function openingsIn(
  entries: readonly AuditLogEntry[],
  limit: number,
  now: number = Date.now(),
): Openings {
  const since = now - LONGEST_STREAM_MINUTES * 60_000;
  const recent = entries.filter(({ timestamp }) => Date.parse(timestamp) > since);
  const most = recent.reduce((count, { details }) => {
    // The entry stands for so many events, and is none itself. Whether they were streams is not known.
    if (typeof details.more_left_out === 'number') return count + details.more_left_out;
    return count + (details.stream === true ? 1 : 0);
  }, 0);
  return { lastAt: entries[0]?.timestamp ?? null, most, isLowerBound: recent.length === limit };
}
