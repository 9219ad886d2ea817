// Reads a secret from standard input, typed or piped: a new password, an API key.
// It must not echo the secret or accept it as an argument, which other users of the machine can read.
import { createInterface } from 'node:readline';
import { type Readable, Writable } from 'node:stream';

type Input = Readable & { isTTY?: boolean };

// The password policy allows 128 characters of up to 4 bytes. Much longer input is probably a wrong file.
const MAX_BYTES = 4_096;

/** `repeat`: typed twice at a terminal, because a mistake would not show. */
type Secret = { name: string; repeat: boolean };

/** Returns the secret. Asks for it at a terminal; otherwise reads all input and removes one final line end. */
export async function readSecret(
  input: Input,
  terminal: Writable,
  { name, repeat }: Secret,
): Promise<string> {
  const secret = input.isTTY ? await askFor(input, terminal, { name, repeat }) : await readAll(input, name);
  if (secret === '') throw new Error(`no ${name} was given on standard input.`);
  return secret;
}

export const readPassword = (input: Input, terminal: Writable): Promise<string> =>
  readSecret(input, terminal, { name: 'password', repeat: true });

async function readAll(input: Readable, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES)
      throw new Error(
        `standard input has more than ${MAX_BYTES} bytes, which is too long: no ${name} was read.`,
      );
    chunks.push(Buffer.from(chunk));
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
}

async function askFor(input: Input, terminal: Writable, { name, repeat }: Secret): Promise<string> {
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: discard, terminal: true });
  // Unlike question(), the iterator keeps a line that is typed before the prompt.
  const typed = lines[Symbol.asyncIterator]();
  try {
    const first = await ask(typed, terminal, `${name.charAt(0).toUpperCase()}${name.slice(1)}: `);
    if (repeat && first !== (await ask(typed, terminal, `Repeat the ${name}: `)))
      throw new Error(`the two ${name}s differ.`);
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
