// Refuses a connection pooler between the service and PostgreSQL that takes away what the service relies on: time limits
// of its connections, and connections that keep their prepared statements and the start lock.
import type { Pool, PoolClient } from 'pg';
import { onlyRow } from '../../platform/db/sql.ts';
import { UnfitDatabaseError } from './unfit-database.ts';

const limits = ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'] as const;

/** How often two connections look for a server connection that both use. Poolers hand out the latest one first. */
const ATTEMPTS = 10;

/** Takes one connection of each pool. Throws UnfitDatabaseError with what to change. */
export async function requireOwnConnections(pool: Pool, otherPool: Pool): Promise<void> {
  const connection = await pool.connect();
  try {
    await requireLimits(connection, pool);
    // A pooler makes up the process id that it sends when a connection begins.
    if ('processID' in connection && connection.processID === (await backendOf(connection))) return;
    const other = await otherPool.connect();
    try {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1)
        if ((await backendOf(connection)) === (await backendOf(other)))
          throw new UnfitDatabaseError(
            'DATABASE_URL leads to a connection pooler in transaction mode, where prepared statements and locks of one connection end up on another. Connect to PostgreSQL directly, or use a pool in session mode (pool_mode=session in PgBouncer).',
          );
    } finally {
      other.release();
    }
  } finally {
    connection.release();
  }
}

async function requireLimits(connection: PoolClient, { options }: Pool): Promise<void> {
  const { rows } = await connection.query<{ name: (typeof limits)[number]; milliseconds: number }>(
    'select name, setting::int as milliseconds from pg_settings where name = any($1)',
    [limits],
  );
  for (const { name, milliseconds } of rows)
    if (milliseconds !== options[name])
      throw new UnfitDatabaseError(
        `The connection to PostgreSQL has ${name} = ${milliseconds} ms instead of ${options[name]} ms, so a pooler drops the settings of connections. Connect to PostgreSQL directly, or set the limits for the database user: ${limits.map((limit) => `alter role current_user set ${limit} = ${options[limit]};`).join(' ')}`,
      );
}

async function backendOf(connection: PoolClient): Promise<number> {
  return onlyRow(await connection.query<{ pid: number }>('select pg_backend_pid() as pid')).pid;
}
