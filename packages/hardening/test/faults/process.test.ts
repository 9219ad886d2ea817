// Faults of the process: an uncaught error, no file descriptors, a full disk for the log, a folder that cannot be
// written, a neighbouring instance that dies. The service must answer as usual, refuse clearly, or end.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { suite, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  atEnd,
  dataDirWithCluster,
  isStopped,
  temporaryFolder,
  until,
} from '@castellan/embedded-postgres/testing';
import { createClient } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { freePort } from '@castellan/testing/ports';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { startChild, statusOf } from '@castellan/testing/start/child';
import { isRunning, openFiles, openProcess } from '@castellan/testing/start/service-process';

const scenario = scenariosOf('faults');
const program = fileURLToPath(import.meta.resolve('@castellan/server/start'));
const register = '/api/v1/auth/register';
const registration = (email: string) => ({ email, password: PASSWORD, first_name: 'Ada', last_name: 'Love' });

/** Returns Node options that run this code on SIGUSR2; it is loaded before the service's own modules. */
const onUsr2 = (what: string): string =>
  `--import=data:text/javascript,${encodeURIComponent(`process.on('SIGUSR2',()=>{${what}})`)}`;

/** Opens `count` connections. Those that the service closes stay closed. */
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
    'an uncaught error ends the process at once, and the next process finds all acknowledged changes',
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

  scenario('a service whose log goes to a full disk answers and stops as usual', async (tally, t) => {
    const database = await createScratchDatabase({ migrated: true });
    atEnd(t, () => database.drop());
    const url = `http://127.0.0.1:${await freePort()}`;
    const child = spawn('/bin/sh', ['-c', 'exec "$0" "$1" >/dev/full 2>&1', process.execPath, program], {
      env: {
        PATH: process.env.PATH,
        PORT: new URL(url).port,
        WORKERS: '1',
        DATABASE_URL: database.url,
        DATA_DIR: temporaryFolder(t),
        SECRET_KEY: TEST_SECRET_KEY,
        RATE_LIMIT_REGISTER: 'off',
        REGISTRATION_ABUSE_LIMIT: 'off',
        SHUTDOWN_GRACE_SECONDS: '0',
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
    'a service without free file descriptors refuses new connections, answers open ones, and recovers when they close',
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
        // A new connection gets no answer at all.
        for (const status of answers) assert.ok([null, 401, 503].includes(status), `${status}`);
        tally.tried(answers.length);
        for (const socket of sockets) socket.destroy();
        await until('it answers again', async () => (await statusOf(`${url}/health/ready`)) === 200);
        assert.equal((await admin.get('/api/v1/users/me')).status, 200);
        assert.ok(isRunning(child.pid));
        // Keep-alive connections and the database pool may have opened some meanwhile.
        await until('the descriptors are back', () => openFiles(child.pid) <= before + 6);
        tally.held(answers.length + 4);
      }
      tally.held(await assertSound({ sql }));
    },
  );

  scenario(
    'mails that cannot be written to the outbox folder wait, and are written when this is possible again',
    async (tally, t) => {
      const folder = temporaryFolder(t);
      const { client, sql } = await openProcess(t, { DATA_DIR: folder });
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
        assert.ok(readdirSync(outbox).some((name) => name.includes(`_${email}_`)));
        tally.held(2);
      }
    },
  );

  scenario(
    'a service on a shared DATA_DIR continues when the service that started PostgreSQL is killed',
    async (tally, t) => {
      const folder = await dataDirWithCluster(t);
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
