/**
 * Joins the running server of a DATA_DIR, or starts it. Of several processes exactly one starts it, however the last
 * server ended. It must not change data: PostgreSQL itself recovers them.
 */
import { totalmem } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { findBinaries } from './binaries.ts';
import { createCluster, type Plan, planExisting } from './cluster.ts';
import { EmbeddedPostgresError, explainError } from './error.ts';
import { findCluster, type Place } from './location/location.ts';
import { shortFolder, socketFolder } from './location/socket.ts';
import { type Keeper, openKeeper } from './processes/keeper.ts';
import {
  defuseLockFiles,
  endOrphanedSessions,
  explainExit,
  isServed,
  readPidFile,
  SOCKET_PORT,
  startPostmaster,
} from './processes/postmaster.ts';
import { tryStartLock } from './processes/start-lock.ts';

export type Engine = {
  readonly place: Place;
  readonly nativeDir: string | undefined;
  readonly settings: Readonly<Record<string, string>>;
  /** Stops the wait for a start. */
  readonly signal: AbortSignal;
  /** Made when this process first starts the server, and kept for later starts. */
  plan: Plan | undefined;
};

export type Joined = { readonly keeper: Keeper; readonly joined: boolean; readonly cluster: string };

/** Longer than the longest start that startPostmaster allows, because another process may be starting the server. */
const JOIN_TIMEOUT_MS = 200_000;
/** Less than the time that supervisors commonly give a service to stop. */
const REJOIN_TIMEOUT_MS = 10_000;
/** How long sessions of a killed server may prevent the start of a new one, after they were killed. */
const RETRY_TIMEOUT_MS = 30_000;
/** Idle sessions notice at once that their server is dead. Those still alive after so many attempts are busy. */
const PATIENT_ATTEMPTS = 3;

/**
 * Returns the size of PostgreSQL's own cache for so many bytes of memory, in megabytes: an eighth, from 64 to 256. A
 * small database touches little of it. Lists of a million users take half the time with 256 instead of 128, and no less
 * with 512.
 */
export const bufferMegabytes = (memory: number): number =>
  Math.min(256, Math.max(64, Math.floor(memory / 8 / 2 ** 20)));

const cacheMegabytes = bufferMegabytes(
  Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()),
);

/** Keeps PostgreSQL small: the service uses few connections and gains nothing from I/O workers and parallel queries. */
const defaults: Readonly<Record<string, string>> = {
  max_connections: '100',
  shared_buffers: `${cacheMegabytes}MB`,
  // PostgreSQL itself takes a 32nd of the cache, 8 MB of 256, and touches it all.
  wal_buffers: `${Math.min(4, Math.floor(cacheMegabytes / 32))}MB`,
  io_method: 'sync',
  max_wal_size: '256MB',
  // Parallel plans need /dev/shm, which containers keep at 64 MB.
  max_parallel_workers_per_gather: '0',
  max_logical_replication_workers: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Starts, stops and fatal errors only: errors of statements go to the service, and may contain personal data.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
};

/** Joins or starts the server, with retries. Rejects with an EmbeddedPostgresError. */
export async function joinOrStart(engine: Engine): Promise<Joined> {
  const { place, signal } = engine;
  const deadline = performance.now() + JOIN_TIMEOUT_MS;
  try {
    for (;;) {
      const found = await join(engine);
      if (found) return found;
      const release = tryStartLock(place.dataDir);
      if (release) {
        try {
          const started = await startUnlessServed(engine);
          if (started) return started;
        } finally {
          release();
        }
      }
      if (signal.aborted)
        throw new EmbeddedPostgresError('the start of PostgreSQL was aborted: the service is shutting down');
      if (performance.now() > deadline) throw doesNotAnswer(place);
      // Random, so that processes do not collide again and again.
      await pause(20 + Math.random() * 40);
    }
  } catch (error) {
    throw explainError(error, place.dataDir);
  }
}

async function join({ place }: Engine): Promise<Joined | undefined> {
  const cluster = findCluster(place);
  if (cluster === undefined) return undefined;
  const server = readPidFile(cluster);
  // Only a connection proves that it runs: the server may be in another container with the same folder.
  const keeper = server?.ready ? await openKeeper(server.socketDir) : undefined;
  return keeper && { keeper, cluster, joined: true };
}

/** Joins a server that is alive but may be recovering; never starts one. Returns undefined after ten seconds. */
export async function rejoin(cluster: string): Promise<Keeper | undefined> {
  const deadline = performance.now() + REJOIN_TIMEOUT_MS;
  while (isServed(cluster) && performance.now() < deadline) {
    const keeper = await openKeeper(readPidFile(cluster)?.socketDir ?? '').catch(() => undefined);
    if (keeper) return keeper;
    await pause(50);
  }
  return undefined;
}

/** Starts the server. Call it under the start lock. Returns undefined if a server starts, recovers or stops. */
async function startUnlessServed(engine: Engine): Promise<Joined | undefined> {
  const found = await join(engine);
  if (found) return found;
  const cluster = findCluster(engine.place);
  if (cluster !== undefined && isServed(cluster)) return undefined;
  try {
    engine.plan ??= await makePlan(engine, cluster);
    return { keeper: await start(engine, engine.plan), cluster: engine.plan.cluster, joined: false };
  } catch (error) {
    engine.plan = undefined;
    throw error;
  }
}

async function makePlan(engine: Engine, cluster: string | undefined): Promise<Plan> {
  const { place, nativeDir, settings } = engine;
  const native = findBinaries(nativeDir);
  if (cluster !== undefined) return await planExisting(place, cluster, native);
  return await createCluster(place, native, settings.fsync !== 'off');
}

async function start(engine: Engine, plan: Plan): Promise<Keeper> {
  const deadline = performance.now() + RETRY_TIMEOUT_MS;
  let folder = await socketFolder(plan);
  for (let attempt = 1; ; attempt += 1) {
    defuseLockFiles(plan.cluster, folder);
    if (attempt > PATIENT_ATTEMPTS) endOrphanedSessions(plan.cluster);
    const started = await startPostmaster(plan, serverSettings(engine, folder), engine.signal);
    if (started.outcome === 'ready') {
      const keeper = await openKeeper(folder);
      if (keeper) return keeper;
    } else if (/Unix/.test(started.output) && folder === plan.cluster) {
      // Some shared file systems do not support sockets.
      folder = await shortFolder(plan);
      continue;
    } else if (!/pre-existing shared memory block|lock file .* already exists/.test(started.output)) {
      throw explainExit(plan, started.output);
    } else if (performance.now() > deadline) {
      throw explainExit(plan, started.output);
    }
    if (engine.signal.aborted || performance.now() > deadline) throw doesNotAnswer(engine.place);
    await pause(100 * attempt);
  }
}

function serverSettings(engine: Engine, folder: string): Record<string, string> {
  return {
    ...defaults,
    ...engine.settings,
    listen_addresses: '',
    port: String(SOCKET_PORT),
    // A list, in which a quoted entry may contain commas and spaces.
    unix_socket_directories: `"${folder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
  };
}

function doesNotAnswer(place: Place): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `the PostgreSQL of ${place.dataDir} does not answer: end its process and start the service again`,
  );
}
