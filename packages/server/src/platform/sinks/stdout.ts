// Writes records to the log's output, one JSON object a line, at any LOG_LEVEL.
import type { Sink } from './sink.ts';

/** `kind`: what distinguishes the lines from those of the log. Lines beyond the buffer of a blocked output are dropped. */
export const createStdoutSink = (output: { write(line: string): void }, kind: string): Sink => ({
  async send(records) {
    for (const { time, content } of records)
      output.write(`${JSON.stringify({ level: 'info', time, kind, entry: content })}\n`);
  },
});
