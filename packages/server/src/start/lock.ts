// The start lock, an advisory lock under which one instance at a time prepares the database; and what a start waits
// for.
import { setTimeout as wait } from 'node:timers/promises';
import type { PoolClient } from 'pg';

// "cast" in ASCII: a number that other software on the same database is unlikely to use.
export const START_LOCK = 0x63617374;
const RETRY_MS = 250;
// Seeds and small migrations are faster than this, so the wait for them is not reported.
const QUIET_MS = 2_000;
const REPEAT_MS = 30_000;
/** A migration of millions of rows takes minutes; after this time, the waiting instance retries its start. */
const LIMIT_MS = 60_000;

/** Another instance prepares the database for longer than this start waits. A later retry may succeed. */
export class StartLockHeldError extends Error {
  override name = 'StartLockHeldError';
}

/** PostgreSQL shows only the process id of a backend of another database user. */
type Backend = { pid: number; since: Date | null; application_name: string | null; client: string };

const described = ({ pid, since, application_name, client }: Backend): string =>
  since === null
    ? `database backend ${pid} (another database user)`
    : `database backend ${pid} (${application_name || 'no application name'}, ${client}), connected since ${since.toISOString()}`;

const backendColumns = `a.pid, a.backend_start as since, a.application_name,
  coalesce(host(a.client_addr), 'local socket') as client`;

/**
 * Takes the lock, which lasts until the connection ends. Calls `tell` with a sentence if that takes longer than 2 s,
 * and then every 30 s. Throws StartLockHeldError after 60 s, and the signal's reason if it aborts.
 */
export async function takeStartLock(
  connection: PoolClient,
  tell: (text: string) => void,
  {
    signal,
    limitMs = LIMIT_MS,
    quietMs = QUIET_MS,
  }: { signal?: AbortSignal; limitMs?: number; quietMs?: number } = {},
): Promise<void> {
  const started = performance.now();
  let nextWord = quietMs;
  for (;;) {
    signal?.throwIfAborted();
    const { rows } = await connection.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
      START_LOCK,
    ]);
    if (rows[0]?.taken) return;
    const waited = performance.now() - started;
    if (waited >= nextWord || waited >= limitMs) {
      const holder = await lockHolder(connection);
      // Without a holder, the lock was released in between: the next attempt takes it.
      if (holder) {
        const sentence = `Another instance is preparing this database: ${described(holder)}.`;
        if (waited >= limitMs)
          throw new StartLockHeldError(
            `${sentence} If that backend no longer belongs to an instance, end it: select pg_terminate_backend(${holder.pid});`,
          );
        tell(sentence);
        nextWord = waited + REPEAT_MS;
      }
    }
    await wait(RETRY_MS);
  }
}

/**
 * Releases the lock. Closing the connection does so too, but only when its backend has noticed. A lost connection holds no
 * lock, so its error is no failure of what was done under the lock.
 */
export async function releaseStartLock(connection: PoolClient): Promise<void> {
  await connection.query('select pg_advisory_unlock($1)', [START_LOCK]).catch(() => undefined);
}

async function lockHolder(connection: PoolClient): Promise<Backend | undefined> {
  const { rows } = await connection.query<Backend>(
    `select ${backendColumns} from pg_locks l join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and l.classid = 0 and l.objid = $1
       and l.database = (select oid from pg_database where datname = current_database())`,
    [START_LOCK],
  );
  return rows[0];
}

/** Returns a sentence about the backend that blocks the backend `pid`; undefined if none does. */
export async function blockerOf(connection: PoolClient, pid: number): Promise<string | undefined> {
  const { rows } = await connection.query<Backend>(
    `select ${backendColumns} from unnest(pg_blocking_pids($1)) as b (pid) join pg_stat_activity a on a.pid = b.pid`,
    [pid],
  );
  return rows[0] && `The preparation of the database is waiting for a lock held by ${described(rows[0])}.`;
}
