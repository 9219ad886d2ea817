// A shutdown that something delays: clients that never finish, a database that never came, locks, an unfinished first
// start. It must not measure how long a shutdown takes: what was still pending shows that it did not wait.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { suite } from 'node:test';
import {
  atEnd,
  isStopped,
  postmasterPid,
  temporaryFolder,
  until,
} from '@castellan/embedded-postgres/testing';
import { createClient } from '@castellan/testing/client';
import { ADMIN, startTestService, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { relayTo } from '@castellan/testing/http/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { type Child, startChild, statusOf } from '@castellan/testing/start/child';
import pg from 'pg';

const scenario = scenariosOf('faults');

/** The moments at which a first start is interrupted. */
const moments: readonly [what: string, heard: (child: Child, folder: string) => boolean][] = [
  ['it listens', (child) => child.announced('listening') !== undefined],
  ['PostgreSQL is being started', (_child, folder) => isPostmaster(folder)],
  ['its database is created', (_child, folder) => databasesIn(folder) > DATABASES_OF_INITDB],
  ['it is ready', (child) => child.announced('ready') !== undefined],
];

/** template0, template1 and postgres. */
const DATABASES_OF_INITDB = 3;

const databasesIn = (folder: string): number =>
  existsSync(`${folder}/postgres/base`) ? readdirSync(`${folder}/postgres/base`).length : 0;

function isPostmaster(folder: string): boolean {
  try {
    return postmasterPid(`${folder}/postgres`) > 0;
  } catch {
    return false;
  }
}

suite('a stop that is held up', { concurrency: 4 }, () => {
  scenario(
    'a client that never finishes its request, or never reads its answer, does not delay shutdown for long',
    async (tally, t) => {
      const direct = await startTestService(t);
      const service = await direct.another();
      const { hostname, port } = new URL(service.url);
      const sockets = [
        'POST /api/v1/auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n',
        'GET /api/v1/users/me HT',
        '',
        `GET /docs HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(200),
      ].map((text) => {
        const socket = connect(Number(port), hostname).on('error', () => {});
        socket.pause();
        socket.write(text);
        atEnd(t, () => socket.destroy());
        return socket;
      });
      const unfinished = sockets.slice(0, 3);
      let received = '';
      for (const socket of unfinished) socket.resume().on('data', (chunk) => (received += chunk));
      await Promise.all(sockets.map((socket) => until('it is connected', () => !socket.connecting)));
      assert.equal(await statusOf(`${service.url}/health/live`), 200);
      tally.tried(sockets.length);
      tally.injected(sockets.length);
      await service.stop();
      await Promise.all(unfinished.map((socket) => until('it is cut', () => socket.destroyed)));
      // A request timeout, 15 s or more, would answer 408 before it closes the connection.
      assert.doesNotMatch(received, /^HTTP\/1\.1 408 /m);
      tally.held(sockets.length);
    },
  );

  scenario(
    'a service that is stopped before its database was ever reachable ends at once',
    async (tally, t) => {
      const direct = await startTestService(t);
      const line = await relayTo(t, direct.databaseUrl);
      await line.cut();
      const child = startChild(t, {
        DATABASE_URL: line.url,
        DATA_DIR: temporaryFolder(t),
        SECRET_KEY: TEST_SECRET_KEY,
      });
      const url = await child.listening();
      assert.equal(await statusOf(`${url}/health/ready`), 503);
      child.kill('SIGTERM');
      // The database stays unreachable: a shutdown that waited for it would never end.
      assert.deepEqual(await child.ended, { code: 0, signal: null });
      tally.tried();
      tally.injected();
      tally.held(2);
    },
  );

  scenario(
    'SIGTERM at any moment of a first start ends with 0 and leaves a database that the next start completes',
    async (tally, t) => {
      // From before the cluster exists, through its start and the migrations, to the first answers.
      const interruptAt = async ([what, heard]: (typeof moments)[number]): Promise<void> => {
        const folder = temporaryFolder(t);
        const environment = { DATA_DIR: folder, FIRST_SUPERUSER_PASSWORD: ADMIN.password };
        const first = startChild(t, environment);
        await until(what, () => heard(first, folder));
        first.kill('SIGTERM');
        tally.injected();
        const end = await first.ended;
        assert.equal(first.err(), '');
        assert.deepEqual(end, { code: 0, signal: null });
        const second = startChild(t, environment);
        const client = createClient(await second.ready());
        assert.equal((await client.login(ADMIN)).status, 200);
        second.kill('SIGTERM');
        assert.deepEqual(await second.ended, { code: 0, signal: null });
        assert.ok(isStopped(`${folder}/postgres`));
        tally.tried(2);
        tally.held(5);
      };
      // They run in parallel because they mostly wait for the disk.
      for (let round = 0; round < rounds(1, 4); round += 1) await Promise.all(moments.map(interruptAt));
    },
  );

  scenario('a clean-up that waits for locks does not delay shutdown', async (tally, t) => {
    const database = await createScratchDatabase({ migrated: true });
    atEnd(t, () => database.drop());
    const holder = new pg.Client(database.url);
    await holder.connect();
    atEnd(t, () => holder.end());
    await holder.query("insert into job_schedule (name, next_at) values ('clean-up', now())");
    await holder.query('begin');
    // Each statement gives up after 5 s, the lock timeout, and then the next one runs.
    await holder.query('lock table one_time_tokens, login_attempts, idempotency_keys, rate_limits');
    const child = startChild(t, {
      DATABASE_URL: database.url,
      DATA_DIR: temporaryFolder(t),
      SECRET_KEY: TEST_SECRET_KEY,
    });
    await child.ready();
    await until('the clean-up waits', async () => {
      const { rows } = await holder.query(
        `select from pg_locks where not granted and database = (
           select oid from pg_database where datname = current_database())`,
      );
      return rows.length === 1;
    });
    tally.tried();
    tally.injected(4);
    child.kill('SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    // The shutdown logged that it stopped waiting; the lock timeouts alone would take 20 s.
    assert.match(child.out(), /periodic jobs were still running when shutdown stopped waiting/);
    await holder.query('rollback');
    tally.held(3);
  });
});
