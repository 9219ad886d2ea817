// Reads a new password from standard input, typed or piped.
// It must not echo the password or accept it as an argument, which other users of the machine can read.
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';

type Input = Readable & { isTTY?: boolean };

// The password policy allows 128 characters of up to 4 bytes. Much longer input is probably a wrong file.
const MAX_BYTES = 4_096;

/** Returns the password. Asks for it twice at a terminal; otherwise reads all input and removes one final line end. */
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
    if (bytes > MAX_BYTES)
      throw new Error(`standard input has more than ${MAX_BYTES} bytes, which is too long for a password.`);
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

async function askTwice(input: Input, terminal: Writable): Promise<string> {
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: discard, terminal: true });
  // Unlike question(), the iterator keeps a line that is typed before the prompt.
  const typed = lines[Symbol.asyncIterator]();
  try {
    const first = await ask(typed, terminal, 'Password: ');
    if (first !== (await ask(typed, terminal, 'Repeat the password: ')))
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
  if (line.done) throw new Error('cancelled.');
  return line.value;
}
