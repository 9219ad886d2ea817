// Reads the options that the imports share, and prints their summary.
import { type Call, optionOf, UsageError } from '../command.ts';
import type { FileType } from './formats/format.ts';
import type { Counts } from './report.ts';

/** Returns the value of an option whose empty value has no meaning. */
export function textOption(call: Call, name: string): string | undefined {
  const value = optionOf(call, name);
  if (value === '') throw new UsageError(`--${name} is empty.`);
  return value;
}

export function requiredOption(call: Call, name: string): string {
  const value = textOption(call, name);
  if (value === undefined) throw new UsageError(`--${name} is missing.`);
  return value;
}

export function typeOption(call: Call): FileType | undefined {
  const type = textOption(call, 'type');
  if (type === undefined || type === 'ndjson' || type === 'csv' || type === 'json') return type;
  throw new UsageError(`--type is "${type}"; write ndjson, csv or json.`);
}

const number = (value: number): string => value.toLocaleString('en');

/**
 * Prints how many rows there were of each verdict: on standard error if the verdicts are on standard output. `done`: the
 * rows of an earlier run, which took none of the time. Throws an Error if rows were refused, so that scripts notice.
 */
export function summarize(
  call: Call,
  counts: Counts,
  { report, done = 0, seconds }: { report: string | undefined; done?: number; seconds: number },
): void {
  const { created, would_create, exists, refused } = counts;
  const rows = created + would_create + exists + refused;
  const rate = Math.round((rows - done) / Math.max(seconds, 0.001));
  const isDry = call.values['dry-run'] === true;
  const made = isDry ? `${number(would_create)} would be created` : `${number(created)} created`;
  const line = `${number(rows)} rows: ${made}, ${number(exists)} exist already, ${number(refused)} refused. ${seconds.toFixed(1)} s, ${number(rate)} rows/s.`;
  if (report === undefined) process.stderr.write(`${line}\n`);
  else call.print(line);
  if (isDry) process.stderr.write('This was a dry run: nothing was changed.\n');
  if (refused > 0)
    throw new Error(
      `rows were refused: ${number(refused)}. Their verdicts ${report === undefined ? 'above' : `in ${report}`} give the reasons. Mend these rows and import the file again: records that exist are left alone.`,
    );
}
