// The process itself in trouble: an error that nobody caught, no file descriptors left, nowhere to log to, a folder that
// cannot be written, a neighbour that dies. It must not live on by halves: it answers as ever, refuses, or ends.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { suite, type TestContext } from 'node:test';
import { createClient } from '../../client.ts';
import { atEnd, isStopped, temporaryFolder, until } from '../../embedded/fixture.ts';
import { ADMIN, newEmail, PASSWORD, TEST_SECRET_KEY } from '../../harness.ts';
import { assertSound } from '../../invariants.ts';
import { createScratchDatabase } from '../../scratch-database.ts';
import { startChild, statusOf } from '../../start/child.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import { isRunning, openFiles, openProcess } from './process-fixture.ts';

const scenario = scenariosOf('faults');
const program = new URL('../../../start.mjs', import.meta.url).pathname;
const register = '/api/v1/auth/register';
const registration = (email: string) => ({ email, password: PASSWORD, first_name: 'Ada', last_name: 'Love' });

/** Runs before the service's own modules, and does this when the signal comes. */
const onUsr2 = (what: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2',()=>{${what}})`)}`;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** So many connections as the other side lets be; what it ends is ended. */
function flood(t: TestContext, url: string, count: number): Socket[] {
  const { hostname, port } = new URL(url);
  return Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname).on('error', () => {});
    atEnd(t, () => socket.destroy());
    return socket;
  });
}

suite('the process', { concurrency: 3 }, () => {
  scenario(
    'an error that nobody caught ends the process at once, and the next one finds all that was acknowledged',
    async (tally, t) => {
      const errors = [
        "throw new Error('planted')",
        "Promise.reject(new Error('planted'))",
        'setImmediate(()=>{null.x})',
      ];
      for (const error of errors.slice(0, rounds(2, errors.length))) {
        const { child, url, client, sql, another } = await openProcess(t, { NODE_OPTIONS: onUsr2(error) });
        const email = newEmail();
        assert.equal((await client().post(register, registration(email))).status, 201);
        child.kill('SIGUSR2');
        tally.tried();
        tally.injected();
        await until('it has ended', () => !isRunning(child.pid));
        assert.deepEqual(await child.ended, { code: 1, signal: null });
        assert.match(child.err(), /planted|null/);
        assert.equal(await statusOf(url), null);
        const next = await another();
        assert.equal(
          (await createClient(next.url).login({ email, password: PASSWORD })).body.code,
          'email_not_verified',
        );
        tally.held(4 + (await assertSound({ sql })));
      }
    },
  );

  scenario('a service whose log goes to a full disk answers and stops as ever', async (tally, t) => {
    const database = await createScratchDatabase({ migrated: true });
    atEnd(t, () => database.drop());
    const url = `http://127.0.0.1:${await freePort()}`;
    const child = spawn('/bin/sh', ['-c', 'exec "$0" "$1" >/dev/full 2>&1', process.execPath, program], {
      env: {
        PATH: process.env.PATH,
        PORT: new URL(url).port,
        DATABASE_URL: database.url,
        DATA_DIR: temporaryFolder(t),
        SECRET_KEY: TEST_SECRET_KEY,
        RATE_LIMIT_REGISTER: 'off',
        REGISTRATION_ABUSE_LIMIT: 'off',
      },
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
    atEnd(t, async () => {
      child.kill('SIGKILL');
      await ended;
    });
    tally.injected();
    await until('it is ready', async () => {
      assert.equal(child.exitCode, null);
      return (await statusOf(`${url}/health/ready`)) === 200;
    });
    const client = createClient(url);
    for (let number = 0; number < rounds(10, 100); number += 1) {
      assert.equal((await client.post(register, registration(newEmail()))).status, 201);
      tally.tried();
      tally.held();
    }
    child.kill('SIGTERM');
    assert.deepEqual(await ended, { code: 0, signal: null });
  });

  scenario(
    'a service without file descriptors refuses newcomers, answers whom it has, and recovers when they leave',
    async (tally, t) => {
      const { child, url, client, sql } = await openProcess(t);
      const admin = client();
      assert.equal((await admin.login(ADMIN)).status, 200);
      const before = openFiles(child.pid);
      execFileSync('prlimit', [`--pid=${child.pid}`, `--nofile=${before + 12}`]);
      for (let round = 0; round < rounds(2, 10); round += 1) {
        const sockets = flood(t, url, 200);
        await until('no descriptor is left', () => openFiles(child.pid) >= before + 11);
        tally.injected();
        const answers = await Promise.all(
          Array.from({ length: 8 }, () => statusOf(`${url}/api/v1/users/me`)),
        );
        // No answer at all is a newcomer's lot.
        for (const status of answers) assert.ok([null, 401, 503].includes(status), `${status}`);
        tally.tried(answers.length);
        for (const socket of sockets) socket.destroy();
        await until('it answers again', async () => (await statusOf(`${url}/health/ready`)) === 200);
        assert.equal((await admin.get('/api/v1/users/me')).status, 200);
        assert.ok(isRunning(child.pid));
        // Beside what keep-alive connections and the pool of the database may have opened meanwhile.
        await until('the descriptors are back', () => openFiles(child.pid) <= before + 6);
        tally.held(answers.length + 4);
      }
      tally.held(await assertSound({ sql }));
    },
  );

  scenario(
    'mails that cannot be kept in the outbox folder wait, and are kept when it can be written again',
    async (tally, t) => {
      const folder = temporaryFolder(t);
      const { child, client, sql } = await openProcess(t, { DATA_DIR: folder });
      const outbox = join(folder, 'outbox');
      const visitor = client();
      for (let round = 0; round < rounds(2, 10); round += 1) {
        rmSync(outbox, { recursive: true, force: true });
        writeFileSync(outbox, '');
        tally.injected();
        const email = newEmail();
        assert.equal((await visitor.post(register, registration(email))).status, 201);
        tally.tried();
        await until(
          'it was tried',
          async () =>
            (await sql('select from outbox where last_error is not null and sent_at is null')).length === 1,
        );
        renameSync(outbox, `${outbox}.was`);
        await sql('update outbox set run_at = now() where sent_at is null');
        await until(
          'it is kept',
          async () => (await sql('select from outbox where sent_at is null')).length === 0,
        );
        assert.ok(child.out().includes(`To: ${email}`));
        tally.held(2);
      }
    },
  );

  scenario(
    'a service on a shared DATA_DIR goes on when its neighbour, who started PostgreSQL, is killed',
    async (tally, t) => {
      const folder = temporaryFolder(t);
      const environment = {
        DATA_DIR: folder,
        FIRST_SUPERUSER_EMAIL: ADMIN.email,
        FIRST_SUPERUSER_PASSWORD: ADMIN.password,
      };
      let elder = startChild(t, environment);
      await elder.ready();
      for (let round = 0; round < rounds(2, 6); round += 1) {
        const younger = startChild(t, environment);
        const client = createClient(await younger.ready());
        assert.equal((await client.login(ADMIN)).status, 200);
        elder.kill('SIGKILL');
        tally.injected();
        await elder.ended;
        for (let number = 0; number < 10; number += 1) {
          assert.equal((await client.get('/api/v1/users/me')).status, 200);
          tally.tried();
          tally.held();
        }
        elder = younger;
      }
      elder.kill('SIGTERM');
      assert.deepEqual(await elder.ended, { code: 0, signal: null });
      assert.ok(isStopped(join(folder, 'postgres')));
      tally.held(2);
    },
  );
});
