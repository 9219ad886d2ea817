// Opens the database for a backup or a restore: without the secret key, and without anything that the service itself needs.
// A running embedded PostgreSQL is shared; one that was stopped is started, and stopped again.
import { isDatabaseUnavailable } from '@castellan/server/platform/db/failures';
import { createPool } from '@castellan/server/platform/db/pool';
import { createLog } from '@castellan/server/platform/logging/log';
import { loadSettings } from '@castellan/server/settings';
import { openDatabaseServer, requireDatabase } from '@castellan/server/start/database/database-server';
import { explainStartFailure, explainWait } from '@castellan/server/start/failure';
import type { Call } from '../command.ts';

type Settings = ReturnType<typeof loadSettings>;
type Server = {
  settings: Settings;
  log: ReturnType<typeof createLog>;
  pool: ReturnType<typeof createPool>;
  /** Which database, without credentials. */
  database: string;
  /** Aborts on SIGINT and SIGTERM, so that files and servers are not left behind. */
  signal: AbortSignal;
};

/** Runs `work` on the database. `existing`: the embedded database is not created. */
export async function onServer<T>(
  call: Call,
  { existing }: { existing: boolean },
  work: (server: Server) => Promise<T>,
): Promise<T> {
  const settings = loadSettings(call.environment);
  const log = createLog(settings.logLevel, { write: (line) => void process.stderr.write(line) });
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort(new Error('interrupted.'));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, interrupt);
  try {
    if (existing) requireDatabase(settings);
    const server = await openDatabaseServer(settings, log);
    const pool = createPool({ connection: server.connection, maxConnections: 2, unbounded: true }, log);
    try {
      const { signal } = interruption;
      return await work({ settings, log, pool, database: server.description, signal });
    } finally {
      await pool.end();
      await server.stop();
    }
  } catch (error) {
    if (interruption.signal.aborted) throw interruption.signal.reason;
    throw new Error(
      isDatabaseUnavailable(error) ? explainWait(error) : explainStartFailure(error, settings.dataDir),
      { cause: error },
    );
  } finally {
    for (const signal of signals) process.off(signal, interrupt);
  }
}
