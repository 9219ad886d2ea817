// Blocked log outputs: a pipe that nobody reads, a full disk, a terminal that closes. They must not affect requests or
// shutdown: only log lines that cannot be written are lost. It must not judge how fast the service is.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { suite, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd, temporaryFolder, until } from '@castellan/embedded-postgres/testing';
import { createClient } from '@castellan/testing/client';
import { ADMIN, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { freePort } from '@castellan/testing/ports';
import { rounds, scenariosOf, type Tally } from '@castellan/testing/scenario';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { statusOf } from '@castellan/testing/start/child';
import { isRunning, residentMiB, send } from '@castellan/testing/start/service-process';
import { hold } from './database/fixture.ts';

const scenario = scenariosOf('faults');
const program = fileURLToPath(import.meta.resolve('@castellan/server/start'));
/**
 * 16 MiB of log are buffered; the rest is garbage of the answers. An unbounded buffer would grow by 4 MiB per 10,000
 * requests.
 */
const GROWTH_MIB = 120;
/** A pipe takes this much completely or not at all: PIPE_BUF, pipe(7). */
const PIPE_BUFFER_BYTES = 4_096;
/** The longest request id that the service accepts, so that log lines are long. */
const LONG_ID = 'x'.repeat(128);

type RunningService = {
  pid: number;
  url: string;
  databaseUrl: string;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
};

async function environmentFor(
  t: TestContext,
): Promise<{ url: string; databaseUrl: string; env: Record<string, string | undefined> }> {
  const database = await createScratchDatabase({ migrated: true });
  atEnd(t, () => database.drop());
  const port = String(await freePort());
  const env = {
    PATH: process.env.PATH,
    PORT: port,
    WORKERS: '1',
    DATABASE_URL: database.url,
    DATA_DIR: temporaryFolder(t),
    SECRET_KEY: TEST_SECRET_KEY,
    FIRST_SUPERUSER_EMAIL: ADMIN.email,
    FIRST_SUPERUSER_PASSWORD: ADMIN.password,
    SHUTDOWN_GRACE_SECONDS: '0',
  };
  return { url: `http://127.0.0.1:${port}`, databaseUrl: database.url, env };
}

const endOf = (child: ChildProcess): RunningService['ended'] =>
  new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));

const isReady = (url: string): Promise<void> =>
  until('it is ready', async () => (await statusOf(`${url}/health/ready`)) === 200);

/** Starts a service with both outputs redirected to this file, and waits until it is ready. */
async function startWithOutput(t: TestContext, output: string): Promise<RunningService> {
  const { url, databaseUrl, env } = await environmentFor(t);
  const child = spawn('/bin/sh', ['-c', 'exec "$0" "$1" >"$2" 2>&1', process.execPath, program, output], {
    env,
    stdio: 'ignore',
  });
  const ended = endOf(child);
  atEnd(t, async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await isReady(url);
  return { pid: child.pid ?? assert.fail('not started'), url, databaseUrl, ended };
}

/** Opens a named pipe whose reader never reads. */
function unreadPipe(t: TestContext): { path: string; isFull(): boolean } {
  const path = join(temporaryFolder(t), 'log');
  execFileSync('mkfifo', [path]);
  const [reader, writer] = [constants.O_RDONLY, constants.O_WRONLY].map((mode) => {
    const fd = openSync(path, mode | constants.O_NONBLOCK);
    atEnd(t, () => closeSync(fd));
    return fd;
  });
  assert.ok(reader !== undefined && writer !== undefined);
  const isFull = (): boolean => {
    try {
      writeSync(writer, Buffer.alloc(PIPE_BUFFER_BYTES));
      return false;
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
      return true;
    }
  };
  return { path, isFull };
}

/** Sends `count` requests, twenty at a time, and checks that all are answered and that memory hardly grows. */
async function assertServed({ pid, url }: RunningService, count: number, tally: Tally): Promise<void> {
  const client = createClient(url);
  const before = residentMiB(pid);
  for (let sent = 0; sent < count; sent += 20) {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        client.get('/api/v1/users/me', { headers: { 'x-request-id': LONG_ID } }),
      ),
    );
    for (const { status } of answers) assert.equal(status, 401);
    tally.tried(answers.length);
    tally.held(answers.length);
  }
  const grown = residentMiB(pid) - before;
  assert.ok(grown < GROWTH_MIB, `${grown} MiB`);
  tally.held();
}

