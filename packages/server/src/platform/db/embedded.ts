/**
 * A private, real PostgreSQL of the service in DATA_DIR, from the binaries that npm carries: started or joined, brought
 * back when it dies, and stopped by the last process that uses it. Reached over a Unix socket only. It must not be used
 * where DATABASE_URL names a server.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { clusterDatabase, clusterUser } from './embedded/cluster.ts';
import { EmbeddedPostgresError } from './embedded/error.ts';
import type { Keeper } from './embedded/keeper.ts';
import { findCluster, openDataDir } from './embedded/location.ts';
import { boundLog, logPath, socketPort, stopPostmaster } from './embedded/postmaster.ts';
import { nameOfOwner } from './embedded/run-as.ts';
import { removeShortFolder } from './embedded/socket.ts';
import { type Engine, type Joined, joinOrStart, rejoin } from './embedded/start.ts';

export { EmbeddedPostgresError };

/** Settings for the `pg` client; `host` is the folder of the socket and stays the same over restarts. */
export type EmbeddedConnection = {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Said, or PGSSLMODE in the environment would be asked. */
  readonly ssl: false;
};

export type EmbeddedPostgres = {
  readonly connection: EmbeddedConnection;
  /** Another process had started it. */
  readonly joined: boolean;
  /** As in "PostgreSQL 18.4, as user postgres, in ./data/postgres". */
  readonly description: string;
  /** The real path of the cluster. */
  readonly cluster: string;
  /** Gives the server up; the last process that does stops it. May be called again; never rejects. */
  stop(): Promise<void>;
};

export type EmbeddedOptions = {
  /** The service's DATA_DIR; made if missing. */
  readonly dataDir: string;
  /** One line at a time, without secrets. */
  readonly log?: (line: string) => void;
  /** PostgreSQL settings over the defaults; they count for whoever starts the server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The folder with bin/, lib/ and share/, instead of the npm package's. */
  readonly nativeDir?: string;
  /** The server was lost and is back; connections made before are broken. */
  readonly onRestart?: () => void;
  /** Where the cluster goes when the user that runs PostgreSQL cannot reach DATA_DIR. */
  readonly systemDir?: string;
};

/** The first attempts come quickly, because a join needs no more; then no more than two a minute. */
const firstRetryMs = 250;
const longestRetryMs = 30_000;
const logCheckMs = 60 * 60 * 1000;
const defaultSystemDir = '/var/lib/castellan';

/** Whether this DATA_DIR has a database already. Makes nothing. Throws an EmbeddedPostgresError. */
export const hasEmbeddedPostgres = (dataDir: string): boolean =>
  existsSync(dataDir) &&
  findCluster({ dataDir: realpathSync(dataDir), systemDir: defaultSystemDir, log: () => undefined }) !==
    undefined;

/** Resolves when the server accepts connections. Rejects with an EmbeddedPostgresError. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  if (process.platform === 'win32') {
    throw new EmbeddedPostgresError(
      'PostgreSQL cannot be started by the service on Windows: set DATABASE_URL',
    );
  }
  const log = options.log ?? (() => undefined);
  const stopping = new AbortController();
  const systemDir = options.systemDir ?? defaultSystemDir;
  const engine: Engine = {
    place: { dataDir: openDataDir(options.dataDir), systemDir, log },
    nativeDir: options.nativeDir,
    settings: options.settings ?? {},
    signal: stopping.signal,
    plan: undefined,
  };
  const first = await joinOrStart(engine);
  const { cluster } = first;
  const held = holdOn(engine, first, log, options.onRestart);
  const logCheck = setInterval(() => boundLog(cluster), logCheckMs).unref();
  let stopped: Promise<void> | undefined;
  return {
    connection: {
      host: first.keeper.socketDir,
      port: socketPort,
      user: clusterUser,
      database: clusterDatabase,
      ssl: false,
    },
    joined: first.joined,
    description: describe(first),
    cluster,
    stop() {
      clearInterval(logCheck);
      stopping.abort();
      stopped ??= held.settled().then((keeper) => leave(keeper, cluster, log));
      return stopped;
    },
  };
}

/** Watches the server through the keeper's connection and brings it back when that is lost, until the signal. */
function holdOn(
  engine: Engine,
  first: Joined,
  log: (line: string) => void,
  onRestart: (() => void) | undefined,
): { settled(): Promise<Keeper | undefined> } {
  let keeper: Keeper | undefined;
  let recovery: Promise<void> | undefined;
  const watch = (next: Keeper): void => {
    keeper = next;
    next.onLost(() => {
      keeper = undefined;
      recovery = recover();
    });
  };
  const recover = async (): Promise<void> => {
    if (engine.signal.aborted) return;
    log(`the connection to PostgreSQL is lost (see ${logPath(first.cluster)}): bringing it back`);
    for (
      let delayMs = firstRetryMs;
      !engine.signal.aborted;
      delayMs = Math.min(2 * delayMs, longestRetryMs)
    ) {
      try {
        const next = await joinOrStart(engine);
        log(next.joined ? 'PostgreSQL is back' : 'PostgreSQL was started again');
        watch(next.keeper);
        onRestart?.();
        return;
      } catch (error) {
        log(error instanceof Error ? error.message : String(error));
      }
      await pause(delayMs, undefined, { signal: engine.signal }).catch(() => undefined);
    }
  };
  watch(first.keeper);
  return {
    async settled() {
      await recovery;
      return keeper;
    },
  };
}

async function leave(
  keeper: Keeper | undefined,
  cluster: string,
  log: (line: string) => void,
): Promise<void> {
  // Without a connection to it the server may live all the same, and is just recovering.
  for (let held = keeper ?? (await rejoin(cluster)); held; held = await rejoin(cluster)) {
    const left = await held.leave();
    if (left === 'last') {
      if (await stopPostmaster(cluster)) removeShortFolder(held.socketDir, cluster);
      else log(`PostgreSQL in ${cluster} could not be stopped: end its process`);
    }
    await held.close();
    if (left !== 'lost') return;
  }
}

function describe({ keeper, cluster }: Joined): string {
  const path = relative('.', cluster);
  const place = path.startsWith('..') || isAbsolute(path) ? cluster : `./${path}`;
  return `PostgreSQL ${keeper.version}, as ${nameOfOwner(statSync(cluster).uid)}, in ${place}`;
}
