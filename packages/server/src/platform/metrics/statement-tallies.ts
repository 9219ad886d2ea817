// Counts SQL statements by their label, for /metrics.
import type { StatementWatch } from '../db/watched-statements.ts';
import { createHistogram, type Histogram } from './histogram.ts';

type StatementTally = { count: number; failures: number; seconds: number };

export type StatementTallies = {
  watch: StatementWatch;
  byLabel: ReadonlyMap<string, Readonly<StatementTally>>;
  /** Times of all statements, in seconds. */
  durations: Histogram;
};

// Seconds, up to the statement timeout.
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 10];

export function createStatementTallies(): StatementTallies {
  const byLabel = new Map<string, StatementTally>();
  const durations = createHistogram(bounds);
  return {
    byLabel,
    durations,
    watch(label) {
      const sentAt = performance.now();
      return (error) => {
        const seconds = (performance.now() - sentAt) / 1_000;
        const tally = byLabel.get(label) ?? { count: 0, failures: 0, seconds: 0 };
        byLabel.set(label, tally);
        tally.count += 1;
        tally.seconds += seconds;
        if (error !== undefined) tally.failures += 1;
        durations.add(seconds);
      };
    },
  };
}
