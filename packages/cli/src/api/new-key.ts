// Hands over an API key or a secret that was just made: once on standard output, or into a new file that only its owner reads.
import { type FileHandle, open, rm } from 'node:fs/promises';
import type { Answer } from '@castellan/sdk';
import { Failure, type Option, optionOf, UsageError } from '../command.ts';
import { isDryRun } from './changes.ts';
import type { Api } from './connection.ts';
import { jsonText, printable } from './text.ts';

export const fileOption: Option = {
  flags: '--to <file>',
  help: 'Write it to this new file, which only you can read, instead of printing it.',
};

/** What is made: `key` or `secret`, which is also the member of the record that is shown once. */
type Noun = 'key' | 'secret';
type Data<N extends Noun> = { id: string; prefix?: string } & { [K in N]?: string };
const labelOf = ({ id, prefix }: { id: string; prefix?: string }): string => prefix ?? id;
type Made<N extends Noun> = Answer<{ data: Data<N> }> | null;

/** `make` returns null for a dry run. The file is reserved before, because the service shows what it made only once. */
export async function handOver<N extends Noun>(
  api: Api,
  noun: N,
  make: () => Promise<Made<N>>,
): Promise<void> {
  const file = isDryRun(api) ? undefined : optionOf(api.call, 'to');
  if (file === undefined) return printMade(api, noun, await make());
  const handle = await reserve(file, noun);
  let isWritten = false;
  try {
    const answer = await make();
    if (!answer) return;
    await write(handle, noun, answer.result.data);
    isWritten = true;
    const { [noun]: _, ...data } = answer.result.data;
    const sentence = `${noun === 'key' ? 'Key' : 'Secret'} ${labelOf(answer.result.data)} is in ${file}.`;
    api.call.print(
      api.call.values.json === true ? jsonText({ ...answer.result, data }, 2) : printable(sentence),
    );
  } finally {
    await handle.close();
    if (!isWritten) await rm(file, { force: true });
  }
}

function printMade<N extends Noun>({ call }: Api, noun: N, answer: Made<N>): void {
  if (!answer) return;
  const text = textIn(noun, answer.result.data);
  call.print(call.values.json === true ? jsonText(answer.result, 2) : text);
  if (call.values.json === true) return;
  process.stderr.write(`This is the only time that the ${noun} is shown. Keep it secret.\n`);
}

/** Throws a Failure if the answer is that of an earlier request with the same Idempotency-Key, which has no secret. */
function textIn<N extends Noun>(noun: N, data: Data<N>): string {
  const text = data[noun];
  if (text !== undefined) return text;
  throw new Failure(
    1,
    `the ${noun} ${labelOf(data)} was created by an earlier request, and is shown only once. ${noun === 'key' ? 'Rotate it to get another' : 'Create another, and revoke this one'}.`,
  );
}

async function reserve(file: string, noun: Noun): Promise<FileHandle> {
  try {
    return await open(file, 'wx', 0o600);
  } catch (error) {
    const { code } = Object(error);
    throw new UsageError(
      `--to ${file}: ${code === 'EEXIST' ? 'the file exists' : code}. No ${noun} was created.`,
    );
  }
}

async function write<N extends Noun>(handle: FileHandle, noun: N, created: Data<N>): Promise<void> {
  const text = textIn(noun, created);
  try {
    await handle.writeFile(`${text}\n`);
    await handle.sync();
  } catch (error) {
    throw new Failure(
      1,
      `the ${noun} ${labelOf(created)} was created, but could not be written (${Object(error).code}). Revoke it, and create another.`,
    );
  }
}
