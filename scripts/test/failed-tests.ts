import { fileOf } from './batches.ts';

/** One failed test of a run. `file` is relative to the root; `reason` is the first line of its error. */
export type FailedTest = { file: string; place: string; name: string; reason: string };

const BLOCK = /^test at (.+):(\d+):\d+\n✖ (.+?)(?: \([\d.]+ms\))?\n(?: *\n)*( +.+)?/gm;

/** Returns the tests below `failing tests:` in the text of the spec reporter of node:test. */
export function failedTests(out: string): FailedTest[] {
  const [, ...parts] = out.split('✖ failing tests:');
  return parts.flatMap((part) =>
    [...part.matchAll(BLOCK)].map(([, path = '', line = '', name = '', reason = '']) => {
      // node:test knows a file that fails outside of its tests by the link that it ran.
      const file = fileOf(path);
      return { file, place: `${file}:${line}`, name: fileOf(name), reason: reason.trim() };
    }),
  );
}

/** Outcome of a scenario, of which node:test knows only the place that all scenarios share. */
type Scenario = { name: string; ok: boolean; file?: string };

/** Returns the files of the failed tests; that of a scenario is in its outcome. */
export const filesOf = (failures: readonly FailedTest[], outcomes: readonly Scenario[]): string[] => [
  ...new Set(
    failures.map(({ file, name }) => outcomes.find((one) => !one.ok && one.name === name)?.file ?? file),
  ),
];
