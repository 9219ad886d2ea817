// The folder for mails when no SMTP server is configured: one .eml file per mail, readable only by its owner.
// It must not touch files whose names it did not make.
import { randomBytes } from 'node:crypto';
import { access, constants, lstat, opendir, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '@castellan/embedded-postgres/folders';
import { errorCode } from '../unknown-values.ts';

// Such as 2026-11-21T02-13-05-123Z_bob@example.com_1f2e3d4c.eml, or with .part while it is written. Earlier versions
// wrote .txt.
const ownName =
  /^\.?\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_[a-z0-9@._+-]{1,64}_[0-9a-f]{8}\.(eml|txt)(\.part)?$/;

/**
 * `write` resolves with the path when the file is complete. Names sort by time. Both reject if the folder is not
 * writable.
 */
export function createOutboxFolder(dir: string): {
  prepare(): Promise<void>;
  write(to: string, message: string): Promise<string>;
} {
  async function prepare(): Promise<void> {
    makeFolder(dir, 0o700);
    await access(dir, constants.W_OK | constants.X_OK);
  }
  return {
    prepare,
    async write(to, message) {
      const recipient = to
        .toLowerCase()
        .replace(/[^a-z0-9@._+-]/g, '_')
        .slice(0, 64);
      const stamp = new Date().toISOString().replace(/[:.]/g, '-');
      const name = `${stamp}_${recipient}_${randomBytes(4).toString('hex')}.eml`;
      const path = join(dir, name);
      const part = join(dir, `.${name}.part`);
      await prepare();
      try {
        await writeFile(part, message, { mode: 0o600, flag: 'wx' });
        await rename(part, path);
      } catch (error) {
        await rm(part, { force: true });
        throw error;
      }
      return path;
    },
  };
}

/**
 * Deletes mails last written more than `olderThanDays` ago, at most `max`. Returns how many. A missing folder counts as
 * empty.
 */
export async function deleteOldOutboxFiles(dir: string, olderThanDays: number, max = 1_000): Promise<number> {
  const oldest = Date.now() - olderThanDays * 86_400_000;
  let deleted = 0;
  try {
    for await (const { name } of await opendir(dir)) {
      if (deleted >= max) break;
      if (!ownName.test(name)) continue;
      const path = join(dir, name);
      const stats = await lstat(path);
      if (!stats.isFile() || stats.mtimeMs >= oldest) continue;
      await unlink(path);
      deleted += 1;
    }
  } catch (error) {
    // ENOENT also means that another instance deleted a file first: the rest is left to the next call.
    if (errorCode(error) !== 'ENOENT') throw error;
  }
  return deleted;
}
