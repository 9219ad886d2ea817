// When the database goes, comes back, or was never there; and a stop in the middle of work.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { createLog } from '../../src/platform/log.ts';
import { startService } from '../../src/service.ts';
import { loadSettings } from '../../src/settings.ts';
import { createClient } from '../client.ts';
import {
  ADMIN,
  createVerifiedUser,
  eventually,
  signIn,
  startTestService,
  TEST_SECRET_KEY,
  type TestService,
} from '../harness.ts';
import { assertRefused, relayTo, routesOf } from './fixture.ts';

const limits = {
  RATE_LIMIT_LOGIN: '1000/minute',
  RATE_LIMIT_REGISTER: '1000/minute',
  RATE_LIMIT_PASSWORD_RESET: '1000/minute',
  RATE_LIMIT_NEW_ACCESS_TOKEN: '1000/minute',
  RATE_LIMIT_RESEND_VERIFICATION: '1000/minute',
};

/** A service whose line to the database can be cut. The direct one beside it prepares what a test needs. */
async function startOnLine(t: TestContext) {
  const direct = await startTestService(t);
  const line = await relayTo(t, direct.databaseUrl);
  const service = await direct.another({ ...limits, DATABASE_URL: line.url });
  return { direct, line, service };
}

/** Holds the users table, so that every request that needs it waits; `release` lets them go on. */
async function holdUsers(
  service: TestService,
): Promise<{ waiting(count: number): Promise<void>; release(): Promise<void> }> {
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  await holder.query('begin');
  await holder.query('lock table users in access exclusive mode');
  return {
    async waiting(count) {
      await eventually(async () => {
        const { rows } = await holder.query(
          `select count(*)::integer as waiting from pg_locks where not granted and relation = 'users'::regclass`,
        );
        return rows[0].waiting >= count || undefined;
      }, `${count} requests to wait for the users table`);
    },
    async release() {
      await holder.query('rollback');
      await holder.end();
    },
  };
}

test('without its database the service says so, answers no request with success, and recovers by itself', async (t) => {
  const { line, service } = await startOnLine(t);
  const client = await signIn(service, ADMIN);
  const routes = (await routesOf(service)).filter(({ url }) => url.startsWith('/api'));
  await line.cut();

  const ready = await client.get('/health/ready');
  assert.equal(ready.status, 503);
  assert.equal(ready.body.status, 'not_ready');
  assert.match(ready.body.reason, /database/);
  assert.ok(Number(ready.headers.get('retry-after')) >= 1);
  assert.equal((await client.get('/health/live')).status, 200);

  for (const { method, path, url, config } of routes) {
    // It reads nothing: tokens are signed, not stored.
    if (url === '/api/v1/auth/csrf-token') continue;
    const answer = await client.request(method, path, method === 'GET' ? {} : { json: {} });
    assert.ok(answer.status >= 400, `${method} ${url}: ${answer.status}`);
    if (config.access === 'public' && !config.limit) continue;
    assertRefused(answer, 503, 'database_unavailable');
    assert.ok(Number(answer.headers.get('retry-after')) >= 1);
    assert.doesNotMatch(answer.text, /ECONN|5432|postgres/i);
  }
  const login = await client.login(ADMIN);
  assertRefused(login, 503, 'database_unavailable');

  await line.restore();
  await eventually(
    async () => (await client.get('/health/ready')).status === 200 || undefined,
    'the service to be ready again',
  );
  assert.equal((await client.get('/api/v1/users/me')).status, 200, 'the token outlived the outage');
  assert.equal((await client.login(ADMIN)).status, 200);
});

test('a database that went silent is noticed by the probe before its own time runs out', async (t) => {
  const { line, service } = await startOnLine(t);
  const client = service.client();
  assert.equal((await client.get('/health/ready')).status, 200);
  line.silence();
  const start = performance.now();
  assert.equal((await client.get('/health/ready')).status, 503);
  // The statement time-out of other requests is 10 s.
  assert.ok(performance.now() - start < 6_000, `${performance.now() - start} ms`);
  await line.cut();
  await line.restore();
  await eventually(
    async () => (await client.get('/health/ready')).status === 200 || undefined,
    'the service to be ready again',
  );
});

test('a request that is under way when the line breaks is answered 503, and its change is not half done', async (t) => {
  const { direct, line, service } = await startOnLine(t);
  const user = await createVerifiedUser(direct);
  const client = await signIn(service, user);
  const held = await holdUsers(direct);
  const answers = Promise.all([
    client.put('/api/v1/users/me', { first_name: 'Lost' }),
    client.get('/api/v1/users/me'),
    client.login(user),
  ]);
  await held.waiting(1);
  await line.cut();
  for (const answer of await answers) assertRefused(answer, 503, 'database_unavailable');
  await held.release();
  await line.restore();
  const me = await eventually(async () => {
    const answer = await client.get('/api/v1/users/me');
    return answer.status === 200 ? answer : undefined;
  }, 'the service to be back');
  assert.equal(me.body.data.first_name, 'Ada');
});

