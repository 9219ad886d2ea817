// Creates a database for one test, on the server that scripts/test.ts started or was given.
// It must leave nothing behind: every caller drops its database.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

/** The server on which the databases of the run are created. */
export const adminUrl = process.env.TEST_DATABASE_ADMIN_URL ?? missing();
/** A migrated and seeded database without connections; created by scripts/test.ts. */
const template = process.env.TEST_DATABASE_TEMPLATE;
/** How PostgreSQL copies the template. Copying files is faster, unless the server syncs them to disk. */
const strategy = process.env.TEST_DATABASE_COPY ?? 'wal_log';
const isSynced = strategy === 'wal_log';
const platformSchema = new URL(import.meta.resolve('@castellan/server/migrations/0002-platform.sql'));

function missing(): never {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const file = relative(root, process.argv[1] ?? '');
  throw new Error(`No PostgreSQL for tests. Run \`npm test -- ${file}\`, which starts one.`);
}

/** A connection costs as much as a copy of the template, so a test file keeps a few. They do not keep the process. */
const admin = new pg.Pool({
  connectionString: adminUrl,
  max: 2,
  idleTimeoutMillis: 0,
  allowExitOnIdle: true,
});
// An idle connection that breaks is replaced; a statement that fails still rejects.
admin.on('error', () => undefined);

/** Returns a database name with the prefix of this run, which drops what a killed test leaves. */
export const scratchName = (): string =>
  `${process.env.TEST_DATABASE_PREFIX ?? 'scratch_'}${randomBytes(6).toString('hex')}`;

export function urlOfDatabase(name: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** Creates the tables of platform/ in the database. */
async function createPlatform(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(await readFile(platformSchema, 'utf8'));
  } finally {
    await client.end();
  }
}

/**
 * Creates a database. With `migrated` it is a copy of the template; if there is none, it is empty and the service
 * migrates it. Otherwise it has only the tables of platform/. Rejects when PostgreSQL cannot be reached. `drop` rejects
 * when a connection is still open after 5 s.
 */
export async function createScratchDatabase(
  options: { migrated?: boolean } = {},
): Promise<{ url: string; drop(): Promise<void> }> {
  const name = scratchName();
  const url = urlOfDatabase(name);
  await admin.query(
    `create database ${name} ${options.migrated && template ? `template ${template} strategy ${strategy}` : ''}`,
  );
  // A given server may sync every commit to disk, which no test is about.
  if (isSynced) await admin.query(`alter database ${name} set synchronous_commit = off`);
  if (!options.migrated) await createPlatform(url);
  // Without force: a pool closes its connections shortly after it reports its end, and cutting one would fail the
  // test file. PostgreSQL itself waits 5 s for them.
  const drop = async (): Promise<void> => {
    try {
      await admin.query(`drop database if exists ${name}`);
    } catch (error) {
      // A failed test left a connection open, which would keep its process alive without end.
      await admin.query(`drop database if exists ${name} with (force)`);
      throw error;
    }
  };
  return { url, drop };
}
