// Shutdown under load: accepted requests are answered once, and no acknowledged change is lost.
// It must not expect a PostgreSQL to stop that the service has not started.
import assert from 'node:assert/strict';
import { suite, type TestContext } from 'node:test';
import { dataDirWithCluster, isStopped, postmasterPid, until } from '@castellan/embedded-postgres/testing';
import { createClient } from '@castellan/testing/client';
import {
  ADMIN,
  createVerifiedUser,
  eventually,
  signIn,
  startTestService,
  type TestService,
} from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf, type Tally } from '@castellan/testing/scenario';
import { type Child, startChild, statusOf } from '@castellan/testing/start/child';
import { headersOf, isRunning, sendHeld } from '@castellan/testing/start/service-process';

const scenario = scenariosOf('faults');
/** Few enough that none waits for hashing longer than 5 s, the service's limit, under any load. */
const loginsUnderWay = 8;
const changesUnderWay = 24;

async function stopUnderLoad(t: TestContext, tally: Tally, signal: (child: Child) => void): Promise<void> {
  const folder = await dataDirWithCluster(t);
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
  const client = createClient(url);
  await client.login(ADMIN);
  const headers = { ...(await headersOf(client)), 'content-type': 'application/json' };
  const postmaster = postmasterPid(cluster);
  const requests = [
    ...Array.from({ length: loginsUnderWay }, () =>
      sendHeld('POST', `${url}/api/v1/auth/login`, headers, JSON.stringify(ADMIN)),
    ),
    ...Array.from({ length: changesUnderWay }, (_, number) =>
      sendHeld('PUT', `${url}/api/v1/users/me`, headers, JSON.stringify({ last_name: `Load ${number}` })),
    ),
  ];
  tally.tried(requests.length);
  await Promise.all(requests.map((request) => request.sent));
  // Half of them are running when the signal comes; the others still send their bodies.
  for (const request of requests.filter((_, index) => index % 2)) request.finish();
  signal(child);
  tally.injected();
  await until('it stops', () => child.announced('stopping') !== undefined);
  for (const request of requests.filter((_, index) => index % 2 === 0)) request.finish();
  const statuses = await Promise.all(requests.map((request) => request.status));
  assert.deepEqual(
    statuses.filter((status) => status !== 200),
    [],
  );
  for (const request of requests) assert.equal(request.answers(), 1);
  assert.deepEqual(await child.ended, { code: 0, signal: null });
  assert.equal(child.err(), '');
  assert.equal(await statusOf(url), null);
  assert.ok(isStopped(cluster));
  assert.ok(!isRunning(postmaster));
  tally.held(2 * requests.length + 5);
}

/** Writes as one user until the service is gone. Returns the number of successes and all other answers. */
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
  // Fewer than the database connections, so that no write waits for one.
  const loops = Promise.all(Array.from({ length: 4 }, loop));
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

suite('a stop under load', { concurrency: 4 }, () => {
  scenario(
    'SIGTERM under load answers every accepted request once, ends with 0, and PostgreSQL is gone',
    (tally, t) => stopUnderLoad(t, tally, (child) => child.kill('SIGTERM')),
  );

  scenario('Ctrl-C under load, which signals the whole process group, works like SIGTERM', (tally, t) =>
    stopUnderLoad(t, tally, (child) => process.kill(-child.pid, 'SIGINT')),
  );

  scenario(
    'shutdown lets an accepted request finish: the answer arrives, and its connection closes',
    async (tally, t) => {
      const direct = await startTestService(t);
      const service = await direct.another();
      const headers = {
        ...(await headersOf(await signIn(service, ADMIN))),
        'content-type': 'application/json',
        connection: 'keep-alive',
      };
      const body = JSON.stringify({ last_name: 'Late' });
      const request = sendHeld('PUT', `${service.url}/api/v1/users/me`, headers, body);
      await request.sent;
      tally.tried();
      const stopped = service.stop();
      tally.injected();
      await eventually(
        () => statusOf(`${service.url}/health/live`).then((status) => (status === null ? true : undefined)),
        'new connections to be refused',
      );
      request.finish();
      assert.equal(await request.status, 200);
      assert.equal(request.connection(), 'close');
      await stopped;
      tally.held(3);
    },
  );

  scenario(
    'the shutdown of one instance under load loses no change: every 200 is in the database, once',
    async (tally, t) => {
      for (let round = 0; round < rounds(2, 12); round += 1) {
        const direct = await startTestService(t);
        // Created before the second instance, which might otherwise send the mail.
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
});
