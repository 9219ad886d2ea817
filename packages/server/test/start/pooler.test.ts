// Starts behind PgBouncer: what it refuses or drops is named, and a pool in session mode works, also for the change feed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { atEnd, temporaryFolder, until } from '@castellan/embedded-postgres/testing';
import { openLiveFeed } from '@castellan/testing/feed/reader';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { adminUrl } from '@castellan/testing/scratch-database';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { startChild } from '@castellan/testing/start/child';
import pg from 'pg';
import { emptyDatabase, onServer, refusal } from './refusal.ts';

const SECRET_KEY = '6/wsor6QSjg3iUCVjLBZf2UOep3X69fQVyD3OI/eDFh/0IOPLuTM7c8YdzoP2x7G';
const DROPS_SETTINGS =
  'ignore_startup_parameters = options,lock_timeout,statement_timeout,idle_in_transaction_session_timeout';

const isInstalled = spawnSync('pgbouncer', ['--version']).status === 0;
const options = { skip: !isInstalled && !process.env.CI ? 'PgBouncer is not installed' : false };

/** Starts PgBouncer in front of the server of the tests. Returns the URL of `database` through it. */
async function startBouncer(t: TestContext, database: string, lines: readonly string[]): Promise<string> {
  const folder = temporaryFolder(t);
  const server = new URL(adminUrl);
  const file = join(folder, 'pgbouncer.ini');
  const host = server.hostname;
  const password = server.password === '' ? '' : ` password=${decodeURIComponent(server.password)}`;
  writeFileSync(
    file,
    `[databases]
* = host=${decodeURIComponent(host)} port=${server.port || 5432} user=${decodeURIComponent(server.username)}${password}
[pgbouncer]
listen_addr =
unix_socket_dir = ${folder}
auth_type = any
${lines.join('\n')}
`,
  );
  chmodSync(folder, 0o755);
  const asRoot = process.getuid?.() === 0;
  // PgBouncer does not run as root.
  if (asRoot) {
    const id = (kind: string): number =>
      Number(spawnSync('id', [kind, 'postgres'], { encoding: 'utf8' }).stdout);
    chownSync(folder, id('-u'), id('-g'));
  }
  const bouncer = spawn('pgbouncer', ['-q', ...(asRoot ? ['-u', 'postgres'] : []), file], {
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => bouncer.once('exit', resolve));
  atEnd(t, async () => {
    bouncer.kill('SIGINT');
    await ended;
  });
  const url = `postgres://${server.username}@${encodeURIComponent(folder)}:6432/${database}`;
  await until('PgBouncer answers', async () => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  });
  return url;
}

const nameOf = (url: string): string => new URL(url).pathname.slice(1);

/** Sets the time limits that the service sets for its connections, and that a pooler drops. */
async function limitTimes(database: string): Promise<void> {
  for (const limit of [
    'lock_timeout = 5000',
    'statement_timeout = 10000',
    'idle_in_transaction_session_timeout = 15000',
  ])
    await onServer(`alter database ${database} set ${limit}`);
}

test('a start through a pooler that refuses settings of connections names the pooler', options, async (t) => {
  const url = await startBouncer(t, nameOf(await emptyDatabase(t)), ['pool_mode = session']);
  const child = startChild(t, { DATABASE_URL: url, SECRET_KEY });
  await until('the reason is logged', () =>
    child.out().includes('A pooler between this service and PostgreSQL'),
  );
  assert.match(child.out(), /unsupported startup parameter: .*high-availability\.md/);
});

test(
  'a start through a pooler that drops time limits is refused, with the statements that set them',
  options,
  async (t) => {
    const url = await startBouncer(t, nameOf(await emptyDatabase(t)), [
      'pool_mode = session',
      DROPS_SETTINGS,
    ]);
    const line = await refusal(startChild(t, { DATABASE_URL: url, SECRET_KEY }));
    assert.match(line, /_timeout = 0 ms instead of \d+ ms.*alter role current_user set lock_timeout = 5000;/);
  },
);

test(
  'a start through a pool in transaction mode is refused, one in session mode works',
  options,
  async (t) => {
    const database = nameOf(await emptyDatabase(t));
    await limitTimes(database);
    const shared = await startBouncer(t, database, ['pool_mode = transaction', DROPS_SETTINGS]);
    const line = await refusal(startChild(t, { DATABASE_URL: shared, SECRET_KEY }));
    assert.match(line, /connection pooler in transaction mode.*pool_mode=session/);

    const own = await startBouncer(t, database, [
      'pool_mode = session',
      'default_pool_size = 50',
      DROPS_SETTINGS,
    ]);
    const child = startChild(t, { DATABASE_URL: own, SECRET_KEY });
    const answer = await fetch(`${await child.ready()}/api/v1/auth/csrf-token`);
    assert.equal(answer.status, 200);
  },
);

test(
  'the change feed tells through a pool what is committed beside it, and through it',
  options,
  async (t) => {
    const direct = await startTestService({ after: (hook) => atEnd(t, hook) });
    const database = nameOf(direct.databaseUrl);
    await limitTimes(database);
    const url = await startBouncer(t, database, [
      'pool_mode = session',
      'default_pool_size = 50',
      DROPS_SETTINGS,
    ]);
    const pooled = await direct.another({ DATABASE_URL: url });
    const { key } = await addServiceAccount(direct, { permissions: ['access.watch'] });
    const feeds = [await openLiveFeed(pooled.url, key), await openLiveFeed(direct.url, key)];
    const beside = randomUUID();
    await direct.sql(
      "insert into users (id, email, first_name, last_name) values ($1, 'ada@example.com', 'Ada', 'L')",
      [beside],
    );
    await direct.sql("update users set first_name = 'Grace' where id = $1", [beside]);
    const admin = await signIn(pooled, ADMIN);
    const renamed = await admin.put('/api/v1/users/me', { first_name: 'Ada', last_name: 'Lovelace' });
    assert.equal(renamed.status, 200, renamed.text);
    const person = renamed.body.data.id;
    for (const feed of feeds) {
      for (const one of [beside, person]) await feed.change('user', one);
      feed.close();
    }
    await pooled.stop();
  },
);
