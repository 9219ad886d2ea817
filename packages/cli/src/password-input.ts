// Reads a new password from the person or program at standard input.
// It must not echo it, and must not take it from an argument: others on the machine can read those.
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';

type Input = Readable & { isTTY?: boolean };

// The policy takes 128 characters of up to 4 bytes; anything far longer is a wrong file.
const MAX_BYTES = 4_096;

/** On a terminal it is asked for twice. Otherwise all of the input, without the line end after it. */
export async function readPassword(input: Input, terminal: Writable): Promise<string> {
  const password = input.isTTY ? await askTwice(input, terminal) : await readAll(input);
  if (password === '') throw new Error('no password was given on standard input.');
  return password;
}

async function readAll(input: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`standard input holds more than ${MAX_BYTES} bytes: no password.`);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

async function askTwice(input: Input, terminal: Writable): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true });
  // Unlike question(), it also keeps a line that was typed ahead.
  const typed = lines[Symbol.asyncIterator]();
  try {
    const first = await ask(typed, terminal, 'Password: ');
    if (first !== (await ask(typed, terminal, 'The same again: ')))
      throw new Error('the two passwords differ.');
    return first;
  } finally {
    lines.close();
  }
}

/** Rejects on Ctrl-C and Ctrl-D, which end the input. */
async function ask(typed: AsyncIterator<string>, terminal: Writable, question: string): Promise<string> {
  terminal.write(question);
  const line = await typed.next();
  terminal.write('\n');
  if (line.done) throw new Error('given up.');
  return line.value;
}
