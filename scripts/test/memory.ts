// Chooses the folder for the files of a test run: in memory if possible, because a run creates and deletes hundreds of
// databases with 300 files each. It must not choose a file system that is too small or that runs no programs.
import { readFileSync, statfsSync } from 'node:fs';

const FOLDER = '/dev/shm';
/** A whole run takes 1 GB at its peak. The rest is for a browser and for the page cache. */
const NEEDED_BYTES = 3 * 1024 ** 3;

/** Returns a folder in memory, or undefined if the system has none that suits. Containers often limit it to 64 MB. */
export function memoryFolder(): string | undefined {
  if (process.platform !== 'linux' || !isMountedWell(readFileSync('/proc/self/mounts', 'utf8')))
    return undefined;
  const { bavail, bsize } = statfsSync(FOLDER);
  return Math.min(bavail * bsize, process.availableMemory()) < NEEDED_BYTES ? undefined : FOLDER;
}

/** Returns whether this list of mounts has the folder as a writable tmpfs whose programs can be run. */
export function isMountedWell(mounts: string): boolean {
  const last = mounts.split('\n').findLast((line) => line.split(' ')[1] === FOLDER);
  const [, , type, options = ''] = last?.split(' ') ?? [];
  const has = (option: string): boolean => options.split(',').includes(option);
  return type === 'tmpfs' && has('rw') && !has('noexec');
}
