// Connections to PostgreSQL: one pool, and a Kysely on top of it whose statements are prepared by name.
// It must not know a table.
import { createHash } from 'node:crypto';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Logger } from '../log.ts';
import { isConnectionLost } from './failures.ts';

export type PoolSettings = {
  connection: string | { host: string; port: number; user: string; database: string };
  maxConnections: number;
  applicationName?: string;
  /** For migrations, which may rightly take long: no statement or lock time-out. */
  unbounded?: boolean;
};

// A dead statement must not hold a request longer than a client waits: 10 s; a lock queue half of that;
// a transaction that its process forgot, 15 s.
const STATEMENT_TIMEOUT_MS = 10_000;
const LOCK_TIMEOUT_MS = 5_000;
const IDLE_TRANSACTION_TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;

export function createPool(settings: PoolSettings, log: Logger): pg.Pool {
  const target =
    typeof settings.connection === 'string' ? { connectionString: settings.connection } : settings.connection;
  const pool = new pg.Pool({
    ...target,
    max: settings.maxConnections,
    application_name: settings.applicationName ?? 'castellan',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    // Our statements are short; compiling one costs more than it saves (lists of users: 1.2 to 1.7 times faster without).
    options: '-c jit=off',
    ...(settings.unbounded
      ? {}
      : {
          // A server that went away without a word: the client gives up a little after the server would have.
          query_timeout: STATEMENT_TIMEOUT_MS + 2_000,
          statement_timeout: STATEMENT_TIMEOUT_MS,
          lock_timeout: LOCK_TIMEOUT_MS,
          idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
        }),
  });
  // Without these two, a cut connection ends the process (node-postgres 2762). The pool repeats what the connection of
  // its own says, with all of the connection in it.
  pool.on('error', () => undefined);
  pool.on('connect', (client) =>
    client.on('error', (error) => {
      // Connections close a little after the pool has ended; a server that stops by then cuts them, and nobody cares.
      if (!pool.ending) log.warn({ err: error }, 'database connection lost');
    }),
  );
  return pool;
}

// Each name is a plan held by every connection. Our own statements are a few hundred; past the bound,
// texts that vary (filters) go unnamed instead of filling the server's memory.
const MAX_STATEMENT_NAMES = 1_000;
const statementNames = new Map<string, string>();

function statementName(text: string): string | undefined {
  let name = statementNames.get(text);
  if (name === undefined && statementNames.size < MAX_STATEMENT_NAMES) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 22);
    statementNames.set(text, name);
  }
  return name;
}

type NamedClient = {
  query(text: string, values?: readonly unknown[]): Promise<never>;
  release(destroy?: boolean): void;
  readonly processID?: number;
};

// A server that gave no answer in time will give none to the next statement either, a rollback for one: it is not
// asked again, and such a connection is closed.
const isSilent = (error: unknown): boolean =>
  error instanceof Error && error.message === 'Query read timeout';

// SQLSTATE read_only_sql_transaction: after a failover an old connection may be to a server that takes no writes any
// more, and stay so; a new one leads to the server that does.
const isReadOnly = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === '25006';

// The pool learns of the end of a connection a little later than the statement that it took with it: whoever asks again
// in between would be given the same one.
const isSpent = (error: unknown): boolean => isReadOnly(error) || isConnectionLost(error);

const wrapped = new WeakMap<pg.PoolClient, NamedClient>();

// Kysely sends (text, values); a statement with values becomes a named one: 2 to 5 times cheaper.
function withNames(client: pg.PoolClient): NamedClient {
  const known = wrapped.get(client);
  if (known) return known;
  let silent: Error | undefined;
  let spent = false;
  const named: NamedClient = {
    query: (text, values) => {
      if (silent) return Promise.reject(silent);
      const name = values?.length ? statementName(text) : undefined;
      const answer = client.query(
        name === undefined
          ? { text, values: values as unknown[] }
          : { name, text, values: values as unknown[] },
      ) as unknown as Promise<never>;
      return answer.catch((error: unknown) => {
        if (isSilent(error)) silent = error as Error;
        if (isSpent(error)) spent = true;
        throw error;
      });
    },
    release: (destroy) => client.release(destroy || silent !== undefined || spent),
    get processID() {
      return (client as unknown as { processID?: number }).processID ?? 0;
    },
  };
  wrapped.set(client, named);
  return named;
}

/** The pool stays the caller's: end it, not the Kysely. */
export function createKysely<T>(pool: pg.Pool): Kysely<T> {
  return new Kysely<T>({
    dialect: new PostgresDialect({
      pool: {
        connect: async () => withNames(await pool.connect()) as never,
        end: async () => {},
        options: {},
      },
    }),
  });
}
