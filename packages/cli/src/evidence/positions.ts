// Sets of whole numbers as ranges: positions of the audit log that no entry has yet, seals whose entries are gone.

type Range = readonly [number, number];

export class Ranges {
  private ranges: Range[];

  constructor(ranges: readonly Range[] = []) {
    this.ranges = [...ranges];
  }

  /** Adds ranges above those that are there. */
  add(ranges: readonly Range[]): void {
    for (const [from, to] of ranges) {
      const last = this.ranges.at(-1);
      if (last && last[1] + 1 === from) this.ranges[this.ranges.length - 1] = [last[0], to];
      else this.ranges.push([from, to]);
    }
  }

  get isEmpty(): boolean {
    return this.ranges.length === 0;
  }

  /** Takes the numbers from `first` to `last` out. Returns whether all of them were in one range. */
  take(first: number, last: number): boolean {
    const index = this.ranges.findIndex(([low, high]) => low <= first && last <= high);
    const [low, high] = this.ranges[index] ?? [0, 0];
    if (index < 0) return false;
    const rest: Range[] = [
      [low, first - 1],
      [last + 1, high],
    ];
    this.ranges.splice(index, 1, ...rest.filter(([from, to]) => from <= to));
    return true;
  }

  /** Takes those of the numbers out that are there. */
  drop(first: number, last: number): void {
    this.ranges = this.ranges.flatMap(([low, high]): Range[] => {
      if (high < first || low > last) return [[low, high]];
      const rest: Range[] = [
        [low, first - 1],
        [last + 1, high],
      ];
      return rest.filter(([from, to]) => from <= to);
    });
  }

  copy(): Ranges {
    return new Ranges(this.ranges);
  }
}

/** Yields the positions of a seal's entries, in the order of its leaves. An altered seal may name any number of them. */
export function* positionsOf({
  from,
  to,
  missing,
  late,
}: {
  from: number | null;
  to: number | null;
  missing: readonly Range[];
  late: readonly number[];
}): Generator<number, void> {
  yield* late;
  if (from === null || to === null) return;
  let next = from;
  for (const [first, last] of [...missing, [to + 1, to + 1] as const]) {
    for (; next < first; next += 1) yield next;
    next = last + 1;
  }
}
