// What a start does with a database of another version: it adopts it, migrates it completely, or leaves it unchanged.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ADMIN, eventually, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { createCheapHasher } from '@castellan/testing/hashing';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { migrate, readMigrations } from '../../src/platform/db/migrate.ts';
import { createKysely } from '../../src/platform/db/pool.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import { createLog } from '../../src/platform/logging/log.ts';
import { type Service, startService } from '../../src/service.ts';
import { loadSettings } from '../../src/settings.ts';
import { prepareDatabase } from '../../src/start/database/prepare-database.ts';
import { START_LOCK, StartLockHeldError, takeStartLock } from '../../src/start/lock.ts';

type Started = { service: Service; logLines: string[] };

async function start(t: TestContext, url: string, more: Record<string, string> = {}): Promise<Started> {
  const dataDir = await mkdtemp(join(tmpdir(), 'castellan-upgrade-'));
  const logLines: string[] = [];
  const service = await startService({
    settings: loadSettings({
      HOST: '127.0.0.1',
      PORT: '0',
      PUBLIC_URL: 'http://castellan.test',
      DATABASE_URL: url,
      DATA_DIR: dataDir,
      SECRET_KEY: TEST_SECRET_KEY,
      FIRST_SUPERUSER_EMAIL: ADMIN.email,
      FIRST_SUPERUSER_PASSWORD: ADMIN.password,
      ...more,
    }),
    log: createLog('info', { write: (line) => void logLines.push(line) }),
    print: () => {},
  });
  cleanups.get(t)?.push(async () => {
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { service, logLines };
}

const cleanups = new WeakMap<TestContext, (() => Promise<void>)[]>();

/** Opens a database and a connection to it, which is closed before the database is dropped. */
async function openDatabase(t: TestContext, migrated: boolean): Promise<{ url: string; client: pg.Client }> {
  const { url, drop } = await createScratchDatabase({ migrated });
  const client = new pg.Client(url);
  await client.connect();
  const steps: (() => Promise<void>)[] = [];
  cleanups.set(t, steps);
  t.after(async () => {
    for (const step of steps) await step();
    await client.end();
    await drop();
  });
  return { url, client };
}

/** Creates a database of the first release, before checksums, with a superuser and a signing key. */
async function releasedDatabase(t: TestContext): Promise<{ url: string; client: pg.Client }> {
  const { url, client } = await openDatabase(t, false);
  // The scratch database already has the platform's tables.
  await client.query('drop schema public cascade; create schema public');
  await client.query(
    'create table schema_migrations (name varchar(255) primary key, "timestamp" varchar(255) not null)',
  );
  for (const name of ['0001-accounts', '0002-platform', '0003-administration', '0004-user-search']) {
    await client.query(await readFile(new URL(`../../migrations/${name}.sql`, import.meta.url), 'utf8'));
    await client.query('insert into schema_migrations values ($1, $2)', [name, '2026-11-20T00:00:00.000Z']);
  }
  return { url, client };
}

const stateOf = async (client: pg.Client): Promise<string> => {
  const { rows } = await client.query(`
    select (select json_agg(m.name order by m.name) from schema_migrations m) as migrations,
           (select json_agg(c.relname order by c.relname) from pg_class c
            where c.relnamespace = 'public'::regnamespace) as relations`);
  return JSON.stringify(rows);
};

test('a database of an earlier release is migrated, and its migrations are recorded with their checksums', async (t) => {
  const { url, client } = await releasedDatabase(t);
  const { service, logLines } = await start(t, url);
  const { migrations } = await service.prepared;
  assert.ok(migrations.includes('0005-audit-and-dashboard'));
  const { rows } = await client.query('select name, checksum from schema_checksums order by name');
  assert.deepEqual(
    rows,
    (await readMigrations()).map(({ name, checksum }) => ({ name, checksum })),
  );
  const line = logLines.find((one) => one.includes('recorded the checksums'));
  assert.match(line ?? '', /0001-accounts.*0004-user-search/);
});

test('a start with another SECRET_KEY is refused before any migration; the right key migrates', async (t) => {
  const { url, client } = await releasedDatabase(t);
  const { url: donor, client: donorClient } = await openDonor(t);
  const key = await donorClient.query('select key_id, public_jwk, private_key_sealed from signing_keys');
  assert.ok(donor);
  const { key_id, public_jwk, private_key_sealed } = key.rows[0];
  await client.query(
    'insert into signing_keys (key_id, public_jwk, private_key_sealed) values ($1, $2, $3)',
    [key_id, public_jwk, private_key_sealed],
  );
  const before = await stateOf(client);
  const wrong = await start(t, url, { SECRET_KEY: 'another key for tests, of 32 bytes or more' });
  await assert.rejects(wrong.service.prepared, /SECRET_KEY/);
  assert.equal(await stateOf(client), before);
  const right = await start(t, url);
  assert.ok((await right.service.prepared).migrations.length > 0);
});

/** Opens a prepared database whose signing key the tests' SECRET_KEY decrypts. */
async function openDonor(t: TestContext): Promise<{ url: string; client: pg.Client }> {
  const { url, drop } = await createScratchDatabase({ migrated: true });
  const client = new pg.Client(url);
  await client.connect();
  cleanups.get(t)?.push(async () => {
    await client.end();
    await drop();
  });
  return { url, client };
}

test('a database that a newer version has used is refused with a fix, and stays unchanged', async (t) => {
  const { url, client } = await openDatabase(t, true);
  await client.query("insert into schema_migrations values ('9999-later', '2027-01-01T00:00:00.000Z')");
  const before = await stateOf(client);
  const { service } = await start(t, url);
  await assert.rejects(service.prepared, /newer than this version.*9999-later.*docs\/operate\/upgrade\.md/);
  assert.equal(await stateOf(client), before);
});

test('a start goes on after a newer version that only expanded the schema, until one that did not', async (t) => {
  const { url, client } = await openDatabase(t, true);
  const record = async (name: string, isExpand: boolean): Promise<void> => {
    await client.query("insert into schema_migrations values ($1, '2027-01-01T00:00:00.000Z')", [name]);
    await client.query('insert into schema_checksums values ($1, $2, $3)', [name, 'x', isExpand]);
  };
  await record('9998-later', true);
  const before = await stateOf(client);
  const { service, logLines } = await start(t, url);
  assert.deepEqual((await service.prepared).migrations, []);
  assert.equal(logLines.filter((line) => /"warn".*9998-later/.test(line)).length, 1);
  assert.equal(await stateOf(client), before);

  await record('9999-latest', false);
  const refused = await start(t, url);
  await assert.rejects(refused.service.prepared, /newer than this version.*9998-later, 9999-latest/);
});

test('a version that lacks migrations does not run its own after those of a newer one', async (t) => {
  const { url, client } = await openDatabase(t, true);
  await client.query("insert into schema_migrations values ('9998-later', '2027-01-01T00:00:00.000Z')");
  await client.query("insert into schema_checksums values ('9998-later', 'x', true)");
  const last = (await readMigrations()).at(-1)?.name;
  for (const table of ['schema_migrations', 'schema_checksums'])
    await client.query(`delete from ${table} where name = $1`, [last]);
  const { service } = await start(t, url);
  await assert.rejects(service.prepared, /newer than this version.*9998-later/);
});

test('a migration records whether the version before it works after it', async (t) => {
  const { url, client } = await openDatabase(t, true);
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  cleanups.get(t)?.push(() => pool.end());
  const files = await readMigrations();
  assert.ok(files.every(({ text, isExpand }) => isExpand === text.startsWith('-- Phase: expand')));
  const text = 'create table added (id integer)';
  const added = { name: '9999-added', text, checksum: 'x', isExpand: true, locks: [] };
  const db = createKysely(pool);
  assert.deepEqual(await inTransaction(db, (tx) => migrate(tx, [...files, added], [])), ['9999-added']);
  const { rows } = await client.query('select name from schema_checksums where is_expand order by name desc');
  assert.equal(rows[0].name, '9999-added');
});

test('a migration whose text differs from the one that ran is refused, by name', async (t) => {
  const { url, client } = await openDatabase(t, true);
  await client.query("update schema_checksums set checksum = 'other' where name = '0002-platform'");
  const { service } = await start(t, url);
  await assert.rejects(service.prepared, /Migration 0002-platform ran on this database with other contents/);
});

for (const [what, text, code] of [
  ['fails', 'select 1 / 0', '22012'],
  ['waits for a table longer than the lock timeout', 'alter table users add column more text', '55P03'],
] as const)
  test(`a migration that ${what} ends with its own error`, async (t) => {
    const { url, client } = await openDatabase(t, true);
    await client.query('begin; lock table users in row exclusive mode');
    const pool = new pg.Pool({ connectionString: url, max: 1, lock_timeout: 200 });
    cleanups.get(t)?.push(() => pool.end());
    const file = { name: '9999-more', text, checksum: 'more', isExpand: true, locks: [] };
    const files = [...(await readMigrations()), file];
    await assert.rejects(
      inTransaction(createKysely(pool), (tx) => migrate(tx, files, [])),
      { code },
    );
    await client.query('rollback');
  });

test('a request that uses the tables of a migration in another order is never the one to give way', async (t) => {
  const { url, client } = await openDatabase(t, true);
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  cleanups.get(t)?.push(() => pool.end());
  const text = 'alter table users add column more text; alter table session_tokens add column more text';
  const locks = ['session_tokens', 'absent', 'users'];
  const file = { name: '9999-more', text, checksum: 'more', isExpand: true, locks };
  const files = [...(await readMigrations()), file];
  await client.query('begin; select from users');
  const migrated = inTransaction(createKysely(pool), (tx) => migrate(tx, files, []));
  const observer = new pg.Client(url);
  await observer.connect();
  cleanups.get(t)?.push(() => observer.end());
  const waiting = "select from pg_locks where relation = 'users'::regclass and not granted";
  await eventually(async () => (await observer.query(waiting)).rows[0], 'the migration to wait for users');
  // PostgreSQL looks for a deadlock when somebody has waited for a second. Later, it is the request that would find one.
  await observer.query('select pg_sleep(1.1)');
  await client.query('select from session_tokens');
  await client.query('commit');
  assert.deepEqual(await migrated, ['9999-more']);
});

test("a start that waits for another instance's preparation names its backend, times out, and continues afterwards", async (t) => {
  const { url, client } = await openDatabase(t, true);
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  cleanups.get(t)?.push(() => pool.end());
  const holder = await pool.connect();
  const said: string[] = [];
  await takeStartLock(holder, (text) => void said.push(text));
  assert.equal(said.length, 0);
  const { rows } = await holder.query('select pg_backend_pid() as pid');
  const waiter = await pool.connect();
  await assert.rejects(
    takeStartLock(waiter, (text) => void said.push(text), { quietMs: 0, limitMs: 600 }),
    (error: Error) =>
      error instanceof StartLockHeldError && error.message.includes(`backend ${rows[0].pid} `),
  );
  assert.match(said[0] ?? '', new RegExp(`^Another instance .* backend ${rows[0].pid} .* since \\d{4}-`));
  assert.ok((await client.query('select 1')).rowCount);
  holder.release(true);
  await takeStartLock(waiter, (text) => void said.push(text));
  waiter.release(true);
});

test('once a start is prepared, another one or a restore gets the start lock at the first attempt', async (t) => {
  const { url } = await openDatabase(t, true);
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  cleanups.get(t)?.push(() => pool.end());
  const restore = await pool.connect();
  await prepareDatabase(pool, {
    hasher: createCheapHasher(),
    secretKey: Buffer.from(TEST_SECRET_KEY),
    settings: { firstSuperuserEmail: ADMIN.email, firstSuperuserPassword: ADMIN.password },
    log: createLog('silent', { write: () => undefined }),
    tell: () => undefined,
  });
  const { rows } = await restore.query('select pg_try_advisory_lock($1) as taken', [START_LOCK]);
  restore.release(true);
  assert.deepEqual(rows, [{ taken: true }]);
});

test('a start that loses the connection of its lock after the commit still returns the generated password', async (t) => {
  const { url, client: other } = await openDatabase(t, true);
  // A database without users is a new one.
  await other.query('truncate users cascade');
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  cleanups.get(t)?.push(() => pool.end());
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    Object.assign(client, {
      query: (...given: unknown[]) =>
        String(given[0]).includes('pg_advisory_unlock')
          ? Promise.reject(new Error('Connection terminated unexpectedly'))
          : query(...given),
    });
  });
  const { madePassword } = await prepareDatabase(pool, {
    hasher: createCheapHasher(),
    secretKey: Buffer.from(TEST_SECRET_KEY),
    settings: { firstSuperuserEmail: ADMIN.email, firstSuperuserPassword: undefined },
    log: createLog('silent', { write: () => undefined }),
    tell: () => undefined,
  });
  assert.ok(madePassword);
});

