// A shutdown as load balancers, supervisors and people at a terminal see it. No test waits for a grace period to pass:
// periods that must not end during a test last 10 minutes, and a second signal or the end of the test ends them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import http from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd, temporaryFolder, until } from '@castellan/embedded-postgres/testing';
import { TEST_SECRET_KEY } from '@castellan/testing/harness';
import { exchange } from '@castellan/testing/http/raw';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { type Child, startChild } from '@castellan/testing/start/child';
import { openProcess } from '@castellan/testing/start/service-process';

const program = fileURLToPath(new URL('../../start.mjs', import.meta.url));
const ENDLESS = { SHUTDOWN_GRACE_SECONDS: '600' };

type Seen = { status: number | undefined; connection: string | undefined; text: string; reused: boolean };

function get(url: string, agent: http.Agent): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        const { statusCode: status, headers } = response;
        resolve({ status, connection: headers.connection, text, reused: request.reusedSocket });
      });
    });
    request.on('error', reject);
  });
}

async function signalled(child: Child, signal: NodeJS.Signals): Promise<Record<string, unknown>> {
  child.kill(signal);
  await until('it announces the shutdown', () => child.announced('stopping') !== undefined);
  return child.announced('stopping') ?? {};
}

/** Signals within 500 ms of the first count as one with it, so this repeats the signal until it counts. */
async function endAtOnce(t: TestContext, child: Child): Promise<void> {
  const again = setInterval(() => child.kill('SIGTERM'), 100);
  atEnd(t, () => clearInterval(again));
  assert.deepEqual(await child.ended, { code: 143, signal: null });
  clearInterval(again);
}

suite('a shutdown', { concurrency: 3 }, () => {
  test('fails readiness first, answers everything during the grace period and ends keep-alive connections', async (t) => {
    const { child, url } = await openProcess(t, ENDLESS);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    atEnd(t, () => agent.destroy());
    assert.equal((await get(`${url}/health/ready`, agent)).connection, 'keep-alive');

    const { grace_seconds, signal } = await signalled(child, 'SIGTERM');
    assert.deepEqual({ grace_seconds, signal }, { grace_seconds: 600, signal: 'SIGTERM' });
    const token = await get(`${url}/api/v1/auth/csrf-token`, agent);
    assert.deepEqual([token.status, token.connection, token.reused], [200, 'close', true]);
    const ready = await get(`${url}/health/ready`, agent);
    assert.deepEqual([ready.status, ready.connection, ready.reused], [503, 'close', false]);
    assert.deepEqual(JSON.parse(ready.text), { status: 'not_ready', reason: 'stopping' });
    assert.equal((await get(`${url}/health/live`, agent)).status, 200);
    await endAtOnce(t, child);
  });

  test('answers all pipelined requests of a connection before it closes the connection', async (t) => {
    const { child, url } = await openProcess(t, ENDLESS);
    await signalled(child, 'SIGTERM');
    const paths = ['/health/ready', '/api/v1/users/me', '/health/live'];
    const answers = await exchange(
      url,
      paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''),
    );
    assert.deepEqual(
      answers.map(({ status, headers }) => [status, headers.get('connection')]),
      [
        [503, 'keep-alive'],
        [401, 'keep-alive'],
        [200, 'close'],
      ],
    );
    await endAtOnce(t, child);
  });

  test('exits with 0 when the grace period is over', async (t) => {
    const { child } = await openProcess(t, { SHUTDOWN_GRACE_SECONDS: '1' });
    const start = performance.now();
    await signalled(child, 'SIGINT');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    // A timer of Node may fire a millisecond early.
    assert.ok(performance.now() - start >= 999);
  });

  test('has a grace period of 5 seconds by default without a terminal', async (t) => {
    const { child } = await openProcess(t, { SHUTDOWN_GRACE_SECONDS: '' });
    assert.equal((await signalled(child, 'SIGTERM')).grace_seconds, 5);
    child.kill('SIGKILL');
  });

  test('of an instance that was never ready skips the grace period', async (t) => {
    const child = startChild(t, {
      ...ENDLESS,
      DATABASE_URL: 'postgres://127.0.0.1:1/none',
      DATA_DIR: temporaryFolder(t),
      SECRET_KEY: TEST_SECRET_KEY,
    });
    await child.listening();
    await signalled(child, 'SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
  });

  test('by Ctrl-C at a terminal skips the grace period, also with several workers, and the terminal shows text', async (t) => {
    const database = await createScratchDatabase({ migrated: true });
    atEnd(t, () => database.drop());
    // `script` of util-linux; Debian has it in an essential package (bsdutils).
    const terminal = spawn('script', ['-qec', `exec '${process.execPath}' '${program}'`, '/dev/null'], {
      env: {
        ...ENDLESS,
        PATH: process.env.PATH,
        SHELL: '/bin/sh',
        PORT: '0',
        WORKERS: '2',
        DATABASE_URL: database.url,
        DATA_DIR: temporaryFolder(t),
        SECRET_KEY: TEST_SECRET_KEY,
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const ended = new Promise((resolve) => terminal.once('close', resolve));
    atEnd(t, async () => {
      terminal.kill('SIGKILL');
      await ended;
    });
    let text = '';
    terminal.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk.replaceAll('\r', '');
    });
    await until('it welcomes', () => /^Ready\.$/m.test(text));
    await until('it tells the number of workers', () => /^ {2}workers {4}2$/m.test(text));
    assert.match(text, /^Castellan listens on http:\/\/127\.0\.0\.1:\d+$/m);
    terminal.stdin.write('\u0003');
    assert.equal(await ended, 0);
    assert.match(text, /^(\^C)?Stopping\. Press Ctrl-C again to stop at once\.$/m);
  });
});

suite('standard output that is no terminal', { concurrency: 2 }, () => {
  const linesAt = async (t: TestContext, level: string): Promise<Record<string, unknown>[]> => {
    // An unavailable mail server; without one, mails are printed.
    const { child, client } = await openProcess(t, { LOG_LEVEL: level, SMTP_URL: 'smtp://127.0.0.1:1' });
    await client().get('/api/v1/auth/csrf-token');
    child.kill('SIGTERM');
    assert.deepEqual(await child.ended, { code: 0, signal: null });
    return child
      .out()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  };

  test('contains only lines of JSON, each with its level and time', async (t) => {
    const lines = await linesAt(t, 'info');
    for (const { level, time } of lines)
      assert.ok(typeof level === 'string' && !Number.isNaN(Date.parse(String(time))), JSON.stringify(lines));
    const messages = lines.map(({ msg }) => msg);
    for (const announced of ['listening', 'ready', 'stopping'])
      assert.equal(messages.filter((one) => one === announced).length, 1, announced);
  });

  test('announces start and shutdown at every log level but silent', async (t) => {
    assert.deepEqual(
      (await linesAt(t, 'fatal')).map(({ msg }) => msg),
      ['listening', 'ready', 'stopping'],
    );
  });
});
