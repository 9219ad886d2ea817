// Runs work that may take longer than a request on a separate connection, without a statement timeout.
import { createKysely, createPool } from '@castellan/server/platform/db/pool';
import type { Tables } from '@castellan/server/schema/tables';
import type { Foundation } from '@castellan/server/start/foundation';
import type { Call } from '../command.ts';
import { onDatabase } from '../local/database.ts';

type LongDeps = Pick<Foundation['deps'], 'auditLog' | 'settings'> & {
  db: ReturnType<typeof createKysely<Tables>>;
};

/** Runs the work on the database of the settings. */
export const onOwnConnection = <T>(call: Call, work: (deps: LongDeps) => Promise<T>): Promise<T> =>
  onDatabase(call, { existing: true }, async ({ deps, connection }) => {
    const pool = createPool({ connection, maxConnections: 1, unbounded: true }, deps.log);
    try {
      return await work({ auditLog: deps.auditLog, settings: deps.settings, db: createKysely<Tables>(pool) });
    } finally {
      await pool.end();
    }
  });
