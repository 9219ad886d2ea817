// A stop that something holds up: clients that never end, a database that never came, locks, a first start under way.
// It must not decide how much time a stop takes, only that it ends in time.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { suite } from 'node:test';
import pg from 'pg';
import { createClient } from '../../client.ts';
import { atEnd, isStopped, postmasterPid, temporaryFolder, until } from '../../embedded/fixture.ts';
import { ADMIN, startTestService, TEST_SECRET_KEY } from '../../harness.ts';
import { relayTo } from '../../http/fixture.ts';
import { type Child, startChild, statusOf } from '../../start/child.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import { openProcess } from './process-fixture.ts';
import { STOP_MS } from './stop-fixture.ts';

const scenario = scenariosOf('faults');

/** When a first start is interrupted. */
const moments: readonly [what: string, heard: (child: Child, folder: string) => boolean][] = [
  ['PostgreSQL is being started', (_child, folder) => isPostmaster(folder)],
  ['it listens', (child) => /^Castellan listens/m.test(child.out())],
  ['it is ready', (child) => /^Ready\.$/m.test(child.out())],
];

function isPostmaster(folder: string): boolean {
  try {
    return postmasterPid(`${folder}/postgres`) > 0;
  } catch {
    return false;
  }
}

suite('a stop that is held up', { concurrency: 4 }, () => {
  scenario(
    'a client that never finishes its request, or never reads its answer, does not hold a stop up for long',
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
      await Promise.all(sockets.map((socket) => until('it is connected', () => !socket.connecting)));
      assert.equal(await statusOf(`${service.url}/health/live`), 200);
      tally.tried(sockets.length);
      tally.injected(sockets.length);
      const start = performance.now();
      await service.stop();
      assert.ok(performance.now() - start < STOP_MS, `stopped after ${performance.now() - start} ms`);
      tally.held(sockets.length);
    },
  );

  scenario('a service that is stopped before its database ever came ends at once', async (tally, t) => {
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
    const start = performance.now();
    child.kill('SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    assert.ok(performance.now() - start < STOP_MS);
    tally.tried();
    tally.injected();
    tally.held(2);
  });

  scenario(
    'SIGTERM at any moment of a first start ends with 0 and leaves a database that the next start completes',
    async (tally, t) => {
      for (let round = 0; round < rounds(3, 12); round += 1) {
        const folder = temporaryFolder(t);
        const environment = { DATA_DIR: folder, FIRST_SUPERUSER_PASSWORD: ADMIN.password };
        const first = startChild(t, environment);
        // From before the cluster is made, over its start and the migrations, to the first answers.
        const [, heard] = moments[round % moments.length] as (typeof moments)[number];
        await until('the moment has come', () => heard(first, folder));
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
      }
    },
  );

  scenario('a clean-up that waits for locks does not hold a stop up', async (tally, t) => {
    const { child: first, databaseUrl, sql, another } = await openProcess(t);
    await until('its own first clean-up is over', () => /clean-up done/.test(first.out()));
    const holder = new pg.Client(databaseUrl);
    await holder.connect();
    atEnd(t, () => holder.end());
    await holder.query('begin');
    // Each is given up after 5 s, the time-out of locks, and then comes the next.
    await holder.query('lock table one_time_tokens, login_attempts, idempotency_keys, rate_limits');
    await sql('update job_schedule set next_at = now()');
    const { child } = await another();
    await until('the clean-up waits', async () => {
      const [row] = await sql<{ waiting: number }>(
        `select count(*)::int as waiting from pg_locks where not granted and database = (
           select oid from pg_database where datname = current_database())`,
      );
      return row?.waiting === 1;
    });
    tally.tried();
    tally.injected(4);
    const start = performance.now();
    child.kill('SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    assert.ok(performance.now() - start < STOP_MS, `stopped after ${performance.now() - start} ms`);
    await holder.query('rollback');
    tally.held(2);
  });
});
