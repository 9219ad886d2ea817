// Creates folders and writes them to disk. Node's recursive mkdir never returns on file systems that refuse every new entry with ENOENT (Linux:
// anything below /proc).
import { constants, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode } from '../error.ts';

/**
 * Creates the folder and its missing parents. Does not change an existing folder. Returns whether it was created.
 * `mode` applies to the folder itself, less the umask. Throws the error of the file system: EEXIST if a file has its
 * name.
 */
export function makeFolder(path: string, mode = 0o777): boolean {
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST' && statSync(path).isDirectory()) return false;
    const parent = dirname(path);
    // ENOENT although the parent exists: the file system refuses new entries.
    if (code !== 'ENOENT' || existsSync(parent)) throw error;
    makeFolder(parent);
    return makeOnce(path, mode);
  }
}

function makeOnce(path: string, mode: number): boolean {
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    // Another process created it in the meantime.
    if (errorCode(error) === 'EEXIST' && statSync(path).isDirectory()) return false;
    throw error;
  }
}

/** As many as Node has threads for files: a file system joins the commits of those that run at once. */
const SYNCS_AT_ONCE = 4;

/**
 * Writes a folder with all that it contains to disk (fsync). Links are not followed. Rejects with the first error of the
 * file system: nothing may be taken as written then, and a second attempt proves nothing.
 */
export async function syncTree(folder: string): Promise<void> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const inside = entries.filter((entry) => entry.isFile() || entry.isDirectory());
  const paths = [folder, ...inside.map((entry) => join(entry.parentPath, entry.name))].values();
  const syncRest = async (): Promise<void> => {
    for (const path of paths) {
      const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        await file.sync();
      } finally {
        await file.close();
      }
    }
  };
  await Promise.all(Array.from({ length: SYNCS_AT_ONCE }, syncRest));
}
