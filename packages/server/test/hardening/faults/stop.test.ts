// A stop under load: what was accepted is answered once, and nothing that was answered is lost.
// It must not decide when PostgreSQL stops where it is not the service's own.
import assert from 'node:assert/strict';
import http from 'node:http';
import { suite, type TestContext } from 'node:test';
import { createClient } from '../../client.ts';
import { isStopped, postmasterPid, temporaryFolder } from '../../embedded/fixture.ts';
import {
  ADMIN,
  createVerifiedUser,
  eventually,
  signIn,
  startTestService,
  type TestService,
} from '../../harness.ts';
import { assertSound } from '../../invariants.ts';
import { addUser } from '../../sessions/accounts.ts';
import { type Child, startChild, statusOf } from '../../start/child.ts';
import { rounds, scenariosOf, type Tally } from '../scenario.ts';
import { headersOf, isRunning, send } from './process-fixture.ts';
import { holdUsers } from './stop-fixture.ts';

const scenario = scenariosOf('faults');
/** Logins that wait for their turn to hash: about 10 ms each, a few at once. */
const loginsUnderWay = 100;

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

suite('a stop under load', { concurrency: 4 }, () => {
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
});
