// Databases without the service: empty ones, and ones of an earlier version.
import { readMigrations } from '@castellan/server/platform/db/migrate';
import { scratchName, urlOfDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';

/** Creates a database without tables. */
export async function createEmptyDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const name = scratchName();
  const url = urlOfDatabase(name);
  const admin = urlOfDatabase('postgres');
  await run(admin, `create database ${name}`);
  const drop = async (): Promise<void> => void (await run(admin, `drop database if exists ${name}`));
  return { url, drop };
}

/** Runs one statement, on a connection of its own, and returns its rows. */
export async function run<T extends pg.QueryResultRow>(
  url: string,
  statement: string,
  values?: unknown[],
): Promise<T[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<T>(statement, values)).rows;
  } finally {
    await client.end();
  }
}

/** Makes an empty database one of the version before this migration, with a user. */
export async function migrateUpTo(url: string, before: string): Promise<void> {
  const earlier = (await readMigrations()).filter(({ name }) => name < before);
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(
      `create table schema_migrations (name varchar(255) primary key, "timestamp" varchar(255) not null);
       create table schema_checksums (
         name text constraint schema_checksums_name_pkey primary key, checksum text not null)`,
    );
    for (const { name, text, checksum } of earlier) {
      await client.query(text);
      await client.query('insert into schema_migrations values ($1, $2)', [name, '2026-11-20T00:00:00.000Z']);
      await client.query('insert into schema_checksums values ($1, $2)', [name, checksum]);
    }
    await client.query(
      `insert into users (id, email, first_name, last_name) values (gen_random_uuid(), 'a@b.example', 'Ada', 'B')`,
    );
  } finally {
    await client.end();
  }
}
