// Reads what lies between a cursor and the ring of this process. It must not wait for changes.
import type { ResetReason } from '@castellan/contract/feed';
import type { Pool } from 'pg';
import type { Hub } from './hub.ts';
import type { Position } from './positions.ts';
import { type Entry, entryOf } from './ring.ts';
import { poll } from './store.ts';

/** Why it cannot go on from the cursor, or what lies between: then `isJoined`, the ring has the rest, or else there is more. */
export type CaughtUp =
  | { refused: ResetReason }
  | { refused: null; backlog: readonly Entry[]; isJoined: boolean };

/** `most`: so many changes are enough. `takes`: all of them are read, unless it refuses a further number of characters. */
export type Bound = { most: number } | { takes(size: number): boolean };

export async function catchUp(pool: Pool, hub: Hub, from: Position, bound: Bound): Promise<CaughtUp> {
  const backlog: Entry[] = [];
  let count = 0;
  for (let at = from; ; ) {
    if (hub.ring.has(at)) return { refused: null, backlog, isJoined: true };
    if ('most' in bound && count >= bound.most) return { refused: null, backlog, isJoined: false };
    const { isKnown, rows, head } = await poll(pool, at);
    if (!isKnown) return { refused: from.seq > head.seq ? 'other_history' : 'unknown_cursor' };
    const entries = rows.map((row) => entryOf(row, null));
    const size = entries.reduce((sum, { text }) => sum + text.length, 0);
    if ('takes' in bound && !bound.takes(size)) return { refused: 'behind' };
    backlog.push(...entries);
    count += entries.reduce((sum, entry) => sum + entry.count, 0);
    at = backlog.at(-1) ?? at;
    // The log is ahead of the ring.
    if (!hub.ring.has(at) && at.seq > hub.ring.head.seq) await hub.nextPoll();
  }
}
