// An instance of several workers: one start, one port, one log, one end. Workers are killed or hang; their supervisor is killed.
// Linux, because the workers are found in /proc.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import http from 'node:http';
import { createServer } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd, until } from '@castellan/embedded-postgres/testing';
import { ADMIN, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { type Child, exitMessage, startChild, statusOf } from '@castellan/testing/start/child';
import { isRunning } from '@castellan/testing/start/service-process';
import { isBeat, isWorkerReport } from '../../src/start/processes/worker.ts';

const WORKERS = 2;

const workersOf = ({ pid }: Child): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

const linesOf = (child: Child): Record<string, unknown>[] =>
  child
    .out()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

const messagesOf = (child: Child, message: string) => linesOf(child).filter(({ msg }) => msg === message);

/** Starts an instance of two workers and waits until both serve requests. */
async function openInstance(t: TestContext, environment: Record<string, string> = {}, program?: string) {
  const database = await createScratchDatabase({ migrated: true });
  atEnd(t, () => database.drop());
  const settings = {
    DATABASE_URL: database.url,
    SECRET_KEY: TEST_SECRET_KEY,
    FIRST_SUPERUSER_EMAIL: ADMIN.email,
    FIRST_SUPERUSER_PASSWORD: ADMIN.password,
    WORKERS: String(WORKERS),
    ...environment,
  };
  const child = startChild(t, settings, program === undefined ? {} : { program });
  const url = await child.ready();
  await until('both workers serve', () => serving(child) === WORKERS);
  return { child, url };
}

/** Each worker writes this line when it listens. */
const serving = (child: Child): number =>
  linesOf(child).filter(({ msg }) => String(msg).startsWith('Server listening at')).length;

type Connection = {
  get(path: string, id?: string): Promise<number>;
  /** The client's port in the latest request. */
  port(): number;
};

/** A connection that is kept alive, and made again when its worker is gone. */
function connectTo(t: TestContext, url: string): Connection {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  atEnd(t, () => agent.destroy());
  let port = 0;
  return {
    port: () => port,
    get: (path, id = 'x') =>
      new Promise((resolve, reject) => {
        const request = http.get(`${url}${path}`, { agent, headers: { 'x-request-id': id } }, (response) => {
          port = response.socket.localPort ?? 0;
          response.resume().on('end', () => resolve(response.statusCode ?? 0));
          response.on('error', reject);
        });
        request.on('error', reject);
      }),
  };
}

/** Returns the ports of the clients that are connected to this process. */
function peersOf(pid: number): Set<number> {
  const folder = `/proc/${pid}/fd`;
  const inodes = new Set(
    readdirSync(folder).map((fd) => /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${fd}`))?.[1]),
  );
  // proc_net(5): the remote address, with its port in hexadecimal, is the third column; the inode is the tenth.
  // The table is no snapshot: a row may be missing in one reading.
  const rows = Array.from({ length: 5 }, () => readFileSync('/proc/net/tcp', 'utf8'))
    .flatMap((table) => table.split('\n'))
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => inodes.has(columns[9]));
  return new Set(rows.map((columns) => Number.parseInt(columns[2]?.split(':')[1] ?? '', 16)));
}

const isLinux = process.platform === 'linux';

suite('an instance of two workers', { concurrency: 2, skip: !isLinux }, () => {
  test('starts, logs and stops as one; a worker that is killed takes only its own connections with it', async (t) => {
    const { child, url } = await openInstance(t);
    const { port } = new URL(url);
    assert.deepEqual(
      messagesOf(child, 'ready').map((line) => [line.workers, line.url]),
      [[WORKERS, `http://localhost:${port}`]],
    );
    assert.equal(messagesOf(child, 'listening').length, 1);

    const connections = Array.from({ length: 8 }, () => connectTo(t, url));
    for (const connection of connections) assert.equal(await connection.get('/health/ready'), 200);
    // Longer together than a pipe and than one write of a worker.
    const ids = connections.flatMap((_, at) =>
      Array.from({ length: 100 }, (_, number) => `${at}-${number}-${'x'.repeat(100)}`),
    );
    await Promise.all(
      connections.map(async (connection, at) => {
        for (const id of ids.slice(at * 100, (at + 1) * 100))
          assert.equal(await connection.get('/api/v1/users/me', id), 401);
      }),
    );
    await until(
      'every request is logged',
      () => linesOf(child).filter(({ request_id: id }) => String(id).length > 100).length >= ids.length,
    );
    assert.deepEqual(
      linesOf(child)
        .map(({ request_id: id }) => String(id))
        .filter((id) => id.length > 100)
        .sort(),
      [...ids].sort(),
    );

    const [victim = assert.fail('no worker')] = workersOf(child);
    const own = peersOf(victim);
    process.kill(victim, 'SIGKILL');
    // Only then have all its threads ended, and with them its sockets.
    await until('its end is reported', () => messagesOf(child, 'a worker ended and is replaced').length > 0);
    for (const connection of connections) {
      const { port } = connection;
      if (own.has(port())) {
        // A client may notice only now that its connection is gone.
        const status = await connection.get('/health/live').catch(() => connection.get('/health/live'));
        assert.equal(status, 200);
      } else {
        const before = port();
        assert.deepEqual([await connection.get('/health/live'), port()], [200, before]);
      }
    }
    await until('it is replaced', () => serving(child) === WORKERS + 1);
    const [ended] = messagesOf(child, 'a worker ended and is replaced');
    assert.deepEqual([ended?.worker, ended?.signal], [victim, 'SIGKILL']);
    assert.equal(messagesOf(child, 'ready').length, 1);

    const workers = workersOf(child);
    assert.equal(workers.length, WORKERS);
    // As Ctrl-C and supervisors do, to the whole group.
    process.kill(-child.pid, 'SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    assert.equal(messagesOf(child, 'stopping').length, 1);
    assert.deepEqual(workers.filter(isRunning), []);
    assert.equal(child.err(), '');
  });

  test('replaces a worker that is stopped, and one whose event loop is blocked, while the other one answers', async (t) => {
    const block = "process.on('SIGUSR2',()=>{for(;;);})";
    const { child, url } = await openInstance(
      t,
      { NODE_OPTIONS: `--import=data:text/javascript,${block}` },
      fileURLToPath(new URL('./quick-beats.ts', import.meta.url)),
    );
    const hung = () => messagesOf(child, 'a worker hangs and is killed');
    const victims: number[] = [];
    for (const [signal, state] of [
      ['SIGSTOP', 'T (stopped)'],
      ['SIGUSR2', 'R (running)'],
    ] as const) {
      const [victim = assert.fail('no worker')] = workersOf(child).filter((pid) => !victims.includes(pid));
      const connections = Array.from({ length: 16 }, () => connectTo(t, url));
      for (const connection of connections) assert.equal(await connection.get('/health/ready'), 200);
      const own = peersOf(victim);
      const others = connections.filter((connection) => !own.has(connection.port()));
      assert.notEqual(others.length, 0, 'no connection to the other worker');
      process.kill(victim, signal);
      victims.push(victim);
      for (const connection of others) assert.equal(await connection.get('/api/v1/users/me'), 401);
      await until('it is noticed', () => hung().length === victims.length);
      const line = hung().at(-1);
      assert.deepEqual([line?.worker, line?.state, line?.level], [victim, state, 'error']);
      await until('it is replaced', () => serving(child) === WORKERS + victims.length);
      for (const connection of others) assert.equal(await connection.get('/health/ready'), 200);
      assert.equal(await connectTo(t, url).get('/health/ready'), 200);
    }
    assert.deepEqual(
      messagesOf(child, 'a worker ended and is replaced').map(({ worker, signal }) => [worker, signal]),
      victims.map((pid) => [pid, 'SIGKILL']),
      'only those that hung are replaced',
    );
    assert.equal(workersOf(child).filter(isRunning).length, WORKERS);
    child.kill('SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
  });

  for (const [what, execArgv, beats] of [
    ['beats once it is ready and asked to', [], true],
    ['does not beat under a debugger, whose breakpoint is no hang', ['--inspect=127.0.0.1:0'], false],
  ] as const)
    test(`a worker ${what}`, async (t) => {
      const program = fileURLToPath(new URL('./worker-beats.ts', import.meta.url));
      const worker = fork(program, { execArgv: [...execArgv], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
      const ended = new Promise((resolve) => worker.once('exit', resolve));
      atEnd(t, () => worker.kill('SIGKILL'));
      const messages: unknown[] = [];
      worker.on('message', (message) => {
        messages.push(message);
        if (isWorkerReport(message)) worker.send({ beatMs: 1 });
      });
      assert.equal(await ended, 0);
      assert.deepEqual(messages[0], { ready: true, port: 8000 });
      assert.equal(messages.at(-1), 'had time');
      assert.equal(messages.slice(1, -1).length > 1, beats);
      assert.ok(messages.slice(1, -1).every(isBeat));
    });

  test('ends when its supervisor is killed', async (t) => {
    const { child, url } = await openInstance(t, { SHUTDOWN_GRACE_SECONDS: '600' });
    const workers = workersOf(child);
    const connection = connectTo(t, url);
    assert.equal(await connection.get('/health/ready'), 200);
    child.kill('SIGKILL');
    await until('the workers have ended', () => !workers.some(isRunning));
    assert.equal(await statusOf(`${url}/health/live`), null);
  });

  test('that cannot start says why once, and exits with 1; it does not share the port of another instance', async (t) => {
    const holder = createServer();
    const shared = { host: '127.0.0.1', port: 0, reusePort: true };
    await new Promise<void>((resolve) => holder.listen(shared, resolve));
    atEnd(t, () => holder.close());
    const address = holder.address();
    const child = startChild(t, {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      SECRET_KEY: TEST_SECRET_KEY,
      WORKERS: String(WORKERS),
      PORT: String(typeof address === 'object' ? address?.port : ''),
    });
    assert.deepEqual(await child.ended, { code: 1, signal: null });
    assert.match(exitMessage(child.err()), /^Castellan cannot start\. The port is already in use\./);
    assert.equal(child.err().trimEnd().split('\n').length, 1);
  });
});
