/**
 * How the cluster comes into being, and who can run it with which binaries. A new one is complete or not there at all;
 * it must not be made without the start lock.
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { usableBinaries } from './binaries.ts';
import { EmbeddedPostgresError, errorCode, explainError, explainOutput } from './error.ts';
import { confirmOwner, copyHome, openSystemHome, type Place, pointTo } from './location.ts';
import { endProcess, processesIn } from './processes.ts';
import { isRoot, nameOfOwner, type RunAs, run, succeeds, waysToRun } from './run-as.ts';

/** Both have the product's name: the superuser of the cluster and the service's database in it. */
export const clusterUser = 'castellan';
export const clusterDatabase = 'castellan';

const unfinishedPrefix = 'postgres.init-';
/** Two seconds: initdb without its server program gives up at once. What is still there is removed the next time. */
const sweepAttempts = 40;
const canWrite = 'cd "$1" && test -w .';
const canPass = 'cd "$1"';

/** What is needed to start a server: who runs it, with which binaries, on which cluster. */
export type Plan = { readonly as: RunAs; readonly native: string; readonly cluster: string };

/** An existing cluster is run by the user who owns it. */
export async function planExisting(place: Place, cluster: string, native: string): Promise<Plan> {
  const owner = statSync(cluster).uid;
  const [as] = waysToRun(owner);
  if (!as) {
    throw new EmbeddedPostgresError(
      `${cluster} belongs to ${nameOfOwner(owner)}: start the service as that user, or as root`,
    );
  }
  if (!(await reaches(as, canWrite, cluster, place.dataDir))) {
    throw new EmbeddedPostgresError(
      `${as.label} cannot reach ${cluster}: let others pass (chmod o+x) the folders above it, or set DATABASE_URL`,
    );
  }
  const found = await usableBinaries(native, as, () => copyHome(place, dirname(cluster)));
  const made = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  if (made !== found.version.split('.')[0]) {
    throw new EmbeddedPostgresError(
      `${cluster} was made by PostgreSQL ${made} and this is ${found.version}: move the data over by dump and restore, or set DATABASE_URL`,
    );
  }
  return { as, native: found.native, cluster };
}

/** Makes a new cluster where it can be run, by the least mighty user that can. */
export async function createCluster(place: Place, native: string, durable: boolean): Promise<Plan> {
  const homes = [() => place.dataDir, ...(isRoot() ? [() => openSystemHome(place)] : [])];
  for (const as of waysToRun()) {
    for (const homeOf of homes) {
      const home = homeOf();
      await sweep(home);
      const unfinished = await makeFolder(as, home);
      if (!unfinished) continue;
      try {
        const found = await usableBinaries(native, as, () => copyHome(place, home));
        await initialize(as, found.native, unfinished, durable);
        const cluster = settle(place, home, unfinished);
        if (as.words.length > 0)
          place.log('PostgreSQL runs as root in a user namespace: a user named postgres would be safer');
        return { as, native: found.native, cluster };
      } finally {
        rmSync(unfinished, { recursive: true, force: true });
      }
    }
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL refuses to run as root, and neither user postgres nor nobody can be used for ${place.dataDir}: start the service as another user, or set DATABASE_URL`,
  );
}

async function initialize(as: RunAs, native: string, folder: string, durable: boolean): Promise<void> {
  // macOS has no libc locale named C.UTF-8; the builtin one decides on order and letters anyhow.
  const locale =
    process.platform === 'darwin'
      ? ['--locale=C', '--lc-ctype=en_US.UTF-8', '--builtin-locale=C.UTF-8']
      : ['--locale=C.UTF-8'];
  const encoding = ['-E', 'UTF8', '--locale-provider=builtin', ...locale];
  const access = ['-U', clusterUser, '-A', 'trust'];
  const sync = durable ? [] : ['--no-sync'];
  const args = ['-D', folder, ...access, ...encoding, '-k', '--no-instructions', ...sync];
  const made = await run(as, join(native, 'bin', 'initdb'), args, as.initWords);
  if (made.ok) return;
  if (as.initWords.length > 0 && (made.code === 'ENOENT' || /effective user ID|unshare/.test(made.output))) {
    throw new EmbeddedPostgresError(
      `${as.label} has no entry in /etc/passwd, which PostgreSQL wants, and no user namespace can be made here: add an entry, start the service as another user, or set DATABASE_URL`,
    );
  }
  throw explainOutput('initdb', made.output, dirname(folder));
}

/** Renames the finished cluster into place, so that there never is half of one. */
function settle(place: Place, home: string, unfinished: string): string {
  const cluster = join(home, 'postgres');
  pointTo(place, home);
  try {
    renameSync(unfinished, cluster);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error;
    throw new EmbeddedPostgresError(
      `${cluster} exists and is no PostgreSQL cluster: move it away, or set DATA_DIR to another folder`,
    );
  }
  syncFolder(home);
  confirmOwner(place, home);
  if (home !== place.dataDir) {
    place.log(
      `the database is kept in ${cluster}, because the user that runs it cannot reach ${place.dataDir}`,
    );
  }
  return cluster;
}

/** An empty folder in `home`, owned and reached by `as`; undefined when `as` cannot have that there. */
async function makeFolder(as: RunAs, home: string): Promise<string | undefined> {
  if (as.words.length > 0 && !(await succeeds(as, ':'))) return undefined;
  let folder: string;
  try {
    folder = mkdtempSync(join(home, unfinishedPrefix));
  } catch (error) {
    throw explainError(error, home);
  }
  if (own(as, folder) && (await reaches(as, canWrite, folder, home))) return folder;
  rmSync(folder, { recursive: true, force: true });
  return undefined;
}

function own(as: RunAs, folder: string): boolean {
  try {
    if (as.drop) chownSync(folder, as.drop.uid, as.drop.gid);
  } catch (error) {
    // Without CAP_CHOWN, or on a file system that has no owners.
    if (errorCode(error) !== 'EPERM') throw error;
  }
  return statSync(folder).uid === as.fileOwner;
}

/**
 * Tries a script of sh on `folder`. When only a private `parent` of root is in the way, the group of `as` gets the
 * right to pass it (not to list it), so that the database stays beside the other data; files keep their own modes.
 */
async function reaches(as: RunAs, script: string, folder: string, parent: string): Promise<boolean> {
  if (await succeeds(as, script, folder)) return true;
  const { uid, gid, mode } = statSync(parent);
  if (!as.drop || uid !== 0 || gid !== 0 || (mode & 0o777) !== 0o700) return false;
  if (!(await succeeds(as, canPass, dirname(parent)))) return false;
  chownSync(parent, 0, as.drop.gid);
  chmodSync(parent, 0o710);
  return await succeeds(as, script, folder);
}

/** Removes what starts that were ended in the middle of initdb left behind; their initdb may still be at work. */
async function sweep(home: string): Promise<void> {
  const left = (): string[] => readdirSync(home).filter((entry) => entry.startsWith(unfinishedPrefix));
  for (let attempt = 0; attempt < sweepAttempts && left().length > 0; attempt += 1) {
    if (attempt > 0) await pause(50);
    for (const folder of left().map((name) => join(home, name))) {
      for (const pid of processesIn(folder)) endProcess(pid);
      try {
        rmSync(folder, { recursive: true, force: true });
      } catch (error) {
        if (errorCode(error) !== 'ENOTEMPTY') throw explainError(error, folder);
      }
    }
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
