// A scenario of the hardening suite: a test that counts what it did, for docs/hardening.md.
// A scenario that tried or checked nothing fails.
// HARDENING=full runs all rounds, as for the report; otherwise a scenario runs a bounded share.
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { getCallSites } from 'node:util';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The chapters of the report, in order. */
export const areas = {
  races: 'Races',
  tokens: 'Forged and stolen tokens',
  factors: 'Around the second factor',
  fuzzing: 'Hostile input',
  faults: 'Faults',
  feed: 'The feed of changes',
  timing: 'Equal work',
  http: 'HTTP at its edges',
  secrets: 'Secrets',
} as const;
export type Area = keyof typeof areas;

export type Tally = {
  /** Counts requests, tokens or inputs that were sent. */
  tried(count?: number): void;
  /** Counts faults that were really caused. */
  injected(count?: number): void;
  /** Counts statements about the service that were checked afterwards and held. */
  held(count?: number): void;
};

export type Outcome = {
  area: Area;
  name: string;
  tried: number;
  injected: number;
  held: number;
  ok: boolean;
  /** The test file, relative to the root. */
  file?: string;
};

export const isFull = process.env.HARDENING === 'full';

/** Returns the number of rounds: `share` in every test run, `full` in a full run. */
export const rounds = (share: number, full: number): number => (isFull ? full : share);

/** Returns `count` elements, chosen by `number`; consecutive numbers together return all elements. */
export function spread<T>(all: readonly T[], count: number, number: number): T[] {
  const step = Math.min(count, all.length);
  const start = (number * step) % all.length;
  return [...all.slice(start), ...all.slice(0, start)].slice(0, step);
}

/** Returns all elements in a full run, otherwise those that `spread` chooses. */
export const byTurns = <T>(all: readonly T[], count: number, number: number): T[] =>
  spread(all, rounds(count, all.length), number);

/** Appends one line per scenario to a file per process, which scripts/hardening.ts reads. */
export function report(outcome: Outcome): void {
  const folder = process.env.HARDENING_REPORT;
  if (folder) appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(outcome)}\n`);
}

/**
 * Returns `test` for the scenarios of one area. Their names say what holds and must be the same in every run, because
 * the report is compared by names.
 */
export function scenariosOf(
  area: Area,
): (name: string, run: (tally: Tally, t: TestContext) => Promise<void>) => void {
  // node:test knows only where this file calls it.
  const [, caller] = getCallSites(2);
  const file = relative(root, fileURLToPath(caller?.scriptName ?? ''));
  return (name, run) => {
    test(name, async (t) => {
      const counts = { tried: 0, injected: 0, held: 0 };
      const countOf =
        (what: keyof typeof counts) =>
        (count = 1): void => {
          counts[what] += count;
        };
      const tally: Tally = { tried: countOf('tried'), injected: countOf('injected'), held: countOf('held') };
      let ok = false;
      try {
        await run(tally, t);
        assert.ok(counts.tried > 0, 'the scenario tried nothing');
        assert.ok(counts.held > 0, 'the scenario judged nothing');
        assert.ok(area !== 'faults' || counts.injected > 0, 'the scenario brought no fault about');
        ok = true;
      } finally {
        report({ area, name, ...counts, ok, file });
      }
    });
  };
}
