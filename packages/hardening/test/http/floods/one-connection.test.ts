// Floods of requests on one connection: how much is read, started and answered when the peer does not read.
// It must not judge how fast the service is.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after } from 'node:test';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { answersIn, canary, exchange, newRequestId } from '@castellan/testing/http/raw';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { openProcess, residentMiB } from '@castellan/testing/start/service-process';
import { BODY, rawCaller } from '../caller.ts';
import { ask, forged, lock } from './fixture.ts';

const scenario = scenariosOf('http');
const service = await startTestService({ after }, { TRUSTED_PROXIES: '127.0.0.1' });

function open(url: string): { socket: Socket; received(): Buffer } {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), noDelay: true });
  const chunks: Buffer[] = [];
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
  return { socket, received: () => Buffer.concat(chunks) };
}

/** Waits until a request waits for the locked table. */
const firstIsJudged = () =>
  eventually(async () => {
    const [row] = await service.sql<{ waiting: boolean }>(
      `select exists (select from pg_locks where relation = 'rate_limits'::regclass and not granted) as waiting`,
    );
    return row?.waiting || undefined;
  }, 'the first request to be judged');

scenario(
  'a connection that sends without reading is no longer read: memory stays bounded, others are served',
  async (tally, t) => {
    const { child, url, client, databaseUrl } = await openProcess(t);
    const other = client();
    assert.equal((await other.login(ADMIN)).status, 200);
    const before = residentMiB(child.pid);
    // Far more than the socket buffers of both ends hold (Linux: up to about 10 MiB on loopback).
    const offered = rounds(32, 64);
    const chunk = forged().repeat(Math.ceil(1_048_576 / forged().length));
    const held = await lock(databaseUrl, 'rate_limits');
    t.after(held.release);
    const { socket } = open(url);
    t.after(() => socket.destroy());
    socket.pause();
    let taken = 0;
    for (let count = 0; count < offered; count += 1)
      socket.write(chunk, (error) => {
        taken += error ? 0 : 1;
      });
    let [seen, since] = [-1, performance.now()];
    await eventually(() => {
      if (seen !== taken) [seen, since] = [taken, performance.now()];
      return performance.now() - since > 1_000 || undefined;
    }, 'the connection to be taken no more from');
    assert.ok(taken < offered / 2, `${taken} of ${offered} MiB were taken`);
    tally.tried(taken * Math.ceil(1_048_576 / forged().length));
    await held.release();
    for (let count = 0; count < 20; count += 1) {
      for (const path of ['/health/ready', '/api/v1/auth/csrf-token', '/api/v1/users/me'])
        assert.equal((await other.get(path)).status, 200, path);
      tally.tried(3);
      tally.held(3);
    }
    const grown = residentMiB(child.pid) - before;
    assert.ok(grown < 150, `grew by ${grown} MiB`);
    tally.held(2);
  },
);

scenario(
  'all requests read from a connection that was not reading are answered in order once it reads',
  async (tally, t) => {
    const ids = Array.from({ length: rounds(2_000, 20_000) }, () => newRequestId('unread'));
    const held = await lock(service.databaseUrl, 'rate_limits');
    t.after(held.release);
    const { socket, received } = open(service.url);
    socket.pause();
    const messages = ids.map((id) => forged(`X-Request-ID: ${id}\r\nX-Forwarded-For: 10.1.1.1\r\n`));
    socket.write(messages.join('') + canary(newRequestId('behind')));
    tally.tried(ids.length + 1);
    await firstIsJudged();
    await held.release();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume();
    await closed;
    const answers = answersIn(received());
    assert.deepEqual(
      answers.slice(0, -1).map(({ headers }) => headers.get('x-request-id')),
      ids,
    );
    assert.deepEqual(new Set(answers.slice(0, -1).map(({ status }) => status)), new Set([403]));
    assert.equal(answers.at(-1)?.status, 200);
    tally.held(ids.length + 2);
  },
);

scenario(
  'after a connection closes, only a few of its pipelined requests are still started',
  async (tally, t) => {
    const held = await lock(service.databaseUrl, 'rate_limits');
    t.after(held.release);
    const { socket } = open(service.url);
    const sent = 500;
    socket.write(forged('X-Forwarded-For: 10.4.4.4\r\n').repeat(sent));
    tally.tried(sent);
    await firstIsJudged();
    socket.destroy();
    await held.release();
    const begun = async (): Promise<number | undefined> =>
      (
        await service.sql<{ hits: number }>(
          `select hits::int as hits from rate_limits where key = 'audit|csrf_refused|10.4.4.0/24'`,
        )
      )[0]?.hits;
    let [seen, since] = [0, performance.now()];
    await eventually(async () => {
      const now = (await begun()) ?? 0;
      if (now !== seen) [seen, since] = [now, performance.now()];
      return (seen > 0 && performance.now() - since > 500) || undefined;
    }, 'the last of them');
    // 16 at a time, and as many again before the first write notices that the connection is closed.
    assert.ok(seen <= 48, `${seen} of ${sent} were begun`);
    tally.held();
  },
);

scenario(
  'valid pipelining works: changes in bursts on one connection, the last with a late body',
  async (tally) => {
    const { fields } = await rawCaller(await signIn(service, ADMIN));
    const { socket, received } = open(service.url);
    const whole = ask('PUT', '/api/v1/users/me', `${fields}Content-Type: application/json\r\n`, BODY);
    let due = 0;
    const answered = (count: number) =>
      eventually(
        () => received().toString('latin1').split('HTTP/1.1 ').length > count || undefined,
        `${count} answers`,
      );
    // About 16, the limit of open requests in pipelining.ts, and far more.
    for (const burst of [1, 2, 15, 16, 17, ...Array.from({ length: rounds(1, 30) }, () => 50)]) {
      socket.write(whole.repeat(burst).slice(0, -1));
      due += burst;
      await answered(due - 1);
      socket.write('}');
      await answered(due);
    }
    socket.end();
    tally.tried(due);
    for (const { status, text } of answersIn(received())) assert.equal(status, 200, text);
    tally.held(due);
  },
);

scenario('one connection serves thousands of requests, one after the other', async (tally) => {
  const { socket, received } = open(service.url);
  const count = rounds(1_000, 10_000);
  const message = ask('GET', '/health/live');
  const length = (await exchange(service.url, message + canary(newRequestId()))).length;
  assert.equal(length, 2);
  let seen = 0;
  let answered = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.on('data', (chunk: Buffer) => {
    answered += chunk.toString('latin1').split('HTTP/1.1 200 ').length - 1;
    if (answered >= count) resolve();
    else if (answered > seen) socket.write(message);
    seen = answered;
  });
  socket.on('close', resolve);
  socket.write(message);
  await promise;
  socket.end();
  tally.tried(count);
  assert.equal(answersIn(received()).filter(({ status }) => status === 200).length, count);
  tally.held(count);
});
