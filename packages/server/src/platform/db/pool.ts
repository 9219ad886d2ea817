// Creates connection pools to PostgreSQL, and a Kysely on a pool that prepares its statements by name.
// It must not know a table.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  Kysely,
  PostgresAdapter,
  type PostgresCursor,
  PostgresDialect,
  type PostgresPoolClient,
  type PostgresQueryResult,
} from 'kysely';
import pg from 'pg';
import type { Logger } from '../logging/log.ts';
import { errorCode } from '../unknown-values.ts';
import { isConnectionLost, NotReplicatedError } from './failures.ts';
import { statementName } from './statement-names.ts';
import { type StatementWatch, watchStatements } from './watched-statements.ts';

/** A server and its database: a URL, or options of the client. */
export type Connection = string | { host: string; port: number; user: string; database: string };

export type PoolSettings = {
  connection: Connection;
  maxConnections: number;
  applicationName?: string;
  /** No statement timeout: for migrations, which may take long. The lock timeout stays. */
  unbounded?: boolean;
  /** Told of every statement. Without it, statements cost nothing more. */
  watch?: StatementWatch | undefined;
  /** Whether a statement that waited for a connection is sent in the asynchronous context of its caller. Default: false. */
  keepsContext?: boolean;
};

// A statement must not block a request longer than clients wait (10 s), a lock half of that. 15 s end a transaction
// that its process has abandoned.
const STATEMENT_TIMEOUT_MS = 10_000;
const LOCK_TIMEOUT_MS = 5_000;
const IDLE_TRANSACTION_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** By which PostgreSQL shows the connections of the service and of the command line. */
export const DEFAULT_APPLICATION_NAME = 'castellan';

/**
 * Returns the number of an instance's connections that are reserved for what every request needs: token lookups, the
 * permission graph, probes. At most three statements of lookups run at once (token-lookup.ts), so more would be idle.
 */
export const reservedConnections = (total: number): number => Math.min(3, Math.max(1, Math.floor(total / 5)));

/** Creates a pool. Opens no connection yet. */
export function createPool(settings: PoolSettings, log: Logger): pg.Pool {
  const { connection } = settings;
  const pool = new pg.Pool({
    ...(typeof connection === 'string' ? { connectionString: connection } : connection),
    max: settings.maxConnections,
    application_name: settings.applicationName ?? DEFAULT_APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // The statements are short: JIT compilation costs more than it saves (lists of users are 1.2 to 1.7 times faster
    // without).
    options: '-c jit=off',
    lock_timeout: LOCK_TIMEOUT_MS,
    ...(settings.unbounded
      ? {}
      : {
          // For a server that vanished without closing the connection: the client gives up shortly after the server
          // would.
          query_timeout: STATEMENT_TIMEOUT_MS + 2_000,
          statement_timeout: STATEMENT_TIMEOUT_MS,
          idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
        }),
  });
  if (settings.keepsContext) keepContext(pool);
  // Without these two listeners, a lost connection ends the process (node-postgres 2762). The pool repeats the error of
  // the connection, with the whole client object in it, so only the latter is logged.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => {
    if (settings.watch) watchStatements(client, settings.watch);
    client.on('error', (error) => {
      // Connections close shortly after the pool has ended. If the server stops in between, the error does not matter.
      if (!pool.ending) log.warn({ err: error }, 'database connection lost');
    });
    client.on('notice', (notice) => {
      if (tellsUnreplicated(notice)) unreplicated.add(client);
    });
  });
  return pool;
}

/** Otherwise, the pool calls back in the context of the code that released the connection. */
function keepContext(pool: pg.Pool): void {
  const connect = pool.connect.bind(pool) as (callback?: (...given: unknown[]) => void) => unknown;
  const bound = (callback?: (...given: unknown[]) => void): unknown =>
    callback === undefined ? connect() : connect(AsyncLocalStorage.bind(callback));
  pool.connect = bound as typeof pool.connect;
}

// A server that did not answer in time will not answer the next statement either, such as a rollback. No further
// statement is sent, and the connection is closed.
const isSilent = (error: unknown): error is Error =>
  error instanceof Error && error.message === 'Query read timeout';

// SQLSTATE read_only_sql_transaction: after a failover, an old connection may still be to a server that no longer
// accepts writes. A new connection reaches the right server.
const isReadOnly = (error: unknown): boolean => errorCode(error) === '25006';

// The pool notices a lost connection slightly later than the statement that failed. A retry in between would get the
// same connection, so it is closed on release.
const isSpent = (error: unknown): boolean => isReadOnly(error) || isConnectionLost(error);

// The C function that waits for synchronous standbys names itself in its warnings, in every language
// (src/backend/replication/syncrep.c, PostgreSQL 15 to 18).
const tellsUnreplicated = (notice: { routine?: string | undefined }): boolean =>
  notice.routine === 'SyncRepWaitForLSN';

/** Connections on which such a warning came with the answer of the present statement. */
const unreplicated = new WeakSet<object>();

const wrapped = new WeakMap<pg.PoolClient, PostgresPoolClient>();

// Names statements, which makes them 2 to 5 times cheaper: Kysely sends only (text, values).
function withNames(client: pg.PoolClient): PostgresPoolClient {
  const known = wrapped.get(client);
  if (known) return known;
  let silent: Error | undefined;
  let spent = false;

  function query<R>(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  function query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  function query(text: string | PostgresCursor<unknown>, values: readonly unknown[] = []): unknown {
    if (typeof text !== 'string') throw new TypeError('no cursor is configured');
    if (silent) return Promise.reject(silent);
    const name = statementName(text, values);
    const answer = client.query(
      name === undefined ? { text, values: [...values] } : { name, text, values: [...values] },
    );
    return answer.then(
      (result) => {
        if (unreplicated.delete(client)) throw new NotReplicatedError();
        return result;
      },
      (error: unknown) => {
        if (isSilent(error)) silent = error;
        if (isSpent(error)) spent = true;
        throw error;
      },
    );
  }

  const named: PostgresPoolClient = {
    query,
    release: (destroy) => client.release(destroy || silent !== undefined || spent),
    get processID() {
      return 'processID' in client && typeof client.processID === 'number' ? client.processID : 0;
    },
  };
  wrapped.set(client, named);
  return named;
}

/** Creates a Kysely on the pool. The caller ends the pool; destroying the Kysely does not. */
export const createKysely = <T>(pool: pg.Pool): Kysely<T> =>
  kyselyOver(async () => withNames(await pool.connect()));

/** Creates a Kysely on one connection, which the caller may use as well, and releases. Use neither during a statement. */
export const createKyselyOn = <T>(client: pg.PoolClient): Kysely<T> =>
  kyselyOver(async () => ({ ...withNames(client), release: () => undefined }));

const kyselyOver = <T>(connect: () => Promise<PostgresPoolClient>): Kysely<T> =>
  new Kysely<T>({ dialect: new Dialect({ pool: { connect, end: async () => {}, options: {} } }) });

/**
 * Kysely's own lock for migrations is left out, because the start lock lets only one process migrate. It would also raise the lock
 * timeout to an hour, during which a waiting migration blocks everybody, and hide why a migration failed: in the transaction
 * that has failed, its release fails as well.
 */
class Adapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

class Dialect extends PostgresDialect {
  override createAdapter(): Adapter {
    return new Adapter();
  }
}
