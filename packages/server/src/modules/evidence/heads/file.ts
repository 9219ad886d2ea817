// The file in which this instance keeps the heads that it has published. A restore cannot make it forget them.
// It must not be written by anything but appending.
import { open, readFile } from 'node:fs/promises';
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

/** `path` null: nothing is kept. */
export const createHeadsFile = (path: string | null): HeadsFile => ({
  async readLast() {
    if (path === null) return null;
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return '';
      throw error;
    });
    let last: KnownHead | null = null;
    for (const { origin, size, root } of checkpointsIn(text)) {
      const logId = origin.slice(origin.lastIndexOf('/') + 1);
      last = { logId, origin, size, root };
    }
    return last;
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
