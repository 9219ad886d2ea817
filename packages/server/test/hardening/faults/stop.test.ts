// A stop, wherever it falls: what was accepted is answered once, nothing hangs, and no other signal or lost terminal
// ends the service. It must not decide when PostgreSQL stops where it is not the service's own.
import assert from 'node:assert/strict';
import http from 'node:http';
import { connect } from 'node:net';
import { suite, type TestContext } from 'node:test';
import pg from 'pg';
import { createClient } from '../../client.ts';
import { atEnd, isStopped, postmasterPid, temporaryFolder, until } from '../../embedded/fixture.ts';
import {
  ADMIN,
  createVerifiedUser,
  eventually,
  PASSWORD,
  signIn,
  startTestService,
  TEST_SECRET_KEY,
  type TestService,
} from '../../harness.ts';
import { relayTo } from '../../http/fixture.ts';
import { assertSound } from '../../invariants.ts';
import { addUser } from '../../sessions/accounts.ts';
import { type Child, startChild, statusOf } from '../../start/child.ts';
import { rounds, scenariosOf, type Tally } from '../scenario.ts';
import { headersOf, isRunning, openProcess, send } from './process-fixture.ts';

const scenario = scenariosOf('faults');
/** Logins that wait for their turn to hash: about 10 ms each, a few at once. */
const loginsUnderWay = 100;
/** GRACE_MS of graceful-close.ts is 7 s, the longest other wait 8 s; and time for a crowded machine. */
const STOP_MS = 12_000;

/** Holds the users table, so that every request that needs it waits; `release` lets them go on. */
async function holdUsers(
  t: TestContext,
  databaseUrl: string,
): Promise<{ waiting(count: number): Promise<void>; release(): Promise<void> }> {
  const holder = new pg.Client(databaseUrl);
  await holder.connect();
  let released: Promise<void> | undefined;
  const release = (): Promise<void> => (released ??= holder.end());
  atEnd(t, release);
  await holder.query('begin');
  await holder.query('lock table users in access exclusive mode');
  return {
    async waiting(count) {
      await eventually(async () => {
        // What it shows is kept for the length of a transaction otherwise.
        await holder.query('select pg_stat_clear_snapshot()');
        const { rows } = await holder.query(
          // The worker of the outbox may wait for the table as well.
          `select count(*)::integer as waiting from pg_locks join pg_stat_activity using (pid)
           where not granted and relation = 'users'::regclass and query like '%session_tokens%'`,
        );
        return rows[0].waiting >= count || undefined;
      }, `${count} requests to wait for the users table`);
    },
    release,
  };
}

async function stopUnderLoad(t: TestContext, tally: Tally, signal: (child: Child) => void): Promise<void> {
  const folder = temporaryFolder(t);
  const cluster = `${folder}/postgres`;
  const child = startChild(t, {
    DATA_DIR: folder,
    FIRST_SUPERUSER_EMAIL: ADMIN.email,
    FIRST_SUPERUSER_PASSWORD: ADMIN.password,
    CONCURRENT_SESSION_LIMIT: '0',
    ACCOUNT_LOCKOUT_ATTEMPTS: '1000',
    LOG_LEVEL: 'warn',
  });
  const url = await child.ready();
  const headers = { ...(await headersOf(createClient(url))), 'content-type': 'application/json' };
  const postmaster = postmasterPid(cluster);
  const logins = Array.from({ length: loginsUnderWay }, () =>
    send('POST', `${url}/api/v1/auth/login`, headers, JSON.stringify(ADMIN)),
  );
  tally.tried(logins.length);
  await Promise.all(logins.map((login) => login.sent));
  // A connection that came after all of these is answered: so they are accepted and read.
  assert.equal(await send('GET', `${url}/health/live`).status, 200);
  signal(child);
  tally.injected();
  const statuses = await Promise.all(logins.map((login) => login.status));
  assert.deepEqual(
    statuses.filter((status) => status !== 200),
    [],
  );
  for (const login of logins) assert.equal(login.answers(), 1);
  assert.deepEqual(await child.ended, { code: 0, signal: null });
  assert.equal(child.err(), '');
  assert.equal(await statusOf(url), null);
  assert.ok(isStopped(cluster));
  assert.ok(!isRunning(postmaster));
  tally.held(2 * logins.length + 5);
}

/** Writes by one user until the service is gone; answers how many succeeded and what else came. */
async function writeUntilStopped(
  url: string,
  client: Awaited<ReturnType<typeof signIn>>,
  stop: (succeeded: () => number) => Promise<void>,
): Promise<{ succeeded: number; sent: number; refused: string[] }> {
  const counts = { succeeded: 0, sent: 0 };
  const refused: string[] = [];
  const at = client.at(url);
  const loop = async (): Promise<void> => {
    for (;;) {
      counts.sent += 1;
      const answer = await at.put('/api/v1/users/me', { last_name: `Load ${counts.sent}` }).catch(() => null);
      if (answer === null) return;
      if (answer.status === 200) counts.succeeded += 1;
      else refused.push(answer.text);
    }
  };
  const loops = Promise.all(Array.from({ length: 16 }, loop));
  await eventually(() => (counts.succeeded >= 32 ? true : undefined), 'the load to run');
  await stop(() => counts.succeeded);
  await loops;
  return { ...counts, refused };
}

const updatesOf = async (sql: TestService['sql']): Promise<number> => {
  const [row] = await sql<{ count: number }>(
    `select count(*)::integer as count from audit_logs where action = 'user_profile_updated'`,
  );
  return row?.count ?? -1;
};

