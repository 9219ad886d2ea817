// The latest changes of an instance in memory, as they are sent: readers are places in it.
// It must not hold more than 4 MiB, nor know a reader.
import type { FeedChange } from '@castellan/contract/feed';
import type { Position } from './positions.ts';
import type { LogRow } from './store.ts';

export type Entry = Position & {
  /** The changes as members of a JSON array, without its brackets. */
  text: string;
  /** How many there are. */
  count: number;
  /**
   * A reader of this entry and those before has all that had committed by then, in milliseconds by `performance.now()`; null if that
   * cannot be said.
   */
  completeAt: number | null;
};

export const RING_BYTES = 4 * 1_048_576;

export const entryOf = ({ seq, stamp, changes }: LogRow, completeAt: number | null): Entry => ({
  seq,
  stamp,
  text: changes.map(textOf).join(','),
  count: changes.length,
  completeAt,
});

const textOf = ({ type, id, role_ids, permission_ids }: FeedChange): string =>
  JSON.stringify({ type, id, role_ids, permission_ids });

/** Ids are ASCII, so characters are bytes. */
const sizeOf = ({ text }: Entry): number => text.length;

export class Ring {
  readonly #entries: Entry[] = [];
  #base: Position;
  #bytes = 0;

  /** `base`: the position after which it begins. */
  constructor(base: Position) {
    this.#base = base;
  }

  /** The position of the newest entry. */
  get head(): Position {
    return this.#entries.at(-1) ?? this.#base;
  }

  /** Adds the next entry, and drops the oldest ones beyond the limit. */
  add(entry: Entry): void {
    this.#entries.push(entry);
    this.#bytes += sizeOf(entry);
    while (this.#bytes > RING_BYTES && this.#entries.length > 1) {
      const [oldest] = this.#entries.splice(0, 1);
      if (!oldest) return;
      this.#base = oldest;
      this.#bytes -= sizeOf(oldest);
    }
  }

  /** Returns whether the ring has everything after the position. */
  has({ seq, stamp }: Position): boolean {
    const found = seq === this.#base.seq ? this.#base : this.#entries[seq - this.#base.seq - 1];
    return found?.seq === seq && found.stamp === stamp;
  }

  /** Returns the entry after a position that the ring has. */
  after({ seq }: Position): Entry | undefined {
    return this.#entries[seq - this.#base.seq];
  }
}
