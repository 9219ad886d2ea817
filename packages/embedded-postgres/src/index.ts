/**
 * A private PostgreSQL server in DATA_DIR, with binaries from npm. A process starts or joins it, restarts it if it
 * dies, and the last process that uses it stops it. It is reachable over a Unix socket only. It must not be used if
 * DATABASE_URL names a server.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { clusterDatabase, clusterUser } from './cluster.ts';
import { EmbeddedPostgresError } from './error.ts';
import { findCluster, openDataDir } from './location/location.ts';
import { removeShortFolder } from './location/socket.ts';
import type { Keeper } from './processes/keeper.ts';
import { boundLog, logPath, SOCKET_PORT, stopPostmaster } from './processes/postmaster.ts';
import { nameOfOwner } from './processes/run-as.ts';
import { type Engine, type Joined, joinOrStart, rejoin } from './start.ts';

export { EmbeddedPostgresError };

/** Options of the `pg` client. `host` is the folder of the socket and stays the same after a restart. */
export type EmbeddedConnection = {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Set explicitly; otherwise `pg` would read PGSSLMODE from the environment. */
  readonly ssl: false;
};

export type EmbeddedPostgres = {
  readonly connection: EmbeddedConnection;
  /** Whether another process had started the server. */
  readonly joined: boolean;
  /** For people, such as `PostgreSQL 18.4, as user postgres, in ./data/postgres`. */
  readonly description: string;
  /** The real path of the cluster. */
  readonly cluster: string;
  /** Leaves the server; the last process that leaves stops it. Can be called again. Never rejects. */
  stop(): Promise<void>;
};

export type EmbeddedOptions = {
  /** DATA_DIR of the service. It is created if it is missing. */
  readonly dataDir: string;
  /** Called with one line at a time, without secrets. */
  readonly log?: (line: string) => void;
  /** PostgreSQL settings that replace the defaults. Those of the process that starts the server apply. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The folder with bin/, lib/ and share/. Default: that of the npm package. */
  readonly nativeDir?: string;
  /** Called when the server was lost and is back. Earlier connections are broken. */
  readonly onRestart?: () => void;
  /** Folder for the cluster if the user that runs PostgreSQL cannot reach DATA_DIR. */
  readonly systemDir?: string;
};

/** The first retries are quick, because a join often succeeds soon; later ones happen at most twice a minute. */
const FIRST_RETRY_MS = 250;
const LONGEST_RETRY_MS = 30_000;
const logCheckMs = 60 * 60 * 1000;
/** Used only if the user that runs PostgreSQL cannot reach DATA_DIR. */
export const defaultSystemDir = '/var/lib/castellan';

/** Whether this DATA_DIR has a database. Creates nothing. Throws an EmbeddedPostgresError. */
export const hasEmbeddedPostgres = (dataDir: string): boolean =>
  existsSync(dataDir) &&
  findCluster({ dataDir: realpathSync(dataDir), systemDir: defaultSystemDir, log: () => undefined }) !==
    undefined;

/** Starts or joins the server. Resolves when it accepts connections. Rejects with an EmbeddedPostgresError. */
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
  const held = keepServer(engine, first, log, options.onRestart);
  const logCheck = setInterval(() => boundLog(cluster), logCheckMs).unref();
  let stopped: Promise<void> | undefined;
  return {
    connection: {
      host: first.keeper.socketDir,
      port: SOCKET_PORT,
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

/** Watches the server through the keeper's connection, and restarts it when that is lost, until the signal aborts. */
function keepServer(
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
      let delayMs = FIRST_RETRY_MS;
      !engine.signal.aborted;
      delayMs = Math.min(2 * delayMs, LONGEST_RETRY_MS)
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
  // Even without a connection, the server may be alive and recovering.
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
