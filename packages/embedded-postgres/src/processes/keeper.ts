/**
 * The connection with which a process shows that it uses the server. It holds a shared advisory lock; a process that
 * gets the exclusive lock is the last one. It must not be used for statements of the service.
 */
import { Socket } from 'node:net';
import pg from 'pg';
import { clusterDatabase, clusterUser } from '../cluster.ts';
import { errorCode, explainError } from '../error.ts';
import { SOCKET_PORT } from './postmaster.ts';

/** Any number: advisory locks are per database, and nothing else takes one in the database `postgres`. */
const LOCK_KEY = 1;

/** A local server answers in milliseconds, or in seconds on a busy machine. */
const PATIENCE_MS = 10_000;

export type Keeper = {
  readonly socketDir: string;
  /** Such as `18.4`. */
  readonly version: string;
  /** Calls back once when the connection ends without leave() or close(). */
  onLost(callback: () => void): void;
  /**
   * Leaves the server. Resolves with `last` if no other process uses it (then none can join it until close()), and with
   * `lost` if the connection broke before the result.
   */
  leave(): Promise<'last' | 'others' | 'lost'>;
  close(): Promise<void>;
};

/** Joins the server. Returns undefined if that is impossible now: there is none, it starts, or it is being stopped. */
export async function openKeeper(socketDir: string): Promise<Keeper | undefined> {
  const socket = new Socket();
  const client = new pg.Client({
    host: socketDir,
    port: SOCKET_PORT,
    user: clusterUser,
    database: 'postgres',
    // Set explicitly; otherwise `pg` would read PGSSLMODE from the environment.
    ssl: false,
    application_name: 'castellan-keeper',
    connectionTimeoutMillis: PATIENCE_MS,
    query_timeout: PATIENCE_MS,
    stream: () => socket,
  });
  let lost = false;
  let expected = false;
  let callback: (() => void) | undefined;
  const onEnd = (): void => {
    if (lost) return;
    lost = true;
    if (!expected) callback?.();
  };
  client.on('error', onEnd);
  client.on('end', onEnd);
  const close = async (): Promise<void> => {
    expected = true;
    await client.end().catch(() => undefined);
  };
  try {
    await client.connect();
    const { rows } = await client.query<{ held: boolean; version: string }>(
      "select pg_try_advisory_lock_shared($1) as held, current_setting('server_version') as version",
      [LOCK_KEY],
    );
    if (!rows[0]?.held) {
      socket.destroy();
      return undefined;
    }
    await ensureDatabase(client);
    // This connection must not keep a service alive that ends without stop().
    socket.unref();
    return {
      socketDir,
      version: rows[0].version,
      onLost(wanted) {
        callback = wanted;
        if (lost && !expected) wanted();
      },
      async leave() {
        expected = true;
        socket.ref();
        try {
          await client.query('select pg_advisory_unlock_shared($1)', [LOCK_KEY]);
          const last = await client.query<{ last: boolean }>('select pg_try_advisory_lock($1) as last', [
            LOCK_KEY,
          ]);
          return last.rows[0]?.last ? 'last' : 'others';
        } catch {
          return 'lost';
        }
      },
      close,
    };
  } catch (error) {
    socket.destroy();
    if (isPassing(error)) return undefined;
    throw explainError(error, socketDir);
  }
}

/**
 * Whether there is no server, or it starts (57P03), stops (57P01, 57P02), has no free connection (53300) or is slow (no
 * code).
 */
function isPassing(error: unknown): boolean {
  const code = errorCode(error);
  const passing = ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P02', '57P03', '53300'];
  return code === undefined || passing.includes(code);
}

async function ensureDatabase(client: pg.Client): Promise<void> {
  const found = await client.query('select from pg_database where datname = $1', [clusterDatabase]);
  if (found.rowCount) return;
  try {
    await client.query(`create database ${clusterDatabase} template template0`);
  } catch (error) {
    // 42P04 duplicate_database, 23505 unique_violation: another process created it at the same time.
    if (!(error instanceof pg.DatabaseError) || !['42P04', '23505'].includes(error.code ?? '')) throw error;
  }
}
