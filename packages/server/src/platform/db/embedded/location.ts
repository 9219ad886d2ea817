/**
 * Where the cluster of a DATA_DIR lies: in DATA_DIR/postgres, or, when the user who runs PostgreSQL cannot reach that,
 * under a system folder to which a pointer in DATA_DIR leads. It must never take another DATA_DIR's cluster, and
 * never remove one.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { EmbeddedPostgresError, errorCode, explainError } from './error.ts';
import { isRoot, nameOfOwner } from './run-as.ts';

const pointerName = 'postgres.location';
const ownerName = 'data-dir';

export type Place = {
  readonly dataDir: string;
  readonly systemDir: string;
  readonly log: (line: string) => void;
};

/** Makes DATA_DIR where it is missing and returns its real path. */
export function openDataDir(dataDir: string): string {
  try {
    if (!statSync(dataDir, { throwIfNoEntry: false })) {
      mkdirSync(dirname(dataDir), { recursive: true });
      mkdirSync(dataDir, { mode: 0o700, recursive: true });
    }
    const real = realpathSync(dataDir);
    readdirSync(real);
    return real;
  } catch (error) {
    throw explainError(error, dataDir);
  }
}

/** The real path of this DATA_DIR's cluster, or undefined before its first start. */
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
      `${pointerPath} does not name a folder in ${place.systemDir}: correct it, or remove it to begin with an empty database`,
    );
  }
  if (isCluster(pointer)) {
    confirmOwner(place, home);
    return pointer;
  }
  // The pointer is written before the cluster is in place, the owner's name after: without the latter, the first start did not finish.
  if (isFolder(home) && readText(join(home, ownerName)) === undefined) return undefined;
  throw new EmbeddedPostgresError(
    `the database of ${place.dataDir} is gone from ${pointer}: restore it there, or remove ${pointerPath} to begin with an empty one`,
  );
}

/** The folder for this DATA_DIR outside of it; other programs of the same host have others. */
export function systemHome(place: Place): string {
  return join(place.systemDir, createHash('sha256').update(place.dataDir).digest('hex').slice(0, 16));
}

/** Makes the system folder. It and its parents belong to root and are writable for root only, or it is an error. */
export function openSystemHome(place: Place): string {
  const home = systemHome(place);
  for (const folder of [dirname(place.systemDir), place.systemDir, home]) {
    // The mode is set apart, because a umask of 077 would keep the others out.
    if (mkdirSync(folder, { recursive: true }) !== undefined) chmodSync(folder, 0o755);
    if (isOurs(folder)) continue;
    throw new EmbeddedPostgresError(
      `${folder} must be a folder of root that only root can write: mend that, or set DATABASE_URL`,
    );
  }
  return home;
}

/** To be called before the cluster is put into `home`. */
export function pointTo(place: Place, home: string): void {
  if (home !== place.dataDir) writeFileSync(join(place.dataDir, pointerName), `${join(home, 'postgres')}\n`);
}

/** To be called after the cluster was put into `home`. */
export function confirmOwner(place: Place, home: string): void {
  if (home === place.dataDir) return;
  const owner = readText(join(home, ownerName));
  if (owner === place.dataDir) return;
  // A copied DATA_DIR brings its pointer along, and two services would share one database unknowingly.
  if (owner !== undefined && readText(join(owner, pointerName)) === join(home, 'postgres')) {
    throw new EmbeddedPostgresError(
      `${place.dataDir} is a copy of ${owner} and would share its database in ${home}: remove ${join(place.dataDir, pointerName)}, or set DATABASE_URL`,
    );
  }
  if (isRoot()) writeFileSync(join(home, ownerName), `${place.dataDir}\n`);
}

/** Where a copy of the binaries is safe: root does not run programs from a folder that somebody else can write. */
export function copyHome(place: Place, home: string): string {
  return !isRoot() || isOurs(home) ? home : openSystemHome(place);
}

/** A folder, no link, that belongs to this process' user and that nobody else may write. */
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
