// Loads the tables of a backup into the schema that the migrations made, in the caller's transaction. The rows are loaded as
// they are, without triggers, so counters and marks that triggers keep stay as exact as they were in the snapshot.
import { once } from 'node:events';
import { type ClientBase, escapeIdentifier } from 'pg';
import copy from 'pg-copy-streams';
import {
  copyTarget,
  namesOf,
  readLoadObstacles,
  readTables,
  type TableInfo,
  transactionSettings,
} from './catalog-store.ts';
import type { BackupPart } from './check.ts';
import { damaged } from './faults.ts';
import type { Sequences } from './format.ts';

export type Loaded = {
  tables: number;
  rows: number;
  /** Tables of the backup that no migration makes: somebody else's. They are not loaded. */
  skipped: string[];
};

/**
 * Lets PostgreSQL end the transaction a second after this process was killed, also within a long statement, so that the next
 * attempt need not wait. Some systems of servers do not support it.
 */
async function endWithClient(client: ClientBase): Promise<void> {
  await client.query('savepoint client_check');
  try {
    await client.query(`set local client_connection_check_interval = '1s'`);
    await client.query('release savepoint client_check');
  } catch {
    await client.query('rollback to savepoint client_check');
  }
}

/**
 * `onBytes` receives the length of each piece of rows. Throws a BackupError if the tables of the backup are not those of its
 * schema. The caller then rolls back.
 */
export async function loadTables(
  client: ClientBase,
  parts: AsyncIterator<BackupPart, unknown>,
  onBytes: (table: string, bytes: number) => void,
): Promise<Loaded> {
  await client.query(transactionSettings);
  await endWithClient(client);
  const tables = new Map((await readTables(client)).map((table) => [table.name, table]));
  const obstacles = await readLoadObstacles(client);
  for (const { drop } of obstacles) await client.query(drop);
  for (const { name } of tables.values())
    await client.query(`alter table ${escapeIdentifier(name)} disable trigger user`);
  // The migrations insert the first rows of some tables.
  await client.query(`truncate ${namesOf([...tables.values()])}`);

  const loaded: Loaded = { tables: 0, rows: 0, skipped: [] };
  const missing = new Set(tables.keys());
  for (let next = await parts.next(); !next.done; next = await parts.next()) {
    if (next.value.kind === 'sequences') await setSequences(client, next.value.sequences, loaded.skipped);
    if (next.value.kind !== 'table') continue;
    const { table } = next.value;
    const target = tables.get(table.name);
    if (!target) {
      loaded.skipped.push(table.name);
      await drain(parts);
      continue;
    }
    requireSameColumns(target, table.columns);
    missing.delete(table.name);
    loaded.rows += await copyRows(client, parts, table, (bytes) => onBytes(table.name, bytes));
    loaded.tables += 1;
  }
  if (missing.size > 0) throw damaged(`it lacks ${[...missing].join(', ')}`);

  for (const { create } of obstacles.toReversed()) await client.query(create);
  for (const { name } of tables.values())
    await client.query(`alter table ${escapeIdentifier(name)} enable trigger user`);
  // Without statistics, the first statements would be planned for empty tables.
  await client.query(`analyze ${namesOf([...tables.values()])}`);
  return loaded;
}

function requireSameColumns({ name, columns }: TableInfo, found: readonly string[]): void {
  const differing = [
    ...columns.filter((column) => !found.includes(column)),
    ...found.filter((column) => !columns.includes(column)),
  ];
  if (differing.length > 0 || columns.length !== found.length)
    throw damaged(`the columns of ${name} are not those of its schema (${differing.join(', ')})`);
}

/** Reads the rest of a table without using it. */
async function drain(parts: AsyncIterator<BackupPart, unknown>): Promise<void> {
  for (let next = await parts.next(); !next.done && next.value.kind === 'data'; next = await parts.next());
}

/** Loads the rows up to the end of the table. Returns their number. */
async function copyRows(
  client: ClientBase,
  parts: AsyncIterator<BackupPart, unknown>,
  table: { name: string; columns: string[] },
  onBytes: (bytes: number) => void,
): Promise<number> {
  // Frozen rows need no vacuum later. Nobody else sees the table before the transaction has committed.
  const target = client.query(copy.from(`${copyTarget(table)} from stdin (freeze)`));
  const failed = new AbortController();
  target.on('error', (error) => failed.abort(error));
  let expected = 0;
  try {
    for (;;) {
      const next = await parts.next();
      if (next.done) throw damaged('a table has no end');
      if (next.value.kind === 'rows') {
        expected = next.value.rows;
        break;
      }
      if (next.value.kind !== 'data') throw damaged('its parts are in another order');
      failed.signal.throwIfAborted();
      onBytes(next.value.data.length);
      if (!target.write(next.value.data)) await once(target, 'drain', { signal: failed.signal });
    }
    target.end();
    await once(target, 'finish', { signal: failed.signal });
  } catch (error) {
    // PostgreSQL answers a broken COPY with an error, which says nothing new.
    if (!failed.signal.aborted) target.destroy(error instanceof Error ? error : undefined);
    throw failed.signal.aborted ? failed.signal.reason : error;
  }
  if (target.rowCount !== expected) throw damaged(`${table.name} has ${target.rowCount} of ${expected} rows`);
  return expected;
}

async function setSequences(
  client: ClientBase,
  sequences: Sequences,
  skippedTables: readonly string[],
): Promise<void> {
  for (const { name, last_value, is_called } of sequences) {
    const { rows } = await client.query<{ found: boolean }>(
      `select exists (select from pg_class where relkind = 'S' and relname = $1
         and relnamespace = current_schema()::regnamespace) as found`,
      [name],
    );
    if (rows[0]?.found) {
      await client.query('select setval($1::regclass, $2::bigint, $3)', [
        escapeIdentifier(name),
        last_value,
        is_called,
      ]);
    } else if (skippedTables.length === 0) throw damaged(`its schema has no sequence ${name}`);
  }
}