suite('a stop', { concurrency: 4 }, () => {
  scenario(
    'SIGTERM under load answers every accepted request once, ends with 0, and PostgreSQL is gone',
    (tally, t) => stopUnderLoad(t, tally, (child) => child.kill('SIGTERM')),
  );

  scenario(
    'Ctrl-C under load, which signals the whole process group, is no harder than SIGTERM',
    (tally, t) => stopUnderLoad(t, tally, (child) => process.kill(-child.pid, 'SIGINT')),
  );

  scenario(
    'a stop lets what was accepted finish: the answer comes, and its connection closes',
    async (tally, t) => {
      const direct = await startTestService(t);
      const service = await direct.another();
      const client = await signIn(service, await addUser(direct));
      const held = await holdUsers(t, direct.databaseUrl);
      const agent = new http.Agent({ keepAlive: true });
      t.after(async () => agent.destroy());
      const answer = getThrough(agent, `${service.url}/api/v1/users/me`, client.accessToken as string);
      await held.waiting(1);
      tally.tried();
      const stopped = service.stop();
      tally.injected();
      await eventually(
        () => statusOf(`${service.url}/health/live`).then((status) => (status === null ? true : undefined)),
        'new connections to be refused',
      );
      await held.release();
      const released = performance.now();
      assert.deepEqual(await answer, { status: 200, connection: 'close' });
      await stopped;
      // Far below the keep-alive time of 72 s, for which an idle connection would hold the stop up.
      assert.ok(performance.now() - released < 5_000, `stopped after ${performance.now() - released} ms`);
      tally.held(3);
    },
  );

  scenario(
    'a stop of one instance under load loses no success: every 200 is in the database, once',
    async (tally, t) => {
      for (let round = 0; round < rounds(2, 12); round += 1) {
        const direct = await startTestService(t);
        // Before there is another instance that might send his mail.
        const user = await createVerifiedUser(direct);
        const service = await direct.another();
        const client = await signIn(service, user);
        const { sent, succeeded, refused } = await writeUntilStopped(service.url, client, () =>
          service.stop(),
        );
        tally.injected();
        tally.tried(sent);
        assert.deepEqual(refused, []);
        assert.equal(await updatesOf(direct.sql), succeeded);
        tally.held(succeeded + (await assertSound(direct)));
        await direct.stop();
      }
    },
  );

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

  scenario('a second SIGTERM ends at once what the first one let finish', async (tally, t) => {
    const { child, url, databaseUrl, client } = await openProcess(t);
    const admin = client();
    await admin.login(ADMIN);
    const held = await holdUsers(t, databaseUrl);
    const answer = send('GET', `${url}/api/v1/users/me`, await headersOf(admin));
    answer.status.catch(() => {});
    await held.waiting(1);
    child.kill('SIGTERM');
    await until('it stops', () => /^Stopping\./m.test(child.out()));
    // What comes within 500 ms of the first is npm's copy of it, so the test says it again until it counts.
    const again = setInterval(() => child.kill('SIGTERM'), 100);
    const start = performance.now();
    const end = await child.ended;
    clearInterval(again);
    // A held lock alone lets go after 5 s.
    assert.ok(performance.now() - start < 4_000);
    assert.deepEqual(end, { code: 143, signal: null });
    await held.release();
    tally.tried();
    tally.injected(2);
    tally.held(2);
  });

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

  scenario('SIGHUP and SIGPIPE from a supervisor end nothing', async (tally, t) => {
    const { child, url, client } = await openProcess(t);
    const user = client();
    assert.equal((await user.login(ADMIN)).status, 200);
    for (let round = 0; round < rounds(5, 30); round += 1) {
      for (const signal of ['SIGHUP', 'SIGPIPE'] as const) {
        child.kill(signal);
        tally.injected();
        assert.equal((await user.get('/api/v1/users/me')).status, 200);
        assert.equal(await statusOf(`${url}/health/ready`), 200);
        tally.tried(2);
        tally.held(2);
      }
    }
    child.kill('SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
  });

  scenario(
    'a service whose terminal or log reader is gone answers, mails and stops as ever, without spinning',
    async (tally, t) => {
      const { child, client, sql } = await openProcess(t, { LOG_LEVEL: 'debug' });
      const user = client();
      await user.get('/api/v1/auth/csrf-token');
      child.closeOutput();
      tally.injected(2);
      for (let number = 0; number < rounds(20, 200); number += 1) {
        const email = `epipe-${number}@example.com`;
        const body = { email, password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
        assert.equal((await user.post('/api/v1/auth/register', body)).status, 201);
        tally.tried();
        tally.held();
      }
      assert.equal((await user.login(ADMIN)).status, 200);
      await until('every mail is kept in the outbox folder', async () => {
        const waiting = await sql('select from outbox where sent_at is null');
        return waiting.length === 0;
      });
      child.kill('SIGTERM');
      assert.deepEqual(await child.ended, { code: 0, signal: null });
      tally.held(3);
    },
  );
});

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

function getThrough(
  agent: http.Agent,
  url: string,
  token: string,
): Promise<{ status: number | undefined; connection: string | undefined }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number | undefined;
    connection: string | undefined;
  }>();
  http
    .get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      response.resume();
      response.on('end', () =>
        resolve({ status: response.statusCode, connection: response.headers.connection }),
      );
    })
    .on('error', reject);
  return promise;
}
