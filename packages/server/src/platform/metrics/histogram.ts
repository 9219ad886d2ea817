// Counts values in buckets, for a histogram of Prometheus.

export type Histogram = {
  /** Upper bounds, ascending. */
  readonly bounds: readonly number[];
  /** Values of each bucket, not cumulative; one number more than bounds, for the values above all of them. */
  readonly counts: readonly number[];
  readonly sum: number;
  add(value: number): void;
};

export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = Array.from({ length: bounds.length + 1 }, () => 0);
  let sum = 0;
  return {
    bounds,
    counts,
    get sum() {
      return sum;
    },
    add(value) {
      let bucket = 0;
      while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket += 1;
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      sum += value;
    },
  };
}
