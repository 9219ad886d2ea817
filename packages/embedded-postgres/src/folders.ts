// Creates folders. Node's recursive mkdir never returns on file systems that refuse every new entry with ENOENT (Linux:
// anything below /proc).
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from './error.ts';

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
