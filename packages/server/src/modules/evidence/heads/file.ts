// The file in which this instance keeps the heads that it has published. A restore cannot make it forget them.
// It must not be written by anything but appending.
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { makeFolder } from '@castellan/embedded-postgres/folders';
import { checkpointsIn } from '../../../platform/evidence/note-file.ts';
import { errorCode } from '../../../platform/unknown-values.ts';

/** A head that this instance has seen. */
export type KnownHead = { logId: string; origin: string; size: number; root: Buffer };

export type HeadsFile = {
  /** Returns the last whole head in the file; null if there is none. */
  readLast(): Promise<KnownHead | null>;
  /** Appends a head. Resolves when it is on the disk. */
  append(checkpoint: string): Promise<void>;
};

/** What is read of the end of the file at first: some hundred heads. The whole has those of years. */
const END_BYTES = 65_536;

/** Returns the text between these bytes. What begins before `start` is left out. */
async function readFrom(file: FileHandle, start: number, end: number): Promise<string> {
  const bytes = Buffer.alloc(end - start);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
  const text = bytes.toString('utf8', 0, bytesRead);
  return start === 0 ? text : text.slice(text.indexOf('\n\n') + 1);
}

function lastIn(text: string): KnownHead | null {
  let last: KnownHead | null = null;
  for (const { origin, size, root } of checkpointsIn(text)) {
    const logId = origin.slice(origin.lastIndexOf('/') + 1);
    last = { logId, origin, size, root };
  }
  return last;
}

/** `path` null: nothing is kept. */
export const createHeadsFile = (path: string | null): HeadsFile => ({
  async readLast() {
    if (path === null) return null;
    const file = await open(path).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return null;
      throw error;
    });
    if (!file) return null;
    try {
      const { size } = await file.stat();
      for (let length = END_BYTES; ; length *= 16) {
        const start = Math.max(0, size - length);
        const last = lastIn(await readFrom(file, start, size));
        if (last || start === 0) return last;
      }
    } finally {
      await file.close();
    }
  },
  async append(checkpoint) {
    if (path === null) return;
    // With a DATABASE_URL and a SECRET_KEY, nothing else makes DATA_DIR.
    makeFolder(dirname(resolve(path)), 0o700);
    const file = await open(path, 'a', 0o600);
    try {
      // The empty line ends what a crash left.
      await file.appendFile(`\n\n${checkpoint}`);
      await file.sync();
    } finally {
      await file.close();
    }
  },
});
