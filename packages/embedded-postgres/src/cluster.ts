/**
 * Creates the cluster, and decides which user runs it with which binaries. A new cluster appears complete or not at
 * all.
 * It must not be created without the start lock.
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
import { syncTree } from './location/folders.ts';
import { confirmOwner, copyHome, openSystemHome, type Place, pointTo } from './location/location.ts';
import { endProcess, processesIn } from './processes/processes.ts';
import { isRoot, nameOfOwner, type RunAs, run, succeeds, waysToRun } from './processes/run-as.ts';

/** The superuser of the cluster and the database of the service. */
export const clusterUser = 'castellan';
export const clusterDatabase = 'castellan';

const unfinishedPrefix = 'postgres.init-';
/** Two seconds: initdb ends as soon as its server program is killed. What remains is removed at the next start. */
const SWEEP_ATTEMPTS = 40;
const canWrite = 'cd "$1" && test -w .';
const canPass = 'cd "$1"';

/** What a start needs: the user that runs the server, the binaries, and the cluster. */
export type Plan = { readonly as: RunAs; readonly native: string; readonly cluster: string };

/** Returns the plan for an existing cluster: its owner runs it. Throws EmbeddedPostgresError if that is impossible. */
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
      `${as.label} cannot reach ${cluster}: allow others to traverse the folders above it (chmod o+x), or set DATABASE_URL`,
    );
  }
  const found = await usableBinaries(native, as, () => copyHome(place, dirname(cluster)));
  const made = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim();
  if (made !== found.version.split('.')[0]) {
    throw new EmbeddedPostgresError(
      `${cluster} was created by PostgreSQL ${made}, but this is ${found.version}: move the data with a dump and restore, or set DATABASE_URL`,
    );
  }
  return { as, native: found.native, cluster };
}

/** Creates a cluster where a user can run it, and returns the plan. Prefers the user with the fewest rights. */
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
  // macOS has no libc locale named C.UTF-8. The builtin locale determines sorting and character classes in any case.
  const locale =
    process.platform === 'darwin'
      ? ['--locale=C', '--lc-ctype=en_US.UTF-8', '--builtin-locale=C.UTF-8']
      : ['--locale=C.UTF-8'];
  const encoding = ['-E', 'UTF8', '--locale-provider=builtin', ...locale];
  const access = ['-U', clusterUser, '-A', 'trust'];
  // initdb syncs one file after the other, which takes several times as long. On macOS, Node's fsync is a much slower one.
  const syncsHere = durable && process.platform === 'linux';
  const sync = durable && !syncsHere ? [] : ['--no-sync'];
  const args = ['-D', folder, ...access, ...encoding, '-k', '--no-instructions', ...sync];
  const made = await run(as, join(native, 'bin', 'initdb'), args, as.initWords);
  if (made.ok) {
    if (syncsHere) await syncCluster(as, native, folder);
    return;
  }
  if (as.initWords.length > 0 && (made.code === 'ENOENT' || /effective user ID|unshare/.test(made.output))) {
    throw new EmbeddedPostgresError(
      `${as.label} has no entry in /etc/passwd, which PostgreSQL requires, and no user namespace can be created here: add an entry, start the service as another user, or set DATABASE_URL`,
    );
  }
  throw explainOutput('initdb', made.output, dirname(folder));
}

/** Writes the new cluster to disk; by initdb where this process may not read the files of `as`. */
async function syncCluster(as: RunAs, native: string, folder: string): Promise<void> {
  try {
    await syncTree(folder);
  } catch (error) {
    if (errorCode(error) !== 'EACCES') throw explainError(error, dirname(folder));
    const synced = await run(as, join(native, 'bin', 'initdb'), ['--sync-only', '-D', folder], as.initWords);
    if (!synced.ok) throw explainOutput('initdb', synced.output, dirname(folder));
  }
}

/** Renames the finished cluster to its final name, so that there never is an incomplete one. Returns its path. */
function settle(place: Place, home: string, unfinished: string): string {
  const cluster = join(home, 'postgres');
  pointTo(place, home);
  try {
    renameSync(unfinished, cluster);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error;
    throw new EmbeddedPostgresError(
      `${cluster} exists and is not a PostgreSQL cluster: move it, or set DATA_DIR to another folder`,
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

/** Creates an empty folder in `home` that `as` owns and reaches. Returns undefined if that is impossible. */
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
    // EPERM: without CAP_CHOWN, or on a file system without owners.
    if (errorCode(error) !== 'EPERM') throw error;
  }
  return statSync(folder).uid === as.fileOwner;
}

/**
 * Whether a script of sh succeeds on `folder`. If only a private `parent` of root prevents it, the group of `as` gets
 * the right to traverse it (not to list it), so that the database stays beside the other data. Files keep their modes.
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

/** Removes what starts left behind that ended during initdb. Their initdb may still be running. */
async function sweep(home: string): Promise<void> {
  const left = (): string[] => readdirSync(home).filter((entry) => entry.startsWith(unfinishedPrefix));
  for (let attempt = 0; attempt < SWEEP_ATTEMPTS && left().length > 0; attempt += 1) {
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
