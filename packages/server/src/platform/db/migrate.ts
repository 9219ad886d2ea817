// Brings a database to the newest schema: runs each file of `packages/server/migrations` once, in order.
// Call it under the start lock, in one transaction with everything else that the new schema needs.
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type QueryExecutorProvider, sql, type Transaction } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { errorCode } from '../unknown-values.ts';

export type MigrationFile = {
  name: string;
  text: string;
  /** SHA-256 of the file, in hexadecimal. */
  checksum: string;
  /** Whether every version since the last contraction works on the schema after it. */
  isExpand: boolean;
  /** The tables that it names as locked at once, before anything runs. */
  locks: readonly string[];
};

/** The first line of a migration that older versions can live with: see CONTRIBUTING.md. */
const EXPAND = /^-- Phase: expand\b/;
const LOCKS = /^-- Locks: (\w+(?:, \w+)*)$/m;
/** Shorter than PostgreSQL's `deadlock_timeout` of a second, so it is never a request that a deadlock ends. */
const LOCK_ATTEMPT_MS = 300;
const LOCK_ATTEMPTS = 20;
const LOCK_PAUSE_MS = 100;

const folder = new URL('../../../migrations/', import.meta.url);
const migrationTableName = 'schema_migrations';
const migrationLockTableName = 'schema_migrations_lock';

/** The tables that tell which migrations ran. */
export const bookkeepingTables: readonly string[] = [
  migrationTableName,
  migrationLockTableName,
  'schema_checksums',
];

/** Returns the migrations of this version, in order. */
export async function readMigrations(): Promise<MigrationFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (file) => {
      const text = await readFile(new URL(file, folder), 'utf8');
      return {
        name: file.replace(/\.sql$/, ''),
        text,
        checksum: createHash('sha256').update(text).digest('hex'),
        isExpand: EXPAND.test(text),
        locks: LOCKS.exec(text)?.[1]?.split(', ') ?? [],
      };
    }),
  );
}

export type SchemaHistory = {
  /** Ran on this database but unknown to this version: a newer version has used the database. */
  unknown: string[];
  /** Whether this version works on the schema all the same: each unknown migration only expanded it. */
  toleratesUnknown: boolean;
  /** Ran on this database with another text than this version's. */
  changed: string[];
  /** Ran on this database before checksums were recorded. */
  unrecorded: MigrationFile[];
  /** Did not run on this database yet. */
  missing: MigrationFile[];
};

/** Compares the migrations that ran on this database with the files of this version. Writes nothing. */
export async function compareHistory(
  db: QueryExecutorProvider,
  files: readonly MigrationFile[],
): Promise<SchemaHistory> {
  const applied = await appliedMigrations(db);
  const ran = new Set(applied.map(({ name }) => name));
  const byName = new Map(files.map((file) => [file.name, file]));
  const unknown = applied.filter(({ name }) => !byName.has(name));
  const known = applied.flatMap(({ name, checksum }) => {
    const file = byName.get(name);
    return file ? [{ file, checksum }] : [];
  });
  return {
    unknown: unknown.map(({ name }) => name),
    toleratesUnknown: unknown.every(({ is_expand }) => is_expand),
    changed: known
      .filter(({ file, checksum }) => checksum !== null && checksum !== file.checksum)
      .map(({ file }) => file.name),
    unrecorded: known.filter(({ checksum }) => checksum === null).map(({ file }) => file),
    missing: files.filter(({ name }) => !ran.has(name)),
  };
}

type Applied = { name: string; checksum: string | null; is_expand: boolean };

/** Returns the migrations that ran on this database, in order; none if it is empty. */
export async function appliedMigrations(db: QueryExecutorProvider): Promise<Applied[]> {
  const { rows: found } = await sql<{ migrations: boolean; checksums: boolean; phases: boolean }>`
    select to_regclass('schema_migrations') is not null as migrations,
           to_regclass('schema_checksums') is not null as checksums,
           exists (select from pg_attribute where attrelid = to_regclass('schema_checksums')
             and attname = 'is_expand') as phases`.execute(db);
  if (!found[0]?.migrations) return [];
  const checksum = found[0].checksums
    ? sql`(select checksum from schema_checksums c where c.name = m.name)`
    : sql`null::text`;
  const isExpand = found[0].phases
    ? sql`coalesce((select is_expand from schema_checksums c where c.name = m.name), false)`
    : sql`false`;
  const { rows } = await sql<Applied>`
    select m.name, ${checksum} as checksum, ${isExpand} as is_expand
    from schema_migrations m order by m.name`.execute(db);
  return rows;
}

/**
 * Runs the missing migrations of `files` and records their checksums and those of `unrecorded`. Returns the names of the
 * migrations that ran. It describes the whole schema to itself first, so call it only if something is missing.
 */
export async function migrate<T>(
  tx: Transaction<T>,
  files: readonly MigrationFile[],
  unrecorded: readonly MigrationFile[],
): Promise<string[]> {
  await sql`
    create table if not exists schema_checksums (
      name text constraint schema_checksums_name_pkey primary key,
      checksum text not null
    )`.execute(tx);
  await sql`alter table schema_checksums add column if not exists is_expand boolean not null default false`.execute(
    tx,
  );
  await recordChecksums(tx, unrecorded);
  const ran = new Set((await appliedMigrations(tx)).map(({ name }) => name));
  await lockTables(tx, [
    ...new Set(files.filter(({ name }) => !ran.has(name)).flatMap(({ locks }) => locks)),
  ]);
  const migrator = new Migrator({
    db: tx,
    provider: {
      getMigrations: async () => Object.fromEntries(files.map((file) => [file.name, toMigration(file)])),
    },
    migrationTableName,
    migrationLockTableName,
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error) throw error;
  return (results ?? []).map((result) => result.migrationName);
}

/**
 * Locks those of the tables that exist, until the transaction ends. A statement that holds one of them may want another, so it
 * lets go of all and tries again when it has to wait. Throws `lock_not_available` (55P03) after the last attempt.
 */
async function lockTables<T>(tx: Transaction<T>, names: readonly string[]): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${names}::text[]) with ordinality named (name, position)
    where to_regclass(name) is not null order by position`.execute(tx);
  if (rows.length === 0) return;
  const tables = sql.join(rows.map(({ name }) => sql.table(name)));
  await sql`savepoint unlocked`.execute(tx);
  await sql.raw(`set local lock_timeout = ${LOCK_ATTEMPT_MS}`).execute(tx);
  for (let attempt = 1; ; attempt += 1)
    try {
      await sql`lock table ${tables} in access exclusive mode`.execute(tx);
      break;
    } catch (error) {
      if (errorCode(error) !== '55P03' || attempt === LOCK_ATTEMPTS) throw error;
      await sql`rollback to savepoint unlocked`.execute(tx);
      await pause(LOCK_PAUSE_MS);
      await sql.raw(`set local lock_timeout = ${LOCK_ATTEMPT_MS}`).execute(tx);
    }
  await sql`set local lock_timeout to default`.execute(tx);
}

const toMigration = (file: MigrationFile): Migration => ({
  up: async (db) => {
    await sql.raw(file.text).execute(db);
    await recordChecksums(db, [file]);
  },
});

async function recordChecksums(db: QueryExecutorProvider, files: readonly MigrationFile[]): Promise<void> {
  for (const { name, checksum, isExpand } of files)
    await sql`
      insert into schema_checksums (name, checksum, is_expand) values (${name}, ${checksum}, ${isExpand})`.execute(
      db,
    );
}
