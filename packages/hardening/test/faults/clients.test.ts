// Clients that are slow, silent, greedy or disconnected: others are answered meanwhile, timeouts end their connections,
// and no resources leak. It must judge a time only by that of another instance without such clients.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { suite, type TestContext } from 'node:test';
import { atEnd, until } from '@castellan/embedded-postgres/testing';
import { ADMIN, newEmail, PASSWORD, signIn, type TestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { isFull, rounds, scenariosOf, type Tally } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import {
  openFiles,
  openProcess,
  residentMiB,
  type ServiceProcess,
  send,
} from '@castellan/testing/start/service-process';
import { volley } from '@castellan/testing/volley';
import { openPair } from '../fixture.ts';

const scenario = scenariosOf('faults');
/** Allowed factor of slowdown. One answer that waits for a timeout, 15 s or more, exceeds it by far. */
const SLOWER = 20;
/** Ends a hang. SEND_TIMEOUT is 60 s, which Node counts twice if a part of the answer was read. */
const CUT_MS = 300_000;
/** A connection costs some 20 KiB; twenty times that is a leak. */
const CROWD_MIB = 400;

/** Garbage of the other answers, and for each client that reads nothing a few batches: far less than its 60 MB. */
const NON_READERS_MIB = 150;
const MIB_PER_NON_READER = 24;

type Instance = Pick<ServiceProcess, 'url' | 'client'>;
/** Requests in one round: one of five signs in. */
const ROUND = 5;

type Slow = { socket: Socket; gone: Promise<void> };

/** `more` is sent every half a second. With `reads: false` the client never reads its answer. */
type SlowOptions = { more?: string; reads?: boolean };

/** Connects and sends `text`. `gone` resolves when the connection is closed. */
function slow(
  t: TestContext,
  url: string,
  text: string,
  { more = '', reads = true }: SlowOptions = {},
): Slow {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const timer = setInterval(() => more !== '' && socket.write(more), 500);
  const gone = new Promise<void>((resolve) => {
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve();
    });
  });
  if (reads) socket.resume();
  else socket.pause();
  socket.write(text);
  atEnd(t, () => socket.destroy());
  return { socket, gone };
}

const half = 'GET /api/v1/users/me HTTP/1.1\r\nhost: castellan.test\r\nx-slow: ';
const post =
  'POST /api/v1/auth/login HTTP/1.1\r\nhost: castellan.test\r\ncontent-type: application/json\r\ncontent-length: 900\r\n';

async function connected(crowd: readonly Slow[]): Promise<void> {
  await until('all are connected', () => crowd.every(({ socket }) => !socket.connecting));
}

/**
 * Errors that are expected on a busy machine: an answer that does not wait for its audit entry, and a 503 after too
 * long a wait for hashing or for a connection.
 */
const busy =
  /audit entry delayed: the request was answered without it|HasherBusyError|timeout exceeded when trying to connect|due to (lock|statement) timeout/;

function assertNoErrors(instances: readonly TestService[]): void {
  const errors = instances
    .flatMap(({ logLines }) => logLines)
    .filter((line) => /"level":"(error|fatal)"|"status":500/.test(line))
    .filter((line) => !busy.test(line));
  assert.deepEqual(errors, []);
}

function isIdle({ service }: TestService): boolean {
  const { hasher, pool } = service.deps;
  const { queued, running } = hasher.stats();
  return queued + running + pool.waitingCount === 0 && pool.idleCount === pool.totalCount;
}

/** Returns the milliseconds for `count` requests on a kept connection and as many on new ones. */
async function serve({ client, url }: Instance, tally: Tally, count: number): Promise<number> {
  const user = client();
  const start = performance.now();
  for (let number = 0; number < count; number += 1) {
    const answer = number % 5 === 0 ? await user.login(ADMIN) : await user.get('/api/v1/users/me');
    assert.equal(answer.status, 200, answer.text);
    // The client keeps its connection, so this request opens a new one.
    assert.equal(await send('GET', `${url}/health/ready`).status, 200);
    tally.tried(2);
    tally.held(2);
  }
  return performance.now() - start;
}

