// Carries out a command for each row of NDJSON, with a verdict for each. A wrong row never stops the others.
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { type Call, Failure, type Option, UsageError } from '../command.ts';
import { linesOf } from '../input/lines.ts';
import { exitCodeOf } from './failures.ts';
import { jsonText, printable } from './text.ts';

export const fromOption: Option = {
  flags: '--from <file>',
  help: 'Read NDJSON, one JSON object a line; - is standard input. Each row gets a verdict, and a wrong row stops no other.',
};

export type Row = Readonly<Record<string, unknown>>;
type Verdict = { row: number; ok: boolean; id?: string; code?: string; message: string };

/** Opens the file of --from. */
export const openRows = (path: string): Readable => (path === '-' ? process.stdin : createReadStream(path));

/**
 * Runs `work` for each row, in order; it returns a sentence and the id. Prints a verdict for each. Rejects with a Failure
 * if a row failed. Stops at a failure that every later row would have: no answer, or a key that is not live.
 */
export async function eachRow(
  call: Pick<Call, 'values' | 'print'>,
  input: Readable,
  work: (row: Row) => Promise<{ message: string; id?: string }>,
): Promise<void> {
  const failed: number[] = [];
  let row = 0;
  try {
    for await (const line of linesOf(input)) {
      row += 1;
      if (line.trim() === '') continue;
      const verdict = await verdictOn(row, () => work(parseRow(line)));
      print(call, verdict);
      if (verdict.ok) continue;
      failed.push(row);
      if (verdict.isFinal)
        throw new Failure(
          verdict.exitCode,
          `stopped at row ${row}: ${verdict.message} The rows after it were not read.`,
        );
    }
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? new UsageError(`--from: ${error.message}.`) : error;
  }
  if (failed.length > 0)
    throw new Failure(
      1,
      `${failed.length} of ${row} rows failed: ${listed(failed)}. The others were carried out.`,
    );
}

const MAX_LISTED = 20;
const listed = (rows: readonly number[]): string =>
  rows.length > MAX_LISTED ? `${rows.slice(0, MAX_LISTED).join(', ')}, …` : rows.join(', ');

function parseRow(line: string): Row {
  let row: unknown;
  try {
    row = JSON.parse(line);
  } catch {
    throw new Failure(1, 'it is not JSON.');
  }
  if (row instanceof Object && !Array.isArray(row)) return row as Row;
  throw new Failure(1, 'it is not a JSON object.');
}

type Judged = Verdict & { isFinal: boolean; exitCode: number };

async function verdictOn(
  row: number,
  work: () => Promise<{ message: string; id?: string }>,
): Promise<Judged> {
  try {
    return { row, ok: true, ...(await work()), isFinal: false, exitCode: 0 };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { code, status, fields } = Object(error);
    const isAnswer = typeof code === 'string' && typeof status === 'number';
    if (!isAnswer && !(error instanceof Failure)) throw error;
    const exitCode = isAnswer ? exitCodeOf({ code, status }) : 1;
    const details = isAnswer
      ? fields.map(({ field, message }: Record<string, string>) => ` ${field}: ${message}`)
      : [];
    const message = [error.message, ...details].join('');
    return {
      row,
      ok: false,
      ...(isAnswer ? { code } : {}),
      message,
      isFinal: status === 401 || exitCode === 5,
      exitCode,
    };
  }
}

function print(call: Pick<Call, 'values' | 'print'>, { isFinal: _, exitCode: __, ...verdict }: Judged): void {
  const { row, ok, code, message } = verdict;
  call.print(
    call.values.json === true
      ? jsonText(verdict)
      : printable(`row ${row}: ${ok ? '' : `failed${code === undefined ? '' : ` (${code})`}: `}${message}`),
  );
}

/** Returns a text of a row. Throws a Failure that names the field. */
export function textIn(row: Row, name: string): string {
  const value = row[name];
  if (typeof value === 'string') return value;
  throw new Failure(1, `"${name}" is missing or is not a text.`);
}

/** Returns a list of texts of a row; empty if it is not there. */
export function textsIn(row: Row, name: string): string[] {
  const value = row[name] ?? [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new Failure(1, `"${name}" is not a list of texts.`);
}