async function assertStops({ pid, ended }: RunningService, tally: Tally): Promise<void> {
  process.kill(pid, 'SIGTERM');
  await until('it ends', () => !isRunning(pid));
  assert.deepEqual(await ended, { code: 0, signal: null });
  tally.held(2);
}

suite('outputs', { concurrency: 3 }, () => {
  scenario(
    'a service whose log goes to a pipe that nobody reads answers as usual, buffers little, and stops in time',
    async (tally, t) => {
      const reader = unreadPipe(t);
      const running = await startWithOutput(t, reader.path);
      await assertServed(running, rounds(3_000, 60_000), tally);
      assert.ok(reader.isFull());
      tally.injected();
      await assertStops(running, tally);
    },
  );

  scenario(
    'a second signal ends a service at once when its log goes to a pipe that nobody reads',
    async (tally, t) => {
      const reader = unreadPipe(t);
      const running = await startWithOutput(t, reader.path);
      const admin = createClient(running.url);
      assert.equal((await admin.login(ADMIN)).status, 200);
      await assertServed(running, 1_000, tally);
      assert.ok(reader.isFull());
      // A request that waits for a lock delays the shutdown by at least 5 s.
      const held = await hold(t, running.databaseUrl, 'lock table users in access exclusive mode');
      send('GET', `${running.url}/api/v1/users/me`, {
        authorization: `Bearer ${admin.accessToken}`,
      }).status.catch(() => {});
      await held.waiting(1);
      process.kill(running.pid, 'SIGTERM');
      await until('it listens no more', async () => (await statusOf(`${running.url}/health/live`)) === null);
      // The service ignores a second signal within 500 ms, which npm sends as a copy, so the test repeats it until it
      // counts.
      const again = setInterval(() => {
        if (isRunning(running.pid)) process.kill(running.pid, 'SIGTERM');
      }, 100);
      atEnd(t, () => clearInterval(again));
      await until('it ends', () => !isRunning(running.pid));
      // Status 0 would mean that the request had ended first, by its lock timeout.
      assert.deepEqual(await running.ended, { code: 143, signal: null });
      tally.tried();
      tally.injected(2);
      tally.held(2);
    },
  );

  scenario(
    'a service whose log goes to a full disk answers many requests as usual and buffers little',
    async (tally, t) => {
      const running = await startWithOutput(t, '/dev/full');
      tally.injected();
      await assertServed(running, rounds(3_000, 60_000), tally);
      await assertStops(running, tally);
    },
  );

  scenario('a terminal that closes ends the service in it, also if its log is piped', async (tally, t) => {
    const { url, env } = await environmentFor(t);
    const folder = env.DATA_DIR as string;
    const pidFile = join(folder, 'pid');
    // `script` of util-linux; on Debian it is in an essential package (bsdutils).
    const line = `sh -c 'echo $$ >${pidFile}; exec ${process.execPath} ${program} 2>&1; ' | cat >${folder}/log`;
    const terminal = spawn('script', ['-qec', line, '/dev/null'], {
      env: { ...env, SHELL: '/bin/sh' },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const gone = endOf(terminal);
    atEnd(t, async () => {
      terminal.kill('SIGKILL');
      await gone;
    });
    await until('it runs', () => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n'));
    const pid = Number(readFileSync(pidFile, 'utf8'));
    atEnd(t, () => {
      if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    });
    await isReady(url);
    terminal.kill('SIGKILL');
    tally.injected();
    await until('it has ended', () => !isRunning(pid));
    tally.tried();
    tally.held();
  });
});
