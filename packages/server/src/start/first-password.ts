// Gives the generated password of the first superuser to the operator, once.
// It must not write a password to an output that is not a terminal: logs are collected and kept.
import { randomBytes } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeFolder } from '@castellan/embedded-postgres/folders';
import { errorMessage } from '../platform/unknown-values.ts';

const FILE = 'first-superuser-password';

/** Writes the password to a file in `dataDir` that only its owner can read; replaces an older one. Returns the path. */
async function keepFirstPassword(dataDir: string, password: string): Promise<string> {
  const path = join(resolve(dataDir), FILE);
  const part = `${path}.${randomBytes(4).toString('hex')}.part`;
  makeFolder(resolve(dataDir));
  try {
    await writeFile(part, `${password}\n`, { mode: 0o600, flag: 'wx' });
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  return path;
}

export type Handover = {
  /** Says where the password is; at a terminal it contains the password. */
  line: string;
  /** Whether the password could not be saved, so that it is unknown. */
  isLost: boolean;
};

/**
 * Returns a line with the password for a terminal, else saves it to a file. Never rejects: another superuser can be
 * created.
 */
export async function handOverFirstPassword(
  password: string,
  { dataDir, isTerminal }: { dataDir: string; isTerminal: boolean },
): Promise<Handover> {
  if (isTerminal) return { line: `password   ${password}   (shown only once: keep it)`, isLost: false };
  try {
    const path = await keepFirstPassword(dataDir, password);
    const line = `The password of the first superuser is in ${path}. Sign in, change it, and delete the file.`;
    return { line, isLost: false };
  } catch (error) {
    const line = `The password of the first superuser could not be saved (${errorMessage(error)}). Create another superuser with: castellan create-superuser`;
    return { line, isLost: true };
  }
}
