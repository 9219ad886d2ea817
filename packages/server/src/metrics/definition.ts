// What a metric is, and what its samples are read from at a scrape.
import type { Deps } from '../deps.ts';
import type { JobStats } from '../platform/jobs/scheduler.ts';
import type { Histogram } from '../platform/metrics/histogram.ts';
import type { DatabaseFigures } from './figures-store.ts';
import type { Tallies } from './tallies.ts';

/** The state of the process at a scrape. */
export type Snapshot = {
  deps: Deps;
  tallies: Tallies;
  jobs: readonly JobStats[];
  /** Open connections of clients. */
  connections: number;
  /** Null if the database did not answer. */
  figures: DatabaseFigures | null;
};

export type Sample = { labels: Record<string, string>; value: number };

type Described = {
  name: string;
  /** One sentence, which is also the documentation. */
  help: string;
  /** Names of the labels. Their values come from the source code, never from a request. */
  labels?: readonly string[];
};

export type Definition = Described &
  (
    | { type: 'counter' | 'gauge'; read(snapshot: Snapshot): Sample[] }
    | {
        type: 'histogram';
        read(snapshot: Snapshot): { labels: Record<string, string>; histogram: Histogram }[];
      }
  );

/** Returns a metric without labels. It has no sample while `read` returns null. */
export const single = (
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  read: (snapshot: Snapshot) => number | null | undefined,
): Definition => ({
  name,
  type,
  help,
  read(snapshot) {
    const value = read(snapshot);
    return value === null || value === undefined ? [] : [{ labels: {}, value }];
  },
});

/** Returns a metric with one label, whose numbers are read as value → number. */
export const labelled = (
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  { label, read }: { label: string; read: (snapshot: Snapshot) => Readonly<Record<string, number>> },
): Definition => ({
  name,
  type,
  help,
  labels: [label],
  read: (snapshot) =>
    Object.entries(read(snapshot)).map(([value, number]) => ({ labels: { [label]: value }, value: number })),
});
