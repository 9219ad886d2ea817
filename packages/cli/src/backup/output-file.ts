// Writes a file that appears under its name only when it is whole and on the disk.
// It must leave nothing under that name, nor beside it, when it fails.
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { link, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const taken = (path: string): Error =>
  new Error(`${path} exists. Name another file, or replace it with --overwrite.`);

/** Throws if the file exists and may not be replaced, as a device such as /dev/null, which a rename would remove. */
export function requireFree(path: string, overwrite: boolean): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found && !overwrite) throw taken(path);
  if (found && !found.isFile())
    throw new Error(`${path} is not a file. Name a file, or - for standard output.`);
}

/**
 * Writes what `source` returns to the file, which only its owner can read. Returns its size in bytes. Throws what the source
 * throws, and an Error for the operator if the file cannot be written.
 */
export async function writeWhole(
  path: string,
  source: () => Promise<Readable>,
  { overwrite, signal }: { overwrite: boolean; signal: AbortSignal },
): Promise<number> {
  const partial = `${path}.${randomBytes(6).toString('hex')}.partial`;
  try {
    const file = await open(partial, 'wx', 0o600);
    const target = file.createWriteStream({ flush: true });
    await pipeline(await source(), target, { signal });
    const { size } = await stat(partial);
    await publish(partial, path, overwrite);
    return size;
  } catch (error) {
    throw explained(error, path);
  } finally {
    await rm(partial, { force: true });
  }
}

/** A hard link never replaces a file that somebody else has just created; a rename would. */
async function publish(partial: string, path: string, overwrite: boolean): Promise<void> {
  if (overwrite) await rename(partial, path);
  else
    await link(partial, path).catch((error: unknown) => {
      const code = codeOf(error);
      if (code === 'EEXIST') throw taken(path);
      // File systems without hard links.
      if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP' && code !== 'ENOSYS') throw error;
      requireFree(path, false);
      return rename(partial, path);
    });
  // Windows cannot open a folder.
  if (process.platform === 'win32') return;
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** As `writeWhole`, to a stream that stays open, such as standard output. */
export async function writeAll(
  target: Writable,
  source: () => Promise<Readable>,
  { signal }: { signal: AbortSignal },
): Promise<number> {
  let size = 0;
  try {
    await pipeline(
      await source(),
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          size += chunk.length;
          yield chunk;
        }
      },
      target,
      { signal, end: false },
    );
    return size;
  } catch (error) {
    throw explained(error, 'standard output');
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

/** Faults of the file must not be mistaken for those of a connection to PostgreSQL. */
function explained(error: unknown, where: string): unknown {
  const isOfFile =
    error instanceof Error &&
    'syscall' in error &&
    (['open', 'write', 'fsync', 'link', 'rename'].includes(String(error.syscall)) ||
      codeOf(error) === 'EPIPE');
  return isOfFile
    ? new Error(`The backup cannot be written to ${where}: ${error.message}. No backup was made.`, {
        cause: error,
      })
    : error;
}
