// Hands over an API key that was just made: once on standard output, or into a new file that only its owner reads.
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { Answer, NewApiKey } from '@castellan/sdk';
import { Failure, type Option, optionOf, UsageError } from '../command.ts';
import { isDryRun } from './changes.ts';
import type { Api } from './connection.ts';
import { jsonText, printable } from './text.ts';

export const fileOption: Option = {
  flags: '--to <file>',
  help: 'Write the key to this new file, which only you can read, instead of printing it.',
};

type Made = Answer<{ data: NewApiKey }> | null;

/** `make` returns null for a dry run. The file is reserved before, because the service shows a key only once. */
export async function handOver(api: Api, make: () => Promise<Made>): Promise<void> {
  const file = isDryRun(api) ? undefined : optionOf(api.call, 'to');
  if (file === undefined) return printKey(api, await make());
  const handle = await reserve(file);
  let isWritten = false;
  try {
    const answer = await make();
    if (!answer) return;
    await write(handle, answer.result.data);
    isWritten = true;
    const { key: _, ...data } = answer.result.data;
    const sentence = `Key ${data.prefix} is in ${file}.`;
    api.call.print(
      api.call.values.json === true ? jsonText({ ...answer.result, data }, 2) : printable(sentence),
    );
  } finally {
    await handle.close();
    if (!isWritten) await rm(file, { force: true });
  }
}

function printKey({ call }: Api, answer: Made): void {
  if (!answer) return;
  const key = keyIn(answer.result.data);
  call.print(call.values.json === true ? jsonText(answer.result, 2) : key);
  if (call.values.json === true) return;
  process.stderr.write('This is the only time that the key is shown. Keep it secret.\n');
}

/** Throws a Failure if the answer is that of an earlier request with the same Idempotency-Key, which has no key. */
function keyIn({ key, prefix }: NewApiKey): string {
  if (key !== undefined) return key;
  throw new Failure(
    1,
    `the key ${prefix} was created by an earlier request, and is shown only once. Rotate it to get another.`,
  );
}

async function reserve(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', 0o600);
  } catch (error) {
    const { code } = Object(error);
    throw new UsageError(
      `--to ${file}: ${code === 'EEXIST' ? 'the file exists' : code}. No key was created.`,
    );
  }
}

async function write(handle: FileHandle, created: NewApiKey): Promise<void> {
  const key = keyIn(created);
  try {
    await handle.writeFile(`${key}\n`);
    await handle.sync();
  } catch (error) {
    throw new Failure(
      1,
      `the key ${created.prefix} was created, but could not be written (${Object(error).code}). Revoke it, and create another.`,
    );
  }
}
