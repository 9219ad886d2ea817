// Writes the log to standard output. A blocked output (full disk, unread pipe) must never block requests or shutdown;
// lines beyond the buffer are dropped.
import { write, writeSync } from 'node:fs';
import { errorCode } from '../unknown-values.ts';

/** Size of the buffer for a blocked output. Further lines are dropped. */
export const MAX_UNWRITTEN_BYTES = 16 * 1_048_576;
/** Pause after a failed write: the first one, doubled each time up to the second. */
const RETRY_MS = 5;
const MAX_RETRY_MS = 100;
/**
 * How long lines are gathered before a write. A write goes through a thread: one for every line of a busy service took 8 %
 * of its processor time.
 */
const GATHER_MS = 10;
/** How long the end of the process waits for unwritten lines: enough for a slow reader. */
const LAST_WRITE_MS = 1_000;
/** Pause between two attempts at the end of the process. */
const LAST_RETRY_MS = 10;
/** Size of one write: the capacity of a pipe (pipe(7)). Lines of this size are written at once. Keeps the unfinished write at the end of the process small. */
const MAX_WRITE_BYTES = 65_536;

export type LogOutput = {
  write(line: string): void;
  /** Returns the bytes that are buffered; infinite once the output is closed for good. */
  unwritten(): number;
  /** Writes the buffered lines, for at most a second. Call it at the end of the process. */
  finish(): void;
};

/** Opens the output on a file descriptor. */
export function openOutput(fd = 1): LogOutput {
  // Whole lines, each text of at most one write. A longer line is a separate text.
  let texts: string[] = [];
  let lastBytes = 0;
  let unwritten = 0;
  let chunk: Buffer = Buffer.alloc(0);
  let retryMs = RETRY_MS;
  let state: 'idle' | 'gathering' | 'writing' | 'waiting' | 'closed' = 'idle';
  let gathering: NodeJS.Timeout | undefined;

  const append = (line: string, bytes: number): void => {
    const last = texts.length - 1;
    if (last >= 0 && lastBytes + bytes <= MAX_WRITE_BYTES) {
      texts[last] += line;
      lastBytes += bytes;
    } else {
      texts.push(line);
      lastBytes = bytes;
    }
  };

  const close = (): void => {
    clearTimeout(gathering);
    state = 'closed';
    texts = [];
    chunk = Buffer.alloc(0);
  };

  const next = (): void => {
    clearTimeout(gathering);
    if (chunk.length === 0) chunk = Buffer.from(texts.shift() ?? '');
    if (chunk.length === 0) {
      state = 'idle';
      return;
    }
    state = 'writing';
    write(fd, chunk, (error, written) => {
      // The reader is gone for good: the read end of a pipe cannot be reopened.
      if (errorCode(error) === 'EPIPE') return close();
      if (error) {
        state = 'waiting';
        setTimeout(next, retryMs).unref();
        retryMs = Math.min(2 * retryMs, MAX_RETRY_MS);
        return;
      }
      retryMs = RETRY_MS;
      chunk = chunk.subarray(written);
      unwritten -= written;
      next();
    });
  };

  return {
    write(line) {
      const bytes = Buffer.byteLength(line);
      if (state === 'closed' || unwritten + bytes > MAX_UNWRITTEN_BYTES) return;
      unwritten += bytes;
      append(line, bytes);
      if (state === 'idle') {
        state = 'gathering';
        // At the end of the process, `finish` writes what was gathered.
        gathering = setTimeout(next, GATHER_MS).unref();
      }
      if (state === 'gathering' && texts.length > 1) next();
    },
    unwritten: () => (state === 'closed' ? Number.POSITIVE_INFINITY : unwritten),
    finish() {
      // The chunk that a thread is writing is left to that thread.
      const left = Buffer.from(texts.join(''));
      const rest = state === 'writing' ? left : Buffer.concat([chunk, left]);
      close();
      writeLast(fd, rest);
    },
  };
}

/** Writes at the end of the process, for at most a second. An output that cannot be written loses the rest. */
export function writeLast(fd: number, text: string | Buffer): void {
  const last = performance.now() + LAST_WRITE_MS;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  let rest: Buffer = typeof text === 'string' ? Buffer.from(text) : text;
  while (rest.length > 0 && performance.now() < last) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN') return;
      Atomics.wait(pause, 0, 0, LAST_RETRY_MS);
    }
  }
}
