// Writes a backup: every table in one snapshot, while the service runs. It must not change the database.
import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import copy from 'pg-copy-streams';
import { appliedMigrations } from '../../platform/db/migrate.ts';
import { createKyselyOn } from '../../platform/db/pool.ts';
import { onlyRow } from '../../platform/db/sql.ts';
import {
  copyTarget,
  namesOf,
  readLeftOutTables,
  readSequences,
  readTables,
  type TableInfo,
  transactionSettings,
} from './catalog-store.ts';
import { RowCounter } from './check.ts';
import { type FrameKind, frameOf, type Header } from './format.ts';

export type BackupOptions = {
  /** Version of this program. */
  version: string;
  /** Included in the backup if given. */
  secretKey?: string;
  /** Receives the rows written so far, and how many the planner expects. */
  onProgress?: (progress: Progress) => void;
};

export type Progress = { table: string; done: number; total: number };

export type BackupResult = { header: Header; tables: number; rows: number };

/**
 * Returns the frames of a backup, for `packed`, and its result after the last one. `client`: a dedicated connection,
 * without statement timeouts, which the caller closes. Other transactions keep reading and writing; only a migration waits.
 * Throws an Error for the operator if the database has no schema, or if a migration ran in between.
 */
export async function* backupFrames(
  client: PoolClient,
  options: BackupOptions,
): AsyncGenerator<Buffer, BackupResult> {
  const whole = createHash('sha256');
  const framed = (kind: FrameKind, content: Buffer | object): Buffer[] => {
    const parts = frameOf(kind, content);
    for (const part of parts) whole.update(part);
    return parts;
  };
  const { header, tables } = await openSnapshot(client, options);
  yield* framed('H', header);
  const total = tables.reduce((sum, table) => sum + table.estimated_rows, 0);
  let rows = 0;
  for (const table of tables) {
    yield* framed('T', { name: table.name, columns: table.columns });
    const counter = new RowCounter();
    const source = client.query(copy.to(`${copyTarget(table)} to stdout`));
    for await (const data of source) {
      counter.add(data);
      yield* framed('D', data);
      options.onProgress?.({ table: table.name, done: rows + counter.rows, total });
    }
    rows += counter.rows;
    yield* framed('R', counter.result());
  }
  // A sequence is not part of a snapshot. Read after the rows, its position is at or beyond the highest of them.
  yield* framed('S', await readSequences(client));
  yield* frameOf('E', { tables: tables.length, rows, sha256: whole.digest('hex') });
  await client.query('commit');
  return { header, tables: tables.length, rows };
}

async function openSnapshot(
  client: PoolClient,
  { version, secretKey }: BackupOptions,
): Promise<{ header: Header; tables: TableInfo[] }> {
  const db = createKyselyOn(client);
  const before = await appliedMigrations(db);
  if (before.length === 0)
    throw new Error('The database has no tables of Castellan yet: there is nothing to back up.');
  const expected = await readTables(client);
  await client.query('begin isolation level repeatable read read only');
  await client.query(transactionSettings);
  // Before the snapshot, which the next statement takes: a migration that rewrites a table would empty it for this snapshot.
  await client.query(`lock table ${namesOf(expected)} in access share mode`);
  const migrations = await appliedMigrations(db);
  const tables = await readTables(client);
  if (shapeOf(tables) !== shapeOf(expected) || migrations.length !== before.length)
    throw new Error('The schema was migrated meanwhile. Run the command again.');
  const about = onlyRow(
    await client.query<{ now: Date; version: string }>(
      `select now() as now, current_setting('server_version') as version`,
    ),
  );
  const header: Header = {
    castellan: version,
    postgres: about.version,
    created_at: about.now.toISOString(),
    migrations: migrations.map(({ name, checksum }) => ({ name, checksum })),
    left_out: await readLeftOutTables(client),
    ...(secretKey === undefined ? {} : { secret_key: secretKey }),
  };
  return { header, tables };
}

const shapeOf = (tables: readonly TableInfo[]): string =>
  JSON.stringify(tables.map(({ name, columns }) => [name, columns]));
