// Restores a backup into an empty database, in one transaction: the database is restored completely, or stays empty. A start
// during the restore waits for the start lock, and then finds the restored database.
import { setTimeout as wait } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import {
  BackupError,
  checkedParts,
  type Ended,
  type Header,
  isEmptyDatabase,
  type Loaded,
  loadTables,
  type Progress,
  type RestoreChoices,
  settleRestored,
} from '../../modules/backup/service.ts';
import { type MigrationFile, migrate, readMigrations } from '../../platform/db/migrate.ts';
import { createKyselyOn, DEFAULT_APPLICATION_NAME } from '../../platform/db/pool.ts';
import type { Logger } from '../../platform/logging/log.ts';
import type { Tables } from '../../schema/tables.ts';
import { takeStartLock } from '../lock.ts';
import { requireServerVersion } from './prepare-database.ts';
import { UnfitDatabaseError } from './unfit-database.ts';

// The server ends a connection after it has released its locks. Without an answer, the connection is given up.
const CLOSE_LIMIT_MS = 5_000;

export type RestoreOptions = RestoreChoices & {
  log: Logger;
  /** Bytes of rows in the backup, for the progress. */
  totalBytes: number;
  onProgress?: (progress: Progress) => void;
  /** Ends the restore, which then has changed nothing. */
  signal?: AbortSignal;
  /** Called when everything is restored. If it rejects, nothing is. */
  beforeCommit?: () => Promise<void>;
};

export type Restored = Loaded &
  Ended & {
    /** Migrations of this version that the backup did not have. */
    migrated: string[];
  };

/** Throws a BackupError if this version cannot restore the backup. Looks at no database. */
export async function requireKnownMigrations({ migrations }: Header): Promise<MigrationFile[]> {
  const files = await readMigrations();
  const known = new Map(files.map((file) => [file.name, file]));
  const unknown = migrations.filter(({ name }) => !known.has(name)).map(({ name }) => name);
  if (unknown.length > 0)
    throw new BackupError(
      `The backup is newer than this version of Castellan: it has ${unknown.join(', ')}. Restore it with the version that made it.`,
    );
  const changed = migrations.filter(
    ({ name, checksum }) => checksum !== null && checksum !== known.get(name)?.checksum,
  );
  if (changed.length > 0)
    throw new BackupError(
      `The backup was made after another migration ${changed.map(({ name }) => name).join(', ')} than this version has. Install the released files of packages/server/migrations again.`,
    );
  return migrations.flatMap(({ name }) => known.get(name) ?? []);
}

/**
 * Restores a backup, which is checked once more on the way. `pool`: without statement timeouts, at least two connections.
 * Throws UnfitDatabaseError if the database is not empty or in use, and BackupError. When it settles, its connections are
 * closed on the server too, so that another restore can begin at once.
 */
export async function restoreDatabase(
  pool: Pool,
  backup: AsyncIterable<Uint8Array>,
  options: RestoreOptions,
): Promise<Restored> {
  const lock = await pool.connect();
  const client = await pool.connect();
  // Closes the connection in the middle of its statement.
  const abort = (): void => void client.end();
  options.signal?.addEventListener('abort', abort);
  try {
    await requireServerVersion(lock);
    await takeStartLock(lock, () => undefined, { limitMs: 0 });
    await requireUnused(lock, client);
    return await createKyselyOn<Tables>(client)
      .transaction()
      .execute(async (tx) => {
        if (!(await isEmptyDatabase(client)))
          throw new UnfitDatabaseError(
            'The database is not empty. Nothing was changed. Restore into a new database, or a new DATA_DIR.',
          );
        const parts = checkedParts(backup);
        const header = await headerOf(parts);
        await migrate(tx, await requireKnownMigrations(header), []);
        let done = 0;
        const loaded = await loadTables(client, parts, (table, bytes) => {
          done += bytes;
          options.onProgress?.({ table, done, total: options.totalBytes });
        });
        const migrated = await migrate(tx, await readMigrations(), []);
        const ended = await settleRestored(tx, options.log, options, header.created_at);
        await options.beforeCommit?.();
        return { ...loaded, ...ended, migrated };
      });
  } finally {
    options.signal?.removeEventListener('abort', abort);
    // Closing the connections releases the lock, in whatever state they are.
    await Promise.race([
      Promise.allSettled([client.end(), lock.end()]),
      wait(CLOSE_LIMIT_MS, null, { ref: false }),
    ]);
    client.release(true);
    lock.release(true);
  }
}

async function headerOf(parts: ReturnType<typeof checkedParts>): Promise<Header> {
  const first = await parts.next();
  if (first.done || first.value.kind !== 'header') throw new BackupError('The backup has no header.');
  return first.value.header;
}

/** An instance that runs on an emptied database still has the users, rights and keys of the lost one in memory. */
async function requireUnused(...own: PoolClient[]): Promise<void> {
  const [connection] = own;
  const pids: number[] = [];
  for (const one of own) {
    const { rows } = await one.query<{ pid: number }>('select pg_backend_pid() as pid');
    pids.push(...rows.map(({ pid }) => pid));
  }
  const found = await connection?.query<{ count: number }>(
    `select count(*)::integer as count from pg_stat_activity
     where datname = current_database() and application_name = $1 and pid <> all($2)`,
    [DEFAULT_APPLICATION_NAME, pids],
  );
  const others = found?.rows[0]?.count ?? 0;
  if (others > 0)
    throw new UnfitDatabaseError(
      `Castellan uses this database: it has ${others} other ${others === 1 ? 'connection' : 'connections'}. Stop every instance. Nothing was changed.`,
    );
}
