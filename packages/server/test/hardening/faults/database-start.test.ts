// Starts that find their database missing, refusing, or held by another: the instance listens, is not ready, says what
// it waits for, and gets ready by itself. It must not need a hand after the fault is over.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext } from 'node:test';
import { createLog } from '../../../src/platform/log.ts';
import { type Service, startService } from '../../../src/service.ts';
import { loadSettings } from '../../../src/settings.ts';
import { createClient } from '../../client.ts';
import { atEnd, until } from '../../embedded/fixture.ts';
import { ADMIN, eventually, startTestService, TEST_SECRET_KEY } from '../../harness.ts';
import { assertRefused, relayTo } from '../../http/fixture.ts';
import { createScratchDatabase, urlOfDatabase } from '../../scratch-database.ts';
import { startChild } from '../../start/child.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import { assertUnavailable, hold, lastFirst, NO_HANG_MS, withClient } from './database-fixture.ts';

const scenario = scenariosOf('faults');
// pg_advisory_lock of src/database-start.ts.
const START_LOCK = 0x63617374;

async function startHere(t: TestContext, url: string): Promise<{ service: Service; logLines: string[] }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'castellan-test-'));
  const logLines: string[] = [];
  const service = await startService({
    settings: loadSettings({
      HOST: '127.0.0.1',
      PORT: '0',
      DATABASE_URL: url,
      DATA_DIR: dataDir,
      SECRET_KEY: TEST_SECRET_KEY,
      FIRST_SUPERUSER_EMAIL: ADMIN.email,
      FIRST_SUPERUSER_PASSWORD: ADMIN.password,
      RATE_LIMIT_LOGIN: 'off',
    }),
    log: createLog('info', { write: (text) => void logLines.push(text) }),
    print: () => {},
  });
  atEnd(t, async () => {
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { service, logLines };
}

async function emptyDatabase(t: TestContext): Promise<string> {
  const name = `scratch_${randomBytes(6).toString('hex')}`;
  const onServer = (text: string): Promise<unknown> =>
    withClient(urlOfDatabase('postgres'), (client) => client.query(text));
  await onServer(`create database ${name} template template0`);
  atEnd(t, () => onServer(`drop database ${name} with (force)`));
  return urlOfDatabase(name);
}

/** Listens, is alive, and refuses everything that needs the database. Answers how many statements held. */
async function assertWaiting(url: string): Promise<number> {
  const client = createClient(url);
  assert.equal((await client.get('/health/live')).status, 200);
  const ready = await client.get('/health/ready');
  assert.equal(ready.status, 503);
  assert.equal(ready.body.status, 'not_ready');
  for (const path of ['/api/v1/auth/csrf-token', '/api/v1/users/me', '/.well-known/jwks.json']) {
    const answer = await client.get(path);
    assertUnavailable(answer);
    assertRefused(answer, 503, 'database_unavailable');
    assert.doesNotMatch(answer.headers.get('cache-control') ?? '', /public/);
  }
  return 5;
}

async function assertServing(url: string): Promise<number> {
  const client = createClient(url);
  await until('it is ready', async () => (await client.get('/health/ready')).status === 200, NO_HANG_MS);
  assert.equal((await client.login(ADMIN)).status, 200);
  return 2;
}

suite('start', { concurrency: 2 }, () => {
  scenario(
    'an instance that starts before its database listens, is not ready, and gets ready by itself',
    async (tally, t) => {
      const direct = await startTestService(lastFirst(t));
      const line = await relayTo(lastFirst(t), direct.databaseUrl);
      for (let round = 0; round < rounds(1, 4); round += 1) {
        await line.cut();
        tally.injected();
        const { service, logLines } = await startHere(t, line.url);
        tally.held(await assertWaiting(service.url));
        await eventually(
          () => logLines.find((one) => one.includes('trying until it can')),
          'a line in the log',
        );
        await line.restore();
        await service.prepared;
        tally.held(await assertServing(service.url));
        tally.tried(7);
      }
    },
  );

  scenario('an instance that is stopped before its database ever came ends at once', async (tally, t) => {
    const direct = await startTestService(lastFirst(t));
    const line = await relayTo(lastFirst(t), direct.databaseUrl);
    await line.cut();
    tally.injected();
    const { service } = await startHere(t, line.url);
    await service.stop();
    await assert.rejects(service.prepared);
    tally.tried();
    tally.held();
  });

  scenario(
    'two instances on an empty database wait while another holds the start lock, and both are ready after it',
    async (tally, t) => {
      for (let round = 0; round < rounds(1, 4); round += 1) {
        const url = await emptyDatabase(t);
        const held = await hold(t, url, `select pg_advisory_lock(${START_LOCK})`);
        tally.injected();
        const both = await Promise.all([startHere(t, url), startHere(t, url)]);
        await held.waiting(2);
        for (const { service } of both) tally.held(await assertWaiting(service.url));
        await held.release();
        const made = await Promise.all(both.map(({ service }) => service.prepared));
        assert.equal(made.filter(({ madeSuperuser }) => madeSuperuser).length, 1);
        for (const { service } of both) tally.held(await assertServing(service.url));
        tally.tried(14);
      }
    },
  );

  scenario(
    'a database that lets nobody in at the start is waited for, and its door is tried again',
    async (tally, t) => {
      const url = await emptyDatabase(t);
      const name = new URL(url).pathname.slice(1);
      const admit = (allowed: boolean): Promise<unknown> =>
        withClient(urlOfDatabase('postgres'), (client) =>
          client.query(
            `update pg_database set datallowconn = ${allowed}, datconnlimit = -1 where datname = '${name}'`,
          ),
        );
      await admit(false);
      atEnd(t, () => admit(true));
      tally.injected();
      const { service, logLines } = await startHere(t, url);
      tally.held(await assertWaiting(service.url));
      await eventually(
        () => logLines.find((one) => one.includes('trying until it can')),
        'a line in the log',
      );
      await admit(true);
      await service.prepared;
      tally.held(await assertServing(service.url));
      tally.tried(7);
    },
  );

  scenario(
    'the password that a first start made is told although the database goes between its making and the keys',
    async (tally, t) => {
      const { url, drop } = await createScratchDatabase({ migrated: true });
      atEnd(t, drop);
      await withClient(url, (client) => client.query('delete from user_roles; delete from users'));
      // The seed needs the table, and waits; who comes next in the queue has it from the commit on.
      const table = 'lock table signing_keys in access exclusive mode';
      const before = await hold(t, url, table);
      const child = startChild(t, { DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY });
      const address = await child.listening();
      await before.waiting(1);
      const holding = hold(t, url, table);
      await before.waiting(2);
      await before.release();
      const after = await holding;
      tally.injected();
      await until('it waits', () => /^The database cannot be used yet/m.test(child.out()), NO_HANG_MS);
      await after.release();
      await until('it has welcomed', () => /^Ready\.$/m.test(child.out()), NO_HANG_MS);
      const passwords = [...child.out().matchAll(/^ {2}password +(\S+)/gm)].map((found) => found[1] ?? '');
      assert.equal(passwords.length, 1, child.out());
      const login = await createClient(address).login({
        email: 'admin@example.com',
        password: passwords[0] ?? '',
      });
      assert.equal(login.status, 200, login.text);
      tally.tried(2);
      tally.held(2);
    },
  );
});
