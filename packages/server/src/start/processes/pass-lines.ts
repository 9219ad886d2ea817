// Passes on what a worker writes to its standard output. It must not take more than the output of this process can write:
// the worker keeps the rest, and knows then that it is not written.
import type { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';

type Output = {
  write(lines: string): void;
  /** Buffered bytes; infinite once the output is closed for good. Absent for an output without a buffer. */
  unwritten?: () => number;
};

/** Beyond that many buffered bytes, the worker waits. */
const MAX_UNWRITTEN_BYTES = 262_144;
const LOOK_MS = 20;

/** Passes on whole lines. Resolves at the end of the stream, and closes the stream when the output is closed. */
export async function passLines(stream: Readable, output: Output): Promise<void> {
  const unwritten = (): number => output.unwritten?.() ?? 0;
  let rest = '';
  try {
    for await (const chunk of stream.setEncoding('utf8')) {
      const text = rest + String(chunk);
      const end = text.lastIndexOf('\n') + 1;
      if (end > 0) output.write(text.slice(0, end));
      rest = text.slice(end);
      while (unwritten() > MAX_UNWRITTEN_BYTES && unwritten() !== Number.POSITIVE_INFINITY)
        await wait(LOOK_MS, undefined, { ref: false });
      if (unwritten() === Number.POSITIVE_INFINITY) break;
    }
  } finally {
    // Of a worker that was killed.
    if (rest !== '') output.write(`${rest}\n`);
  }
}
