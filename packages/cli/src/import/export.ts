// `castellan export users|roles|groups`: writes records as NDJSON that `castellan import` reads.
// It must not leave a part of an export under the name of the whole, nor a file that others can read.

import { once } from 'node:events';
import { type FileHandle, link, open, unlink } from 'node:fs/promises';
import { type ExportKind, exportRecords } from '@castellan/server/modules/transfer/service';
import { printableLines } from '../api/text.ts';
import type { Call } from '../command.ts';
import { onOwnConnection } from './long-work.ts';
import { requiredOption } from './options.ts';

export async function exportCommand(call: Call, kind: ExportKind): Promise<void> {
  const to = requiredOption(call, 'to');
  const options = { withPasswordHashes: call.values['with-password-hashes'] === true };
  await onOwnConnection(call, async (deps) => {
    if (to === '-') {
      const count = await exportRecords(deps, kind, options, (text) => writeToOutput(text));
      process.stderr.write(`${summaryOf(count, kind)} exported.\n`);
    } else {
      const count = await intoFile(to, (write) => exportRecords(deps, kind, options, write));
      call.print(`${summaryOf(count, kind)} exported to ${to}.`);
    }
  });
}

const summaryOf = (count: number, kind: ExportKind): string =>
  `${count.toLocaleString('en')} ${kind === 'groups' ? 'role groups' : kind}`;

type Output = NodeJS.WritableStream & { destroyed: boolean; isTTY?: boolean };

/** Writes whole lines: to a program as they are, to a terminal without what it would obey. */
export async function writeToOutput(text: string, output: Output = process.stdout): Promise<void> {
  if (output.destroyed) throw new Error('the reader of standard output has closed it.');
  if (!output.write(output.isTTY ? printableLines(text) : text)) await once(output, 'drain');
}

type Write = (text: string) => Promise<void>;

/** Writes a file of mode 0600 that appears under its name when it is whole. Rejects if that name exists. */
async function intoFile<T>(path: string, work: (write: Write) => Promise<T>): Promise<T> {
  const part = `${path}.${process.pid}.part`;
  const file: FileHandle = await open(part, 'wx', 0o600).catch((error: Error) => {
    // As it is, it would be taken for a fault of a file that DATABASE_URL names.
    throw new Error(`The export cannot be written to ${path}: ${error.message}.`, { cause: error });
  });
  try {
    const result = await work((text) => file.appendFile(text));
    await file.sync();
    // A link, unlike a rename, does not replace a file that exists.
    await link(part, path).catch((error: NodeJS.ErrnoException) => {
      throw error.code === 'EEXIST' ? new Error(`${path} exists. Name another file, or remove it.`) : error;
    });
    return result;
  } finally {
    await file.close();
    await unlink(part);
  }
}
