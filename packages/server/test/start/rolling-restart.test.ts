// Restarts one instance after the other behind a load balancer, under load: no request fails.
// HAProxy must not hide a failure: it retries nothing.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { atEnd, temporaryFolder, until } from '@castellan/embedded-postgres/testing';
import { createClient } from '@castellan/testing/client';
import { ADMIN } from '@castellan/testing/harness';
import type { Child } from '@castellan/testing/start/child';
import { headersOf, openProcess } from '@castellan/testing/start/service-process';

const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0;
/** Many times longer than HAProxy needs to notice. */
const GRACE_SECONDS = '5';
const WORKERS = 4;
/** While both instances run, then one, then both. */
const REQUESTS = 40;

/** Returns a port below those that the system assigns, so that a restart finds it free. */
async function ownPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    await new Promise((resolve) => server.close(resolve));
    if (isFree) return port;
  }
}

type Balancer = { front: string; isUp(port: number): Promise<boolean> };

/** As in docs/operate/monitor.md, but with more frequent checks and longer timeouts; `retries 0` and no redispatch. */
function startBalancer(t: TestContext, ports: readonly number[]): Balancer {
  const folder = temporaryFolder(t);
  const [front, admin, file] = ['front', 'admin', 'haproxy.cfg'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const servers = ports.map((port) => `  server on-${port} 127.0.0.1:${port}`).join('\n');
  writeFileSync(
    file,
    `global
  stats socket ${admin}
defaults
  mode http
  retries 0
  timeout connect 60s
  timeout client 60s
  timeout server 60s
  timeout check 60s
frontend front
  bind unix@${front}
  default_backend castellan
backend castellan
  option httpchk GET /health/ready
  default-server check inter 200ms fall 1 rise 1
${servers}
`,
  );
  const haproxy = spawn('haproxy', ['-db', '-q', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const ended = new Promise((resolve) => haproxy.once('exit', resolve));
  atEnd(t, async () => {
    haproxy.kill('SIGKILL');
    await ended;
  });
  const statistics = (): Promise<string> =>
    new Promise((resolve) => {
      let text = '';
      connect(admin)
        .on('error', () => {})
        .on('data', (chunk) => {
          text += chunk;
        })
        .on('close', () => resolve(text))
        .end('show stat\n');
    });
  return {
    front,
    // CSV: proxy, server, …, status (HAProxy Management Guide, 9.1).
    isUp: async (port) => new RegExp(`^castellan,on-${port},.*,UP,`, 'm').test(await statistics()),
  };
}

type Load = { succeeded(): number; stop(): Promise<string[]> };

/** Sends reads, changes and sign-ins without a pause, on kept connections. */
function startLoad(t: TestContext, front: string, headers: Record<string, string>): Load {
  const agent = new http.Agent({ keepAlive: true });
  let succeeded = 0;
  let isOver = false;
  const failures: string[] = [];
  const shots = [
    ['GET', '/api/v1/users/me', undefined],
    ['PUT', '/api/v1/users/me', { last_name: 'Restarted' }],
    ['GET', '/api/v1/auth/csrf-token', undefined],
    ['POST', '/api/v1/auth/login', ADMIN],
  ] as const;
  const ask = (method: string, path: string, json: unknown): Promise<number | string> =>
    new Promise((resolve) => {
      const body = json === undefined ? '' : JSON.stringify(json);
      const request = http.request({ socketPath: front, agent, method, path, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
        response.on('error', (error) => resolve(error.message));
      });
      request.on('error', (error) => resolve(error.message));
      request.end(body);
    });
  const work = async (first: number): Promise<void> => {
    for (let number = first; !isOver; number += 1) {
      const [method, path, json] = shots[number % shots.length] as (typeof shots)[number];
      const answer = await ask(method, path, json);
      if (answer === 200) succeeded += 1;
      else failures.push(`${method} ${path}: ${answer}`);
    }
  };
  const workers = Promise.all(Array.from({ length: WORKERS }, (_, index) => work(index)));
  const stop = async (): Promise<string[]> => {
    isOver = true;
    await workers;
    agent.destroy();
    return failures;
  };
  atEnd(t, stop);
  return { succeeded: () => succeeded, stop };
}

async function restartInTurn(t: TestContext): Promise<void> {
  const ports = [await ownPort(), await ownPort()] as const;
  const environment = { SHUTDOWN_GRACE_SECONDS: GRACE_SECONDS, CONCURRENT_SESSION_LIMIT: '0' };
  const first = await openProcess(t, { ...environment, PORT: String(ports[0]) });
  const start = async (port: number): Promise<Child> => (await first.another({ PORT: String(port) })).child;
  const running = [first.child, await start(ports[1])];
  const children = [...running];
  const client = createClient(first.url);
  assert.equal((await client.login(ADMIN)).status, 200);

  const balancer = startBalancer(t, ports);
  const untilUp = (port: number) => until(`${port} is up`, () => balancer.isUp(port));
  await Promise.all(ports.map(untilUp));
  const load = startLoad(t, balancer.front, await headersOf(client));
  const untilMore = async (): Promise<void> => {
    const wanted = load.succeeded() + REQUESTS;
    await until('requests succeed', () => load.succeeded() >= wanted);
  };
  await untilMore();
  for (const [index, port] of ports.entries()) {
    const leaving = running[index] as Child;
    leaving.kill('SIGTERM');
    assert.deepEqual(await leaving.ended, { code: 0, signal: null });
    await untilMore();
    const child = await start(port);
    children.push(child);
    await untilUp(port);
    await untilMore();
  }
  assert.deepEqual(await load.stop(), []);
  for (const child of children)
    assert.ok(child.out().includes('"route":"/api/v1/users/me"'), 'an instance received no load');
}

test('two instances behind HAProxy restart in turn under load, and no request fails', async (t) => {
  if (hasHaproxy) return restartInTurn(t);
  assert.ok(process.env.CI !== 'true', 'HAProxy is missing: CI installs it');
  t.skip('HAProxy is not installed: apt-get install --no-install-recommends haproxy');
});
