// Brings a database to the newest schema: the files of `packages/server/migrations`, each in order, once.
// It must hold the caller's advisory lock, because several instances may start at once.
import { readdir, readFile } from 'node:fs/promises';
import { type Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';

const folder = new URL('../../../migrations/', import.meta.url);

async function readMigrations(): Promise<Record<string, Migration>> {
  const migrations: Record<string, Migration> = {};
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.sql'))) {
    const text = await readFile(new URL(file, folder), 'utf8');
    migrations[file.replace(/\.sql$/, '')] = {
      up: async (db) => {
        await sql.raw(text).execute(db);
      },
    };
  }
  return migrations;
}

/** Answers the names of the migrations that ran now. All of them run in one transaction: all or nothing. */
export async function migrate(db: Kysely<unknown>): Promise<string[]> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: readMigrations },
    migrationTableName: 'schema_migrations',
    migrationLockTableName: 'schema_migrations_lock',
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error) throw error;
  return (results ?? []).map((result) => result.migrationName);
}
