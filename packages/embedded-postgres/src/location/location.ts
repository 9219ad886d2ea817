/**
 * Finds the cluster of a DATA_DIR: in DATA_DIR/postgres or, if the user that runs PostgreSQL cannot reach that, in a
 * system folder that a file in DATA_DIR names (the pointer). It must never use the cluster of another DATA_DIR, nor
 * remove one.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { EmbeddedPostgresError, errorCode, explainError } from '../error.ts';
import { isRoot, nameOfOwner } from '../processes/run-as.ts';
import { makeFolder } from './folders.ts';

const pointerName = 'postgres.location';
const ownerName = 'data-dir';

export type Place = {
  readonly dataDir: string;
  readonly systemDir: string;
  readonly log: (line: string) => void;
};

/** Creates DATA_DIR if it is missing. Returns its real path. */
export function openDataDir(dataDir: string): string {
  try {
    if (!statSync(dataDir, { throwIfNoEntry: false })) {
      makeFolder(dataDir, 0o700);
    }
    const real = realpathSync(dataDir);
    readdirSync(real);
    return real;
  } catch (error) {
    throw explainError(error, dataDir);
  }
}

/** Returns the real path of the cluster; undefined before the first start. */
export function findCluster(place: Place): string | undefined {
  const own = join(place.dataDir, 'postgres');
  if (isCluster(own)) return realpathSync(own);
  const pointerPath = join(place.dataDir, pointerName);
  const pointer = readText(pointerPath);
  if (pointer === undefined) {
    const earlier = join(systemHome(place), 'postgres');
    if (!isRoot() || !isCluster(earlier)) return undefined;
    throw new EmbeddedPostgresError(
      `${earlier} holds the database of an earlier DATA_DIR at ${place.dataDir}: remove it, or write its path into ${pointerPath} to use it again`,
    );
  }
  const home = dirname(pointer);
  if (dirname(home) !== place.systemDir) {
    throw new EmbeddedPostgresError(
      `${pointerPath} does not name a folder in ${place.systemDir}: correct it, or remove it to start with an empty database`,
    );
  }
  if (isCluster(pointer)) {
    confirmOwner(place, home);
    return pointer;
  }
  // The pointer is written before the cluster gets its final name, and the owner's name after that. If the latter is
  // missing, the first start did not finish.
  if (isFolder(home) && ownerOf(home) === undefined) return undefined;
  throw new EmbeddedPostgresError(
    `the database of ${place.dataDir} is gone from ${pointer}: restore it there, or remove ${pointerPath} to start with an empty one`,
  );
}

/** Returns the folder outside DATA_DIR. Each DATA_DIR has a different one. */
export function systemHome(place: Pick<Place, 'dataDir' | 'systemDir'>): string {
  return join(place.systemDir, createHash('sha256').update(place.dataDir).digest('hex').slice(0, 16));
}

/** Returns the DATA_DIR whose cluster is in `home`; undefined before the end of its first start. */
export const ownerOf = (home: string): string | undefined => readText(join(home, ownerName));

/** Creates the system folder. Throws unless it and its parents are owned by root and writable only by root. */
export function openSystemHome(place: Place): string {
  const home = systemHome(place);
  for (const folder of [dirname(place.systemDir), place.systemDir, home]) {
    // The mode is set separately, because a umask of 077 would lock out other users.
    if (makeFolder(folder)) chmodSync(folder, 0o755);
    if (isOurs(folder)) continue;
    throw new EmbeddedPostgresError(
      `${folder} must be owned by root and writable only by root: fix that, or set DATABASE_URL`,
    );
  }
  return home;
}

/** Writes the pointer. Call it before the cluster is moved into `home`. */
export function pointTo(place: Place, home: string): void {
  if (home !== place.dataDir) writeFileSync(join(place.dataDir, pointerName), `${join(home, 'postgres')}\n`);
}

/** Writes the owner's name. Call it after the cluster was moved into `home`. Throws if DATA_DIR is a copy. */
export function confirmOwner(place: Place, home: string): void {
  if (home === place.dataDir) return;
  const owner = ownerOf(home);
  if (owner === place.dataDir) return;
  // A copied DATA_DIR contains the pointer too, so two services would share one database without knowing.
  if (owner !== undefined && readText(join(owner, pointerName)) === join(home, 'postgres')) {
    throw new EmbeddedPostgresError(
      `${place.dataDir} is a copy of ${owner} and would share its database in ${home}: remove ${join(place.dataDir, pointerName)}, or set DATABASE_URL`,
    );
  }
  if (isRoot()) writeFileSync(join(home, ownerName), `${place.dataDir}\n`);
}

/** Returns a folder for a copy of the binaries: as root, one that no other user can write. */
export function copyHome(place: Place, home: string): string {
  return !isRoot() || isOurs(home) ? home : openSystemHome(place);
}

/** Whether this is a folder, not a link, that this user owns and no other user can write. */
export function isOurs(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.geteuid?.() && (found.mode & 0o022) === 0;
}

function isCluster(folder: string): boolean {
  try {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (!found) return false;
    if (!found.isDirectory()) throw explainError(Object.assign(new Error(), { code: 'ENOTDIR' }), folder);
    return statSync(join(folder, 'PG_VERSION'), { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    if (errorCode(error) !== 'EACCES') throw error;
    const owner = lstatSync(folder, { throwIfNoEntry: false });
    const whose = owner ? `belongs to ${nameOfOwner(owner.uid)}` : 'is out of reach';
    throw new EmbeddedPostgresError(`${folder} ${whose}: start the service as its owner, or as root`);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw explainError(error, path);
  }
}
