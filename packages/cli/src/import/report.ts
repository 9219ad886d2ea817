// Writes the verdicts of an import to a file or to standard output, and finds where an interrupted import goes on.
// It must not write a verdict before the database has the row.
import { type FileHandle, open } from 'node:fs/promises';
import type { Verdict } from '@castellan/server/modules/transfer/service';
import { jsonLine } from '@castellan/server/platform/logging/json-line';
import { linesOf } from './ndjson.ts';
import { openText } from './source.ts';

export type Counts = Record<Verdict['verdict'], number>;

export type Report = {
  /** The number of rows that have a verdict already. */
  done: number;
  counts: Counts;
  write(verdicts: readonly Verdict[]): Promise<void>;
  close(): Promise<void>;
};

const noCounts = (): Counts => ({ created: 0, would_create: 0, exists: 0, refused: 0 });

const count = (counts: Counts, verdicts: readonly Verdict[]): void => {
  for (const { verdict } of verdicts) counts[verdict] += 1;
};

const linesFor = (verdicts: readonly Verdict[]): string =>
  verdicts.map((verdict) => `${jsonLine(verdict)}\n`).join('');

/** Writes to standard output, and waits while its reader is slow. */
export function reportToOutput(): Report {
  const counts = noCounts();
  return {
    done: 0,
    counts,
    async write(verdicts) {
      count(counts, verdicts);
      const isFull = !process.stdout.write(linesFor(verdicts));
      if (isFull && !process.stdout.destroyed)
        await new Promise<void>((resolve) => {
          process.stdout.once('drain', resolve).once('close', resolve);
        });
    },
    close: async () => {},
  };
}

/** What the import is of. A report of another import is not continued. */
export type Subject = { import: string; from: string; options: string };

/** Writes to a new file that only its owner can read. Rejects if it exists. */
export async function createReport(path: string, subject: Subject): Promise<Report> {
  let file: FileHandle;
  try {
    file = await open(path, 'wx', 0o600);
  } catch (error) {
    throw error instanceof Error && 'code' in error && error.code === 'EEXIST'
      ? new Error(
          `${path} exists. Nothing was changed. Continue that import with --resume, or name another file.`,
        )
      : error;
  }
  await file.appendFile(`${jsonLine(subject)}\n`);
  return reportTo(file, 0, noCounts());
}

/** Continues a report. Removes a line that was not written to its end. */
export async function resumeReport(path: string, subject: Subject): Promise<Report> {
  const counts = noCounts();
  let done = 0;
  let bytes = 0;
  for await (const line of linesOf(openText(path))) {
    const read = readLine(line);
    if (read === undefined) break;
    if (bytes === 0) requireSame(path, read, subject);
    else {
      done += 1;
      count(counts, [read as Verdict]);
    }
    bytes += Buffer.byteLength(line) + 1;
  }
  if (bytes === 0) throw new Error(`${path} is not a report of an import. Nothing was changed.`);
  const file = await open(path, 'r+');
  // The latest line may lack its end only.
  if (bytes > (await file.stat()).size) await file.write('\n', bytes - 1);
  else await file.truncate(bytes);
  await file.close();
  return reportTo(await open(path, 'a'), done, counts);
}

function readLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function requireSame(path: string, read: unknown, subject: Subject): void {
  if (JSON.stringify(read) !== JSON.stringify(subject))
    throw new Error(
      `${path} is the report of another import, or its file or its options have changed. Nothing was changed.`,
    );
}

function reportTo(file: FileHandle, done: number, counts: Counts): Report {
  return {
    done,
    counts,
    async write(verdicts) {
      await file.appendFile(linesFor(verdicts));
      await file.datasync();
      count(counts, verdicts);
    },
    close: () => file.close(),
  };
}
