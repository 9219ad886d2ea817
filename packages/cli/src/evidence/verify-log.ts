// `castellan audit verify`: reads an export of the sealed audit log, or the database, and says whether it is what was sealed.
// It must not need the service: those who doubt the log verify it elsewhere.
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import type { EvidenceLine } from '@castellan/contract/evidence';
import { checkpointsIn } from '@castellan/server/platform/evidence/note-file';
import {
  NoteFormatError,
  type NoteVerifier,
  readVerifierKey,
} from '@castellan/server/platform/evidence/signed-note';
import { isObject } from '@castellan/server/platform/unknown-values';
import { jsonText } from '../api/text.ts';
import { type Call, Failure, listOf, optionOf, UsageError } from '../command.ts';
import { linesOf } from '../input/lines.ts';
import type { KeptHead } from './log-state.ts';
import { AlteredError, INCOMPLETE, UnreadableError, type Verdict } from './verdict.ts';
import { Verification } from './verification.ts';

const ALTERED = 1;

/** Rejects with a Failure whose exit code is the verdict, and with a UsageError for what cannot be read. */
export async function verifyLog(call: Call): Promise<void> {
  const path = optionOf(call, 'export');
  if ((path === undefined) === (call.values.database !== true))
    throw new UsageError('give --export with a file, or --database.');
  const heads = await Promise.all(listOf(call, 'heads').map(headsIn));
  const keys = listOf(call, 'key').map(keyIn);
  keepHeapSmall();
  const found =
    path === undefined
      ? await (await import('./database-lines.ts')).overDatabase(call, (lines, own) =>
          verify(lines, new Verification(heads.flat(), keys, own), { isExport: false }),
        )
      : await verify(linesIn(path), new Verification(heads.flat(), keys), { isExport: true });
  report(call, found);
}

/** Lines are garbage at once, and V8 would let them take twice the memory before it collects them: bench/evidence.ts. */
function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=20');
}

/** What was found, or what ended the verification. */
export type Found = Verdict | AlteredError | UnreadableError;

async function verify(
  lines: AsyncIterable<string | EvidenceLine>,
  verification: Verification,
  { isExport }: { isExport: boolean },
): Promise<Found> {
  let line = 0;
  const where = (): string => (isExport && line > 0 ? `line ${line}: ` : '');
  try {
    for await (const one of lines) {
      line += 1;
      verification.read(typeof one === 'string' ? parse(one) : one);
    }
    return verification.finish();
  } catch (error) {
    if (error instanceof AlteredError) return new AlteredError(`${where()}${error.message}`);
    if (error instanceof UnreadableError) return new UnreadableError(`${where()}${error.message}`);
    if (!isMalformed(error)) throw error;
    if (isExport)
      return new UnreadableError(`line ${line} is no line of an export with evidence: ${error.message}`);
    // Castellan never wrote it.
    return new AlteredError(
      `the database has no such seals, entries or keys as were written: ${error.message}`,
    );
  }
}

/** Returns whether it is the error of anyone who reads a line, a seal, a key or a head that lacks what each has. */
const isMalformed = (error: unknown): error is Error =>
  error instanceof TypeError ||
  error instanceof RangeError ||
  error instanceof SyntaxError ||
  error instanceof NoteFormatError;

async function* linesIn(path: string): AsyncGenerator<string, void> {
  try {
    yield* linesOf(createReadStream(path));
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw new UsageError(`--export: ${error.message}.`);
    throw error;
  }
}

function parse(text: string): EvidenceLine {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new UnreadableError('it is not JSON: the file was cut off, or is no export');
  }
  if (isObject(value)) return value as EvidenceLine;
  throw new UnreadableError('it is no JSON object');
}

function report(call: Call, found: Found): void {
  if (found instanceof UnreadableError) throw new UsageError(`${found.message}.`);
  const isJson = call.values.json === true;
  if (found instanceof AlteredError) {
    if (isJson) call.print(jsonText({ verdict: 'altered', reason: found.message }));
    throw new Failure(ALTERED, `the audit log was altered. ${found.message}.`);
  }
  const { counts, incomplete, removedAfterDays } = found;
  const verdict = incomplete.length === 0 ? 'whole' : 'incomplete';
  if (isJson) call.print(jsonText({ verdict, counts, incomplete, removed_after_days: removedAfterDays }));
  else {
    call.print(
      Object.entries(counts)
        .map(([name, count]) => `${name}: ${count}`)
        .join('\n'),
    );
    if (removedAfterDays !== null)
      call.print(
        `Entries were removed ${removedAfterDays} days after their seal at the earliest. Compare that with AUDIT_RETENTION_DAYS.`,
      );
    if (verdict === 'whole') call.print('The audit log is whole.');
  }
  if (verdict === 'incomplete')
    throw new Failure(
      INCOMPLETE,
      `nothing was found to be altered, but not all is shown: ${incomplete.join(' ')}`,
    );
}

async function headsIn(path: string): Promise<KeptHead[]> {
  const heads = [...checkpointsIn(await textOf(path))];
  if (heads.length === 0) throw new UsageError(`--heads: ${path} has no head.`);
  return heads;
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--heads: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

function keyIn(text: string): NoteVerifier {
  try {
    return readVerifierKey(text);
  } catch (error) {
    if (error instanceof NoteFormatError) throw new UsageError(`--key: ${error.message}.`);
    throw error;
  }
}
