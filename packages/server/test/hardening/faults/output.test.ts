// Outputs that take nothing: a pipe whose reader sleeps, a full disk, a terminal that closes. The service must not live,
// answer or end by them: what cannot be written is lost, and no more than that.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { suite, type TestContext } from 'node:test';
import { createClient } from '../../client.ts';
import { atEnd, temporaryFolder, until } from '../../embedded/fixture.ts';
import { ADMIN, TEST_SECRET_KEY } from '../../harness.ts';
import { createScratchDatabase } from '../../scratch-database.ts';
import { statusOf } from '../../start/child.ts';
import { rounds, scenariosOf, type Tally } from '../scenario.ts';
import { hold } from './database-fixture.ts';
import { isRunning, residentMiB, send } from './process-fixture.ts';

const scenario = scenariosOf('faults');
const program = new URL('../../../start.mjs', import.meta.url).pathname;
/** What a stop may take that nothing holds up: a second for the log, and time for a crowded machine. */
const STOP_MS = 10_000;
/** An answer takes milliseconds; what waits for an output waits for ever. */
const ANSWER_MS = 5_000;
/** 16 MiB wait for the output; the rest is garbage of the answers. Without a bound, each 10,000 requests cost 4 MiB. */
const GROWTH_MIB = 120;
/** What a pipe takes at once or not at all: PIPE_BUF, pipe(7). */
const PIPE_BUFFER_BYTES = 4_096;
/** The longest that the service takes, so that the log is long. */
const LONG_ID = 'x'.repeat(128);

type Muted = {
  pid: number;
  url: string;
  databaseUrl: string;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
};

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function environmentFor(
  t: TestContext,
): Promise<{ url: string; databaseUrl: string; env: Record<string, string | undefined> }> {
  const database = await createScratchDatabase({ migrated: true });
  atEnd(t, () => database.drop());
  const port = String(await freePort());
  const env = {
    PATH: process.env.PATH,
    PORT: port,
    DATABASE_URL: database.url,
    DATA_DIR: temporaryFolder(t),
    SECRET_KEY: TEST_SECRET_KEY,
    FIRST_SUPERUSER_EMAIL: ADMIN.email,
    FIRST_SUPERUSER_PASSWORD: ADMIN.password,
  };
  return { url: `http://127.0.0.1:${port}`, databaseUrl: database.url, env };
}

const endOf = (child: ChildProcess): Muted['ended'] =>
  new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));

const isReady = (url: string): Promise<void> =>
  until('it is ready', async () => (await statusOf(`${url}/health/ready`)) === 200);

/** Ready, and both its outputs lead into this file. */
async function openMuted(t: TestContext, output: string): Promise<Muted> {
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

/** A pipe that is open at its reading end, where nobody reads. */
function sleepingReader(t: TestContext): { path: string; isFull(): boolean } {
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

/** All are answered, by twenties, each in time; and little memory stays for what they left. */
async function assertServed({ pid, url }: Muted, count: number, tally: Tally): Promise<void> {
  const client = createClient(url);
  const before = residentMiB(pid);
  for (let sent = 0; sent < count; sent += 20) {
    const start = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        client.get('/api/v1/users/me', { headers: { 'x-request-id': LONG_ID } }),
      ),
    );
    assert.ok(performance.now() - start < ANSWER_MS, `${performance.now() - start} ms`);
    for (const { status } of answers) assert.equal(status, 401);
    tally.tried(answers.length);
    tally.held(answers.length);
  }
  const grown = residentMiB(pid) - before;
  assert.ok(grown < GROWTH_MIB, `${grown} MiB`);
  tally.held();
}

async function assertStops({ pid, ended }: Muted, tally: Tally): Promise<void> {
  const start = performance.now();
  process.kill(pid, 'SIGTERM');
  await until('it ends', () => !isRunning(pid), STOP_MS);
  assert.deepEqual(await ended, { code: 0, signal: null });
  assert.ok(performance.now() - start < STOP_MS, `${performance.now() - start} ms`);
  tally.held(2);
}

suite('outputs', { concurrency: 3 }, () => {
  scenario(
    'a service whose log goes into a pipe that nobody reads answers as ever, keeps little, and stops in time',
    async (tally, t) => {
      const reader = sleepingReader(t);
      const muted = await openMuted(t, reader.path);
      await assertServed(muted, rounds(3_000, 60_000), tally);
      assert.ok(reader.isFull());
      tally.injected();
      await assertStops(muted, tally);
    },
  );

  scenario(
    'a second signal ends a service at once whose log goes into a pipe that nobody reads',
    async (tally, t) => {
      const reader = sleepingReader(t);
      const muted = await openMuted(t, reader.path);
      const admin = createClient(muted.url);
      assert.equal((await admin.login(ADMIN)).status, 200);
      await assertServed(muted, 1_000, tally);
      assert.ok(reader.isFull());
      // A request that waits for a lock holds the stop up, for 5 s at least.
      const held = await hold(t, muted.databaseUrl, 'lock table users in access exclusive mode');
      send('GET', `${muted.url}/api/v1/users/me`, {
        authorization: `Bearer ${admin.accessToken}`,
      }).status.catch(() => {});
      await held.waiting(1);
      process.kill(muted.pid, 'SIGTERM');
      await until('it listens no more', async () => (await statusOf(`${muted.url}/health/live`)) === null);
      // What comes within 500 ms of the first is npm's copy of it, so the test says it again until it counts.
      const again = setInterval(() => {
        if (isRunning(muted.pid)) process.kill(muted.pid, 'SIGTERM');
      }, 100);
      const start = performance.now();
      atEnd(t, () => clearInterval(again));
      await until('it ends', () => !isRunning(muted.pid), STOP_MS);
      const end = await muted.ended;
      assert.ok(performance.now() - start < 4_000, `${performance.now() - start} ms`);
      assert.deepEqual(end, { code: 143, signal: null });
      tally.tried();
      tally.injected(2);
      tally.held(2);
    },
  );

  scenario('a service whose log fills no full disk answers as ever and keeps little', async (tally, t) => {
    const muted = await openMuted(t, '/dev/full');
    tally.injected();
    await assertServed(muted, rounds(3_000, 60_000), tally);
    await assertStops(muted, tally);
  });

  scenario(
    'a terminal that closes ends the service in it, also where its log is piped on',
    async (tally, t) => {
      const { url, env } = await environmentFor(t);
      const folder = env.DATA_DIR as string;
      const pidFile = join(folder, 'pid');
      // util-linux's; Debian has it in an essential package (bsdutils).
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
      await until('it has ended', () => !isRunning(pid), STOP_MS);
      tally.tried();
      tally.held();
    },
  );
});
