/**
 * Chooses the folder of the server's Unix socket: private to the user that runs it, and short enough for the system.
 * It must not be a folder that another user created or can enter.
 */

import { createHash } from 'node:crypto';
import { chownSync, lstatSync, mkdirSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Plan } from '../cluster.ts';
import { EmbeddedPostgresError, errorCode } from '../error.ts';
import { SOCKET_PORT } from '../processes/postmaster.ts';
import { succeeds } from '../processes/run-as.ts';

/** Length of sockaddr_un.sun_path (108 bytes on Linux, 104 on macOS) less its final zero. */
const pathLimit = process.platform === 'linux' ? 107 : 103;
const shortPrefix = 'castellan-';

/** Returns the cluster itself, which is private, or a short folder if its path is too long. */
export async function socketFolder(plan: Plan): Promise<string> {
  return fits(plan.cluster) ? plan.cluster : await shortFolder(plan);
}

/** Creates a short private folder. Also for clusters on file systems without sockets. */
export async function shortFolder(plan: Plan): Promise<string> {
  const name = shortPrefix + createHash('sha256').update(plan.cluster).digest('hex').slice(0, 16);
  for (const parent of new Set([tmpdir(), '/tmp', '/var/tmp', '/run'])) {
    if (!fits(join(parent, name)) || !isSafeParent(parent)) continue;
    try {
      const folder = claim(join(parent, name), plan);
      if (await succeeds(plan.as, 'cd "$1" && test -w .', folder)) return folder;
      rmdirSync(folder);
    } catch (error) {
      if (!['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'ENOENT'].includes(errorCode(error) ?? '')) throw error;
    }
  }
  throw new EmbeddedPostgresError(
    `the path of ${plan.cluster} is too long for a socket, and no temporary folder can be used instead: set DATA_DIR to a shorter path`,
  );
}

/** Removes the short folder of a stopped server. Never removes the cluster. */
export function removeShortFolder(folder: string, cluster: string): void {
  if (folder === cluster || !folder.split('/').at(-1)?.startsWith(shortPrefix)) return;
  try {
    rmdirSync(folder);
  } catch {
    // A new server already uses it.
  }
}

/**
 * Creates the folder. Uses the same name each time, so that clients find the server again, unless another user has
 * taken it.
 */
function claim(path: string, plan: Plan): string {
  let folder = path;
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    if (!isPrivate(folder, plan.as.fileOwner)) folder = mkdtempSync(`${path}-`);
  }
  if (plan.as.drop) chownSync(folder, plan.as.drop.uid, plan.as.drop.gid);
  return folder;
}

function isPrivate(folder: string, owner: number): boolean {
  const found = lstatSync(folder);
  return (
    found.isDirectory() && [owner, process.geteuid?.()].includes(found.uid) && (found.mode & 0o777) === 0o700
  );
}

/** Whether no other user can rename or remove what is created in the folder. */
function isSafeParent(parent: string): boolean {
  const found = statSync(parent, { throwIfNoEntry: false });
  if (!found?.isDirectory()) return false;
  const trusted = found.uid === 0 || found.uid === process.geteuid?.();
  return trusted && ((found.mode & 0o022) === 0 || (found.mode & 0o1000) !== 0);
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, `.s.PGSQL.${SOCKET_PORT}`)) <= pathLimit;
}