/**
 * Checks that answers take about as long as those of an instance without the crowd. Asks both in turn, so that any load
 * affects both.
 */
async function assertServed(process: Instance, quiet: Instance, tally: Tally, rounds: number): Promise<void> {
  let [crowded, alone] = [0, 0];
  for (let round = 0; round < rounds; round += 1) {
    alone += await serve(quiet, tally, ROUND);
    crowded += await serve(process, tally, ROUND);
  }
  assert.ok(crowded < SLOWER * alone, `${crowded} ms beside the crowd, ${alone} ms without it`);
  tally.held();
}

/** Starts another instance on the same database. */
async function startQuietInstance({ another, client }: ServiceProcess): Promise<Instance> {
  const { url } = await another();
  return { url, client: () => client().at(url) };
}

suite('clients', { concurrency: 4 }, () => {
  scenario(
    'many silent connections and incomplete requests delay no answer, and leak no descriptors and little memory',
    async (tally, t) => {
      const process = await openProcess(t);
      const quiet = await startQuietInstance(process);
      const { child, url } = process;
      await assertServed(process, quiet, tally, 1);
      const [files, memory] = [openFiles(child.pid), residentMiB(child.pid)];
      for (let round = 0; round < rounds(1, 3); round += 1) {
        const size = rounds(400, 2_000);
        const crowd = Array.from({ length: 2 * size }, (_, index) => slow(t, url, index % 2 ? half : ''));
        await connected(crowd);
        await until('they are accepted', () => openFiles(child.pid) >= files + 0.9 * crowd.length);
        tally.injected(crowd.length);
        await assertServed(process, quiet, tally, rounds(2, 6));
        assert.ok(residentMiB(child.pid) - memory < CROWD_MIB, `${residentMiB(child.pid)} MiB`);
        for (const { socket } of crowd) socket.destroy();
        // Keep-alive connections and the database pool may have opened some meanwhile.
        await until('the descriptors are back', () => openFiles(child.pid) <= files + 20);
        tally.held(2);
      }
    },
  );

  scenario(
    'silent connections and slow headers or bodies time out, and other clients are answered',
    async (tally, t) => {
      const process = await openProcess(t);
      const quiet = await startQuietInstance(process);
      const { url } = process;
      const count = rounds(20, 500);
      const heads = Array.from({ length: count }, (_, index) =>
        index % 3 === 0
          ? slow(t, url, '')
          : slow(t, url, index % 3 === 1 ? half : post, { more: index % 3 === 1 ? 'x' : 'x-a: b\r\n' }),
      );
      const bodies = Array.from({ length: rounds(1, count) }, () =>
        slow(t, url, `${post}\r\n{"email":"`, { more: 'x' }),
      );
      const crowd = [...heads, ...bodies];
      await connected(crowd);
      tally.injected(crowd.length);
      await assertServed(process, quiet, tally, rounds(2, 8));
      // The timeout of headers is 15 s and that of requests 30 s, so these are closed first.
      await Promise.all(heads.map(({ gone }) => gone));
      for (const { socket } of bodies) assert.ok(!socket.destroyed, 'a body was cut before a header was');
      await Promise.all(bodies.map(({ gone }) => gone));
      await assertServed(process, quiet, tally, 1);
      tally.held(heads.length + bodies.length);
    },
  );

  scenario(
    'clients that never read their answer hold no database connection and little memory, and are disconnected in time',
    async (tally, t) => {
      const process = await openProcess(t, { DATABASE_POOL_SIZE: '3' });
      const quiet = await startQuietInstance(process);
      const { child, url, client, sql } = process;
      // About 60 MB: more than the buffers of a connection hold.
      await sql(
        `insert into audit_logs (id, action, resource_type, resource_id, details)
       select gen_random_uuid(), 'user_login', 'user', gen_random_uuid(), jsonb_build_object('user_agent', repeat('x', 2000))
       from generate_series(1, 30000)`,
      );
      const admin = client();
      assert.equal((await admin.login(ADMIN)).status, 200);
      const memory = residentMiB(child.pid);
      const request = `GET /api/v1/audit-logs/export HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin.accessToken}\r\n\r\n`;
      const nonReaders = Array.from({ length: rounds(10, 40) }, () =>
        slow(t, url, request, { reads: false }),
      );
      await connected(nonReaders);
      tally.injected(nonReaders.length);
      await assertServed(process, quiet, tally, rounds(4, 20));
      const grown = residentMiB(child.pid) - memory;
      assert.ok(grown < NON_READERS_MIB + MIB_PER_NON_READER * nonReaders.length, `${grown} MiB`);
      tally.held(1);
      if (isFull) {
        const files = openFiles(child.pid);
        // A paused socket does not notice that it was closed, so the service's own descriptors are counted.
        await until('they are cut', () => openFiles(child.pid) <= files - nonReaders.length + 10, CUT_MS);
        tally.held(nonReaders.length);
      }
      for (const { socket } of nonReaders) socket.destroy();
      await assertServed(process, quiet, tally, 1);
    },
  );

  scenario(
    'requests whose client disconnects leave no open transaction, no half-done change and no lost connection',
    async (tally, t) => {
      const { service, twin, admin, at } = await openPair(t, {
        DATABASE_POOL_SIZE: '4',
        CONCURRENT_SESSION_LIMIT: '0',
        ACCOUNT_LOCKOUT_ATTEMPTS: '1000',
      });
      const user = await addUser(service);
      const client = await signIn(service, user);
      await admin.get('/api/v1/auth/csrf-token');
      for (let round = 0; round < rounds(4, 40); round += 1) {
        const sockets = await Promise.all(
          Array.from({ length: 30 }, async (_, index) => {
            const shots = [
              {
                by: client,
                path: '/api/v1/auth/register',
                json: { email: newEmail('gone'), password: PASSWORD, first_name: 'Ada', last_name: 'L' },
              },
              { by: client, path: '/api/v1/auth/login', json: user },
              { by: admin, path: '/api/v1/roles', json: { name: newEmail('gone role') } },
            ] as const;
            const { by, path, json } = shots[index % 3] as (typeof shots)[number];
            const from = at(by, index + round);
            const { headers, body } = await from.prepare('POST', { json });
            const { hostname, port } = new URL(from.url);
            const socket = connect(Number(port), hostname).on('error', () => {});
            socket.write(
              `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(body ?? '')}\r\n${headers.map((pair) => pair.join(': ')).join('\r\n')}\r\n\r\n${body}`,
            );
            return socket;
          }),
        );
        // In turn before the body is read, during hashing, and when the first answers arrive.
        for (const [index, socket] of sockets.entries())
          setTimeout(() => socket.resetAndDestroy(), ((index + round) * 7) % 60);
        await until('all are gone', () => sockets.every(({ destroyed }) => destroyed));
        // Otherwise abandoned work adds up, and the service refuses requests that wait too long.
        await until('what they left is done', () => [service, twin].every(isIdle));
        tally.tried(sockets.length);
        tally.injected(sockets.length);
      }
      const answers = await volley(
        Array.from({ length: 32 }, (_, index) => ({
          client: at(client, index),
          method: 'GET',
          path: '/api/v1/users/me',
        })),
      );
      for (const answer of answers) assert.equal(answer.status, 200, answer.text);
      await until('no transaction is open', async () => {
        const open = await service.sql(
          `select from pg_stat_activity where datname = current_database() and application_name = 'castellan' and state like 'idle in transaction%'`,
        );
        return open.length === 0;
      });
      const torn = await service.sql(
        `select email from users u where email like 'gone%' and (
         (select count(*) from user_roles r where r.user_id = u.id) <> 1 or
         (select count(*) from outbox o where o.payload ->> 'email' = u.email) <> 1)`,
      );
      assert.deepEqual(torn, []);
      assertNoErrors([service, twin]);
      tally.held(answers.length + 3 + (await assertSound(service)));
    },
  );
});
