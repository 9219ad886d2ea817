// Where no entry may stand, as the seals of an export say: the database could say otherwise. It must not read the database.
import type { Seal } from '@castellan/contract/evidence';
import type { IdRange, PositionRange } from './entries-store.ts';
import { FIRST_ID } from './log-store.ts';
import { rangesOf } from './retention.ts';

export type Holes = {
  /** Notes a seal; seals come in order. */
  note(seal: Seal, isRemoved: boolean): void;
  /** Returns positions that seals passed without an entry, or whose entries were removed. */
  positions(): readonly PositionRange[];
  /** Returns the gaps between the seals of entries without a position, and the ranges of those that were removed. */
  ids(): readonly IdRange[];
  /** The last sealed position, and the last sealed id of an entry without one. */
  readonly last: { position: number; id: string };
};

/** No entry has such a position unless somebody wrote it. */
const beforeFirst: PositionRange = [-Number.MAX_SAFE_INTEGER, 0];

export function createHoles(): Holes {
  const closed: PositionRange[] = [beforeFirst];
  const ids: IdRange[] = [];
  const last = { position: 0, id: FIRST_ID };
  /** Missing, and neither late nor void in a later seal: those of an hour. */
  let missing: PositionRange[] = [];

  function close(range: PositionRange): void {
    const before = closed.at(-1);
    if (before && before[1] + 1 === range[0]) closed[closed.length - 1] = [before[0], range[1]];
    else closed.push(range);
  }

  return {
    note(seal, isRemoved) {
      if (seal.kind === 'before_sealing') {
        ids.push([last.id, seal.from, false]);
        if (isRemoved) ids.push([seal.from, seal.to, true]);
        last.id = seal.to;
      }
      if (seal.kind !== 'entries') return;
      for (const position of seal.late) missing = without(missing, [position, position]);
      for (const range of seal.void) {
        missing = without(missing, range);
        close(range);
      }
      if (isRemoved) for (const range of rangesOf(seal)) close(range);
      missing.push(...seal.missing);
      last.position = seal.to ?? last.position;
    },
    positions: () => [...closed, ...missing],
    ids: () => ids,
    last,
  };
}

const without = (ranges: readonly PositionRange[], [first, last]: PositionRange): PositionRange[] =>
  ranges.flatMap(([from, to]): PositionRange[] => {
    if (to < first || from > last) return [[from, to]];
    const parts: PositionRange[] = [
      [from, first - 1],
      [last + 1, to],
    ];
    return parts.filter(([low, high]) => low <= high);
  });
