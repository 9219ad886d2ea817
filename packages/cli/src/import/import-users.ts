// `castellan import users`: reads a file of users and writes them to the database.
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { importUsers, type SourceRow, userRowFields } from '@castellan/server/modules/transfer/service';
import { type Call, UsageError } from '../command.ts';
import { formats } from './formats/index.ts';
import { onOwnConnection } from './long-work.ts';
import { mapped, type Reader, readMapping, readRows } from './mapping.ts';
import { requiredOption, summarize, textOption, typeOption } from './options.ts';
import { createReport, type Report, reportToOutput, resumeReport, type Subject } from './report.ts';
import { openRows } from './source.ts';

export async function importUsersCommand(call: Call): Promise<void> {
  const from = requiredOption(call, 'from');
  const reportPath = textOption(call, 'report');
  const { reader, type, source } = await readerOf(call);
  const rows = readRows(openRows(from, type, typeOption(call)), reader);
  const isResumed = call.values.resume === true;
  if (isResumed && (reportPath === undefined || from === '-'))
    throw new UsageError(
      '--resume needs --report, and a file in --from: standard input cannot be read again.',
    );
  await onOwnConnection(call, async (deps) => {
    const report = await openReport(reportPath, isResumed, () => subjectOf(call, from));
    const began = performance.now();
    try {
      await importUsers(
        deps,
        remaining(rows, report.done),
        {
          source,
          dryRun: call.values['dry-run'] === true,
          privileged: call.values.privileged === true,
          withoutPasswords: leavesPasswordsOut(call),
        },
        report.write,
      );
    } catch (error) {
      if (reportPath !== undefined && from !== '-')
        process.stderr.write(`The rows in ${reportPath} are done. Continue with --resume.\n`);
      throw error;
    } finally {
      await report.close();
    }
    const seconds = (performance.now() - began) / 1_000;
    summarize(call, report.counts, { report: reportPath, done: report.done, seconds });
  });
}

async function readerOf(call: Call) {
  const name = textOption(call, 'format');
  const map = textOption(call, 'map');
  const credentials = textOption(call, 'credentials');
  const format = name === undefined ? undefined : formats.get(name);
  if (name !== undefined && format === undefined)
    throw new UsageError(`--format is "${name}"; write ${[...formats.keys()].join(', ')}, or leave it out.`);
  if (credentials !== undefined && format?.credentials === undefined)
    throw new UsageError(`--credentials is a second file of ${withCredentials()} only.`);
  if (format?.credentials !== undefined && credentials === undefined && !leavesPasswordsOut(call))
    throw new UsageError(
      `--format ${name} needs --credentials <file>, ${format.credentials}. Without it, nobody has a password: choose that with --without-passwords.`,
    );
  const base: Reader = format ? await format.open(credentials) : (value) => (map === undefined ? value : {});
  return {
    reader: map === undefined ? base : mapped(readMapping(map, userRowFields), base),
    type: { type: format?.type ?? 'ndjson', key: format?.key ?? 'users' } as const,
    source: name ?? 'file',
  };
}

const leavesPasswordsOut = ({ values }: Call): boolean => values['without-passwords'] === true;

const withCredentials = (): string =>
  [...formats]
    .flatMap(([name, { credentials }]) => (credentials === undefined ? [] : [`${name} (${credentials})`]))
    .join(', ');

/** Leaves out the rows that have a verdict already. */
async function* remaining(rows: AsyncIterable<SourceRow>, done: number): AsyncGenerator<SourceRow> {
  for await (const row of rows) if (row.row > done) yield row;
}

async function openReport(
  path: string | undefined,
  isResumed: boolean,
  subject: () => Promise<Subject>,
): Promise<Report> {
  if (path === undefined) return reportToOutput();
  return isResumed ? resumeReport(path, await subject()) : createReport(path, await subject());
}

// Enough to tell two exports apart, and read at once.
const HEAD_BYTES = 65_536;

/** Describes the import, so that a resumed one is of the same file and with the same options. */
async function subjectOf({ values }: Call, from: string): Promise<Subject> {
  const { resume, report, from: _from, ...options } = values;
  const given = Object.entries(options).filter(([, value]) => value !== false && value !== undefined);
  return {
    import: 'users',
    from: from === '-' ? 'standard input' : await fingerprint(from),
    options: given
      .map(([name, value]) => (value === true ? `--${name}` : `--${name} ${value}`))
      .sort()
      .join(' '),
  };
}

async function fingerprint(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const digest = createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex');
    return `${basename(path)}, ${size} bytes, ${digest.slice(0, 16)}`;
  } finally {
    await file.close();
  }
}
