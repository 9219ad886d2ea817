// Standard output as the place of the log. It must never hold the service up, nor its end: neither a full disk, nor a
// pipe that nobody reads. What does not fit is lost.
import { write, writeSync } from 'node:fs';

/** What waits for an output that takes nothing, at most; what comes on top is lost. */
export const MAX_UNWRITTEN_BYTES = 16 * 1_048_576;
/** How long an output that took nothing is left in peace: at first, doubled each time, and at most. */
const RETRY_MS = 5;
const MAX_RETRY_MS = 100;
/** The end of the process waits so long for what is not written: a reader that is only slow has it by then. */
const LAST_WRITE_MS = 1_000;
/** The same, between two attempts. */
const LAST_RETRY_MS = 10;
/** In one write, so that little is on its way when the process ends: what a pipe holds (pipe(7)). */
const MAX_WRITE_BYTES = 65_536;

export type LogOutput = {
  write(line: string): void;
  /** For the end of the process: writes what waits, for a second at most. */
  finish(): void;
};

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException).code;

export function openOutput(fd = 1): LogOutput {
  let lines: Buffer[] = [];
  let unwritten = 0;
  let chunk: Buffer = Buffer.alloc(0);
  let retryMs = RETRY_MS;
  let state: 'idle' | 'writing' | 'waiting' | 'closed' = 'idle';

  const take = (): void => {
    let bytes = 0;
    const upTo = lines.findIndex((line) => {
      bytes += line.length;
      return bytes > MAX_WRITE_BYTES;
    });
    // A line longer than that goes alone.
    const count = upTo < 0 ? lines.length : Math.max(1, upTo);
    chunk = Buffer.concat(lines.slice(0, count));
    lines = lines.slice(count);
  };

  const close = (): void => {
    state = 'closed';
    lines = [];
    chunk = Buffer.alloc(0);
  };

  const next = (): void => {
    if (chunk.length === 0) take();
    if (chunk.length === 0) {
      state = 'idle';
      return;
    }
    state = 'writing';
    write(fd, chunk, (error, written) => {
      // The reader is gone for good: the reading end of a pipe does not open again.
      if (error && codeOf(error) === 'EPIPE') return close();
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
      const bytes = Buffer.from(line);
      if (state === 'closed' || unwritten + bytes.length > MAX_UNWRITTEN_BYTES) return;
      unwritten += bytes.length;
      lines.push(bytes);
      if (state === 'idle') next();
    },
    finish() {
      const last = performance.now() + LAST_WRITE_MS;
      const pause = new Int32Array(new SharedArrayBuffer(4));
      // What a thread is writing just now it goes on writing.
      let rest = Buffer.concat(state === 'writing' ? lines : [chunk, ...lines]);
      close();
      while (rest.length > 0 && performance.now() < last) {
        try {
          rest = rest.subarray(writeSync(fd, rest));
        } catch (error) {
          if (codeOf(error) !== 'EAGAIN') return;
          Atomics.wait(pause, 0, 0, LAST_RETRY_MS);
        }
      }
    },
  };
}