test('a backend of another database user is named only by its process id, because PostgreSQL hides its details', async (t) => {
  const { url } = await openDatabase(t, true);
  const low = new URL(url);
  low.username = `${low.pathname.slice(1)}_low`;
  low.password = 'x';
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const holder = await pool.connect();
  await holder.query(`create role ${low.username} login password 'x'`);
  const lowPool = new pg.Pool({ connectionString: low.href, max: 1 });
  cleanups.get(t)?.push(async () => {
    await lowPool.end();
    await holder.query(`drop role ${low.username}`);
    holder.release(true);
    await pool.end();
  });
  await takeStartLock(holder, () => {});
  const { rows } = await holder.query('select pg_backend_pid() as pid');
  const waiter = await lowPool.connect();
  await assert.rejects(
    takeStartLock(waiter, () => {}, { quietMs: 0, limitMs: 0 }),
    (error: Error) =>
      error instanceof StartLockHeldError &&
      error.message.includes(`database backend ${rows[0].pid} (another database user).`),
  );
  waiter.release(true);
});

// The first mode blocks the migration, the second what is read before it.
for (const mode of ['share row exclusive', 'access exclusive'])
  test(`a start that waits for a table locked in ${mode} mode names the backend, times out, and tries again`, async (t) => {
    const { url, client } = await releasedDatabase(t);
    await client.query(`begin; lock table users in ${mode} mode`);
    const { rows } = await client.query('select pg_backend_pid() as pid');
    const { service, logLines } = await start(t, url);
    await eventually(
      () =>
        logLines.find((text) =>
          text.includes(`is waiting for a lock held by database backend ${rows[0].pid} `),
        ),
      'the backend that locks the table',
    );
    await client.query('commit');
    assert.ok((await service.prepared).migrations.length > 0);
  });
