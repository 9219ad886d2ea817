// Starts while the database is missing, refuses connections or is locked: the instance listens, is not ready, logs what
// it waits for, and becomes ready by itself. The test must not intervene after the fault.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, type TestContext } from 'node:test';
import { atEnd, until } from '@castellan/embedded-postgres/testing';
import { createLog } from '@castellan/server/platform/logging/log';
import { type Service, startService } from '@castellan/server/service';
import { loadSettings } from '@castellan/server/settings';
import { createClient } from '@castellan/testing/client';
import { ADMIN, eventually, startTestService, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { assertRefused, relayTo } from '@castellan/testing/http/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { createScratchDatabase, scratchName, urlOfDatabase } from '@castellan/testing/scratch-database';
import { startChild } from '@castellan/testing/start/child';
import { passwordsOf } from '@castellan/testing/start/kept-files';
import { assertUnavailable, hold, lastFirst, NO_HANG_MS, withClient } from './fixture.ts';

const scenario = scenariosOf('faults');
// pg_advisory_lock of src/start/prepare-database.ts.
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
  const name = scratchName();
  const onServer = (text: string): Promise<unknown> =>
    withClient(urlOfDatabase('postgres'), (client) => client.query(text));
  await onServer(`create database ${name} template template0`);
  atEnd(t, () => onServer(`drop database ${name} with (force)`));
  return urlOfDatabase(name);
}

/**
 * Checks that the instance is live and refuses all that needs the database. Returns the number of statements checked.
 */
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
    'an instance that starts without its database listens, is not ready, and becomes ready by itself',
    async (tally, t) => {
      const direct = await startTestService(lastFirst(t));
      const relay = await relayTo(lastFirst(t), direct.databaseUrl);
      for (let round = 0; round < rounds(1, 4); round += 1) {
        await relay.cut();
        tally.injected();
        const { service, logLines } = await startHere(t, relay.url);
        tally.held(await assertWaiting(service.url));
        await eventually(
          () => logLines.find((one) => one.includes('the database cannot be used yet; retrying')),
          'a line in the log',
        );
        await relay.restore();
        await service.prepared;
        tally.held(await assertServing(service.url));
        tally.tried(7);
      }
    },
  );

  scenario(
    'an instance that is stopped before its database was ever reachable ends at once',
    async (tally, t) => {
      const direct = await startTestService(lastFirst(t));
      const relay = await relayTo(lastFirst(t), direct.databaseUrl);
      await relay.cut();
      tally.injected();
      const { service } = await startHere(t, relay.url);
      await service.stop();
      await assert.rejects(service.prepared);
      tally.tried();
      tally.held();
    },
  );

  scenario(
    'two instances on an empty database wait while another holds the start lock, and both become ready afterwards',
    async (tally, t) => {
      for (let round = 0; round < rounds(1, 4); round += 1) {
        const url = await emptyDatabase(t);
        const held = await hold(t, url, `select pg_advisory_lock(${START_LOCK})`);
        tally.injected();
        const both = await Promise.all([startHere(t, url), startHere(t, url)]);
        for (const { service, logLines } of both) {
          await eventually(
            () => logLines.find((one) => one.includes('Another instance is preparing this database')),
            'a line that names the backend',
          );
          tally.held(await assertWaiting(service.url));
        }
        await held.release();
        const made = await Promise.all(both.map(({ service }) => service.prepared));
        assert.equal(made.filter(({ madeSuperuser }) => madeSuperuser).length, 1);
        for (const { service } of both) tally.held(await assertServing(service.url));
        tally.tried(14);
      }
    },
  );

  scenario(
    'an instance waits for a database that refuses connections at its start, and retries',
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
        () => logLines.find((one) => one.includes('the database cannot be used yet; retrying')),
        'a line in the log',
      );
      await admit(true);
      await service.prepared;
      tally.held(await assertServing(service.url));
      tally.tried(7);
    },
  );

  scenario(
    'a first start prints the generated password although the database fails before the signing keys exist',
    async (tally, t) => {
      const { url, drop } = await createScratchDatabase({ migrated: true });
      atEnd(t, drop);
      await withClient(url, (client) => client.query('delete from user_roles; delete from users'));
      // The seed has read the keys and waits to insert the superuser. The lock queued behind it holds the keys from
      // the commit on.
      const before = await hold(t, url, 'lock table users in share row exclusive mode');
      const child = startChild(t, { DATABASE_URL: url, SECRET_KEY: TEST_SECRET_KEY });
      const address = await child.listening();
      await before.waiting(1);
      const holding = hold(t, url, 'lock table signing_keys in access exclusive mode');
      await before.waiting(2);
      await before.release();
      const after = await holding;
      tally.injected();
      await until('it waits', () => /the database cannot be used yet/.test(child.out()), NO_HANG_MS);
      await after.release();
      await until('it has welcomed', () => child.announced('ready') !== undefined, NO_HANG_MS);
      await until('it has kept the password', () => passwordsOf(child).length > 0, NO_HANG_MS);
      const passwords = passwordsOf(child);
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
