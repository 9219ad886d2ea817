// Asks for confirmation before an action that cannot be undone.
// Without a terminal and without `--yes` it must refuse.
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { Call } from '../command.ts';

type Input = Readable & { isTTY?: boolean };

/** Resolves if the user types `yes` or the command has `--yes`. Rejects otherwise. */
export async function confirm(
  call: Pick<Call, 'values'>,
  consequences: readonly string[],
  input: Input = process.stdin,
  terminal: Writable = process.stderr,
): Promise<void> {
  if (call.values.yes === true) return;
  if (!input.isTTY)
    throw new Error(
      `${consequences.join(' ')} Nothing was changed. Confirm with --yes, or run the command at a terminal.`,
    );
  terminal.write(`${consequences.join('\n')}\nType yes to continue: `);
  if ((await readLine(input)).trim().toLowerCase() !== 'yes') throw new Error('nothing was changed.');
}

/** Returns the first line; empty if the input ends. */
async function readLine(input: Readable): Promise<string> {
  const lines = createInterface({ input });
  try {
    const typed = await lines[Symbol.asyncIterator]().next();
    return typed.done ? '' : typed.value;
  } finally {
    lines.close();
  }
}
