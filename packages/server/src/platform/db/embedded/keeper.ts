/**
 * The connection by which a process shows that it uses the server: it holds a shared advisory lock, and whoever can
 * change it into the exclusive one is the last. It must not carry statements of the service.
 */
import { Socket } from 'node:net';
import pg from 'pg';
import { clusterDatabase, clusterUser } from './cluster.ts';
import { errorCode, explainError } from './error.ts';
import { socketPort } from './postmaster.ts';

/** Any number; locks count per database, and nothing else locks in the maintenance database `postgres`. */
const lockKey = 1;

/** A local server answers in milliseconds, on a crowded machine in seconds. */
const patienceMs = 10_000;

export type Keeper = {
  readonly socketDir: string;
  /** As in 18.4. */
  readonly version: string;
  /** Calls back once when the connection ends without leave() or close(). */
  onLost(callback: () => void): void;
  /**
   * Gives the server up: `last` when nobody else uses it, and then nobody can join it any more until close(); `lost`
   * when the connection broke before the answer.
   */
  leave(): Promise<'last' | 'others' | 'lost'>;
  close(): Promise<void>;
};

/** Undefined while no server can be joined: there is none, it starts, or it is being stopped. */
export async function openKeeper(socketDir: string): Promise<Keeper | undefined> {
  const socket = new Socket();
  const client = new pg.Client({
    host: socketDir,
    port: socketPort,
    user: clusterUser,
    database: 'postgres',
    // Said, or PGSSLMODE in the environment would be asked.
    ssl: false,
    application_name: 'castellan-keeper',
    connectionTimeoutMillis: patienceMs,
    query_timeout: patienceMs,
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
      [lockKey],
    );
    if (!rows[0]?.held) {
      socket.destroy();
      return undefined;
    }
    await ensureDatabase(client);
    // A service that ends without stop() is not held up by this connection.
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
          await client.query('select pg_advisory_unlock_shared($1)', [lockKey]);
          const last = await client.query<{ last: boolean }>('select pg_try_advisory_lock($1) as last', [
            lockKey,
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

/** There is no server, or it starts (57P03), stops (57P01, 57P02), is crowded (53300) or slow (no code). */
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
    // 42P04 duplicate_database, 23505 unique_violation: another process has made it in this moment.
    if (!(error instanceof pg.DatabaseError) || !['42P04', '23505'].includes(error.code ?? '')) throw error;
  }
}
