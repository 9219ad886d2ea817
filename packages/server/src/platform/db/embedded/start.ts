/**
 * Joins the running server of a DATA_DIR, or starts it: exactly one of several processes does, after whatever end the
 * one before had. It must not change data: recovery is PostgreSQL's own.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { findBinaries } from './binaries.ts';
import { createCluster, type Plan, planExisting } from './cluster.ts';
import { EmbeddedPostgresError, explainError } from './error.ts';
import { type Keeper, openKeeper } from './keeper.ts';
import { findCluster, type Place } from './location.ts';
import {
  defuseLockFiles,
  endOrphanedSessions,
  explainExit,
  isServed,
  readPidFile,
  socketPort,
  startPostmaster,
} from './postmaster.ts';
import { shortFolder, socketFolder } from './socket.ts';
import { tryStartLock } from './start-lock.ts';

export type Engine = {
  readonly place: Place;
  readonly nativeDir: string | undefined;
  readonly settings: Readonly<Record<string, string>>;
  /** Gives up waiting for a start. */
  readonly signal: AbortSignal;
  /** Made when this process first starts the server, kept for the next time. */
  plan: Plan | undefined;
};

export type Joined = { readonly keeper: Keeper; readonly joined: boolean; readonly cluster: string };

/** Longer than the longest start that startPostmaster allows: another process may be at it. */
const joinTimeoutMs = 200_000;
/** Less than what supervisors commonly grant a service to stop. */
const rejoinTimeoutMs = 10_000;
/** How long sessions of a killed server may keep a new one from starting, after they were ended by force. */
const retryTimeoutMs = 30_000;
/** Sessions that wait notice the death of their server at once; those still there at this attempt are busy. */
const patientAttempts = 3;

/** A small footprint: the service uses one pool; PostgreSQL 18's I/O workers and parallel queries would not pay. */
const defaults: Readonly<Record<string, string>> = {
  max_connections: '100',
  shared_buffers: '64MB',
  io_method: 'sync',
  max_wal_size: '256MB',
  // Parallel plans need /dev/shm, which containers keep at 64 MB.
  max_parallel_workers_per_gather: '0',
  max_logical_replication_workers: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Starts, stops and fatal errors only: statements' errors go to the service, and may hold personal data.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
};

/** Rejects with an EmbeddedPostgresError. */
export async function joinOrStart(engine: Engine): Promise<Joined> {
  const { place, signal } = engine;
  const deadline = performance.now() + joinTimeoutMs;
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
        throw new EmbeddedPostgresError('the start of PostgreSQL was given up: the service stops');
      if (performance.now() > deadline) throw doesNotAnswer(place);
      // Uneven, so that contenders do not meet again and again.
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
  // A connection is the proof, not the process: the server may run in another container on the same folder.
  const keeper = server?.ready ? await openKeeper(server.socketDir) : undefined;
  return keeper && { keeper, cluster, joined: true };
}

/** Joins a server that lives but may be recovering; never starts one. Gives up after ten seconds. */
export async function rejoin(cluster: string): Promise<Keeper | undefined> {
  const deadline = performance.now() + rejoinTimeoutMs;
  while (isServed(cluster) && performance.now() < deadline) {
    const keeper = await openKeeper(readPidFile(cluster)?.socketDir ?? '').catch(() => undefined);
    if (keeper) return keeper;
    await pause(50);
  }
  return undefined;
}

/** Under the start lock; undefined while a server is there that cannot be joined yet: it starts, recovers or stops. */
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

async function makePlan({ place, nativeDir, settings }: Engine, cluster: string | undefined): Promise<Plan> {
  const native = findBinaries(nativeDir);
  if (cluster !== undefined) return await planExisting(place, cluster, native);
  return await createCluster(place, native, settings.fsync !== 'off');
}

async function start(engine: Engine, plan: Plan): Promise<Keeper> {
  const deadline = performance.now() + retryTimeoutMs;
  let folder = await socketFolder(plan);
  for (let attempt = 1; ; attempt += 1) {
    defuseLockFiles(plan.cluster, folder);
    if (attempt > patientAttempts) endOrphanedSessions(plan.cluster);
    const started = await startPostmaster(plan, serverSettings(engine, folder), engine.signal);
    if (started.outcome === 'ready') {
      const keeper = await openKeeper(folder);
      if (keeper) return keeper;
    } else if (/Unix/.test(started.output) && folder === plan.cluster) {
      // Some shared file systems hold no sockets.
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
    port: String(socketPort),
    // A list, in which a quoted entry may hold commas and spaces.
    unix_socket_directories: `"${folder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
  };
}

function doesNotAnswer(place: Place): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `the PostgreSQL of ${place.dataDir} does not answer: end its process and start the service again`,
  );
}