test('a refused CSRF token stays a 403 without the database: the lost audit entry changes no status', async (t) => {
  const { line, service } = await startOnLine(t);
  await line.cut();
  const answer = await service.client().request('POST', '/api/v1/auth/login', {
    headers: { 'x-csrf-token': null },
  });
  assertRefused(answer, 403, 'csrf_invalid');
  assert.ok(service.logLines.some((one) => one.includes('audit entry lost') && one.includes('csrf_refused')));
});

test('a service that starts before its database listens, is not ready, and gets ready by itself', async (t) => {
  const direct = await startTestService(t);
  const line = await relayTo(t, direct.databaseUrl);
  await line.cut();
  const dataDir = await mkdtemp(join(tmpdir(), 'castellan-test-'));
  const logLines: string[] = [];
  const service = await startService({
    settings: loadSettings({
      HOST: '127.0.0.1',
      PORT: '0',
      DATABASE_URL: line.url,
      DATA_DIR: dataDir,
      SECRET_KEY: TEST_SECRET_KEY,
    }),
    log: createLog('info', { write: (text) => void logLines.push(text) }),
    print: () => {},
  });
  try {
    const client = createClient(service.url);
    assert.equal((await client.get('/health/live')).status, 200);
    const ready = await client.get('/health/ready');
    assert.equal(ready.status, 503);
    assert.equal(ready.body.status, 'not_ready');
    for (const path of ['/api/v1/auth/csrf-token', '/api/v1/users/me', '/.well-known/jwks.json']) {
      const answer = await client.get(path);
      assertRefused(answer, 503, 'database_unavailable');
      assert.ok(Number(answer.headers.get('retry-after')) >= 1);
      assert.doesNotMatch(answer.headers.get('cache-control') ?? '', /public/);
    }
    await eventually(() => logLines.find((one) => one.includes('trying until it can')), 'a line in the log');
    await line.restore();
    await service.prepared;
    await eventually(
      async () => (await client.get('/health/ready')).status === 200 || undefined,
      'the service to be ready',
    );
    assert.equal((await client.login(ADMIN)).status, 200);
  } finally {
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('a service that is stopped before its database ever came ends at once', async (t) => {
  const direct = await startTestService(t);
  const line = await relayTo(t, direct.databaseUrl);
  await line.cut();
  const service = await startService({
    settings: loadSettings({
      HOST: '127.0.0.1',
      PORT: '0',
      DATABASE_URL: line.url,
      SECRET_KEY: TEST_SECRET_KEY,
    }),
    log: createLog('silent'),
    print: () => {},
  });
  await service.stop();
  await assert.rejects(service.prepared);
});

test('a stop lets what was accepted finish: the answer comes, and its connection closes', async (t) => {
  const direct = await startTestService(t);
  const service = await direct.another();
  const client = await signIn(service, await createVerifiedUser(direct));
  const held = await holdUsers(direct);
  const agent = new http.Agent({ keepAlive: true });
  t.after(async () => agent.destroy());
  const answer = getThrough(agent, `${service.url}/api/v1/users/me`, client.accessToken as string);
  await held.waiting(1);
  const stopped = service.stop();
  await eventually(
    () =>
      fetch(`${service.url}/health/live`).then(
        () => undefined,
        () => true,
      ),
    'new connections to be refused',
  );
  await held.release();
  const released = performance.now();
  const { status, connection } = await answer;
  assert.equal(status, 200);
  assert.equal(connection, 'close');
  await stopped;
  // Far below the keep-alive time of 72 s, for which an idle connection would hold the stop up.
  assert.ok(performance.now() - released < 5_000, `stopped after ${performance.now() - released} ms`);
});

test('a stop under load loses no success: every 200 is in the database, no connection hangs', async (t) => {
  const direct = await startTestService(t);
  const service = await direct.another();
  const client = await signIn(service, await createVerifiedUser(direct));
  let sent = 0;
  let succeeded = 0;
  const refused: number[] = [];
  const loop = async (): Promise<void> => {
    for (;;) {
      sent += 1;
      const answer = await client.put('/api/v1/users/me', { last_name: `Load ${sent}` }).catch(() => null);
      if (answer === null) return;
      if (answer.status === 200) succeeded += 1;
      else refused.push(answer.status);
    }
  };
  const loops = Promise.all(Array.from({ length: 16 }, loop));
  await eventually(() => (succeeded >= 32 ? true : undefined), 'the load to run');
  await service.stop();
  await loops;
  assert.deepEqual(refused, []);
  const [{ count } = { count: -1 }] = await direct.sql<{ count: number }>(
    `select count(*)::integer as count from audit_logs where action = 'user_profile_updated'`,
  );
  assert.equal(count, succeeded);
});

test('a client that never finishes its request does not hold a stop up for long', async (t) => {
  const direct = await startTestService(t);
  const service = await direct.another();
  const { hostname, port } = new URL(service.url);
  const request = http.request({ hostname, port, method: 'POST', path: '/api/v1/auth/login' });
  request.on('error', () => {});
  request.setHeader('content-length', '1000');
  request.flushHeaders();
  await eventually(
    () =>
      new Promise<true | undefined>((resolve) => resolve(request.socket?.connecting === false || undefined)),
    'the connection',
  );
  const start = performance.now();
  await service.stop();
  assert.ok(performance.now() - start < 9_500, `stopped after ${performance.now() - start} ms`);
  request.destroy();
});

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
