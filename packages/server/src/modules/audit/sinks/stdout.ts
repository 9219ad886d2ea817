// Writes records to the log's output, one JSON object a line, at any LOG_LEVEL.
import { setTimeout as wait } from 'node:timers/promises';
import { jsonLine } from '../../../platform/logging/json-line.ts';
import { HEAD_TYPE, SEND_TIMEOUT_MS, type Sink, SinkError } from './sink.ts';

type Output = {
  write(line: string): void;
  /** Buffered bytes; absent for an output without a buffer. */
  unwritten?: () => number;
};

const LOOK_MS = 20;

/**
 * `kind`: what distinguishes the lines of records from those of the log. They count as received when they are written, because the
 * buffer of a blocked output drops what exceeds it.
 */
export function createStdoutSink({ write, unwritten = () => 0 }: Output, kind: string): Sink {
  async function writeLines(lines: readonly object[]): Promise<void> {
    if (unwritten() > 0) await written(unwritten);
    for (const line of lines) write(`${jsonLine({ level: 'info', ...line })}\n`);
    await written(unwritten);
  }
  return {
    send: (records) => writeLines(records.map(({ time, content }) => ({ time, kind, entry: content }))),
    sendHead: (head) => writeLines([{ time: new Date().toISOString(), kind: HEAD_TYPE, head }]),
  };
}

async function written(unwritten: () => number): Promise<void> {
  const end = performance.now() + SEND_TIMEOUT_MS / 2;
  while (unwritten() > 0) {
    if (performance.now() > end) throw new SinkError('standard output is blocked or closed');
    await wait(LOOK_MS, undefined, { ref: false });
  }
}
