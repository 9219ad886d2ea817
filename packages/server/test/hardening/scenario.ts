// A scenario of the hardening suite: a test that counts what it did, for docs/hardening.md.
// It must not pass for nothing: one that tried nothing, or judged nothing, fails.
// HARDENING=full: as many rounds as the report is made from; else the bounded share that every run of the suite takes.
import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';

/** The chapters of the report, in its order. */
export const areas = {
  races: 'Races',
  tokens: 'Forged and stolen tokens',
  fuzzing: 'Hostile input',
  faults: 'Faults',
  timing: 'Equal work',
  http: 'HTTP at its edges',
  secrets: 'Secrets',
} as const;
export type Area = keyof typeof areas;

export type Tally = {
  /** Requests, tokens, inputs that were sent. */
  tried(count?: number): void;
  /** Faults that were really brought about. */
  injected(count?: number): void;
  /** Statements about the service that were checked afterwards, and held. */
  held(count?: number): void;
};

export type Outcome = {
  area: Area;
  name: string;
  tried: number;
  injected: number;
  held: number;
  ok: boolean;
};

export const isFull = process.env.HARDENING === 'full';

/** How often: in the share of every run, and in the full one. */
export const rounds = (share: number, full: number): number => (isFull ? full : share);

/** One line for each scenario, in a file for each process; scripts/hardening.ts reads them. */
export function report(outcome: Outcome): void {
  const folder = process.env.HARDENING_REPORT;
  if (folder) appendFileSync(join(folder, `${process.pid}.jsonl`), `${JSON.stringify(outcome)}\n`);
}

/**
 * `test` for one chapter. The name is a sentence that says what holds, and must be the same in every run: the report
 * is compared by names.
 */
export const scenariosOf =
  (area: Area) =>
  (name: string, run: (tally: Tally, t: TestContext) => Promise<void>): void => {
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
        report({ area, name, ...counts, ok });
      }
    });
  };
