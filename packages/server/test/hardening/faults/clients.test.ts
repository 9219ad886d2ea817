// Clients that are slow, silent, greedy or gone: others are answered meanwhile, time-outs end what does not end itself,
// and nothing is left of them. It must not wait longer than the time-outs of platform/http/server.ts require.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { suite, type TestContext } from 'node:test';
import { atEnd, until } from '../../embedded/fixture.ts';
import { ADMIN, newEmail, PASSWORD, signIn, type TestService } from '../../harness.ts';
import { assertSound } from '../../invariants.ts';
import { addUser } from '../../sessions/accounts.ts';
import { openPair } from '../fixture.ts';
import { isFull, rounds, scenariosOf, type Tally } from '../scenario.ts';
import { volley } from '../volley.ts';
import { openFiles, openProcess, residentMiB, type ServiceProcess, send } from './process-fixture.ts';

const scenario = scenariosOf('faults');
/** Far more than an answer takes, also on a crowded machine; what hangs is cut after 30 s or more. */
const ANSWER_MS = 15_000;
/** HEADERS_TIMEOUT 15 s, looked at every 2 s; and time for a crowded machine. */
const HEADERS_MS = 25_000;
/** REQUEST_TIMEOUT 30 s, and the same. */
const REQUEST_MS = 40_000;
/** SEND_TIMEOUT 60 s, which Node counts twice where a part of the answer was taken, and the same. */
const SEND_MS = 140_000;
/** A connection costs some 20 KiB; twenty times that is a leak. */
const CROWD_MIB = 400;

/** Garbage of the others' answers, and for each deaf reader a few batches and their garbage: far less than his 60 MB. */
const DEAF_MIB = 150;
const DEAF_MIB_EACH = 24;

type Slow = { socket: Socket; gone: Promise<number> };

/** Sends this at once, then `more` every half a second; reads nothing where `deaf`. Resolves after so many ms. */
function slow(t: TestContext, url: string, text: string, more = '', deaf = false): Slow {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const start = performance.now();
  const timer = setInterval(() => more !== '' && socket.write(more), 500);
  const gone = new Promise<number>((resolve) => {
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve(performance.now() - start);
    });
  });
  if (deaf) socket.pause();
  else socket.resume();
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

/** Whoever floods the service may wait for the audit log longer than an answer does: that line, and no other error. */
function assertNoErrors(instances: readonly TestService[]): void {
  const errors = instances
    .flatMap(({ logLines }) => logLines)
    .filter((line) => /"level":"(error|fatal)"|"status":500/.test(line))
    .filter((line) => !line.includes('"msg":"audit entry late: answered without waiting"'));
  assert.deepEqual(errors, []);
}

async function assertServed({ client, url }: ServiceProcess, tally: Tally, count: number): Promise<void> {
  const user = client();
  for (let number = 0; number < count; number += 1) {
    const start = performance.now();
    const answer = number % 5 === 0 ? await user.login(ADMIN) : await user.get('/api/v1/users/me');
    assert.equal(answer.status, 200, answer.text);
    // A newcomer: the client keeps its connection.
    assert.equal(await send('GET', `${url}/health/ready`).status, 200);
    assert.ok(performance.now() - start < ANSWER_MS, `${performance.now() - start} ms`);
    tally.tried(2);
    tally.held(2);
  }
}

suite('clients', { concurrency: 4 }, () => {
  scenario(
    'a crowd of silent connections and half requests keeps nobody from his answer, and leaves no descriptor and little memory behind',
    async (tally, t) => {
      const process = await openProcess(t);
      const { child, url } = process;
      await assertServed(process, tally, 5);
      const [files, memory] = [openFiles(child.pid), residentMiB(child.pid)];
      for (let round = 0; round < rounds(1, 3); round += 1) {
        const size = rounds(400, 2_000);
        const crowd = Array.from({ length: 2 * size }, (_, index) => slow(t, url, index % 2 ? half : ''));
        await connected(crowd);
        await until('they are accepted', () => openFiles(child.pid) >= files + 0.9 * crowd.length);
        tally.injected(crowd.length);
        await assertServed(process, tally, rounds(10, 30));
        assert.ok(residentMiB(child.pid) - memory < CROWD_MIB, `${residentMiB(child.pid)} MiB`);
        for (const { socket } of crowd) socket.destroy();
        // Beside what keep-alive connections and the pool of the database may have opened meanwhile.
        await until('the descriptors are back', () => openFiles(child.pid) <= files + 20);
        tally.held(2);
      }
    },
  );

  scenario(
    'silent connections and headers or bodies that trickle are cut in time, and others are answered meanwhile',
    async (tally, t) => {
      const process = await openProcess(t);
      const { url } = process;
      const count = rounds(20, 500);
      const heads = Array.from({ length: count }, (_, index) =>
        index % 3 === 0
          ? slow(t, url, '')
          : slow(t, url, index % 3 === 1 ? half : post, index % 3 === 1 ? 'x' : 'x-a: b\r\n'),
      );
      const bodies = Array.from({ length: isFull ? count : 0 }, () =>
        slow(t, url, `${post}\r\n{"email":"`, 'x'),
      );
      await connected([...heads, ...bodies]);
      tally.injected(heads.length + bodies.length);
      await assertServed(process, tally, rounds(10, 40));
      for (const { gone } of heads) assert.ok((await gone) < HEADERS_MS, `${await gone} ms`);
      for (const { gone } of bodies) assert.ok((await gone) < REQUEST_MS, `${await gone} ms`);
      await assertServed(process, tally, 5);
      tally.held(heads.length + bodies.length);
    },
  );

  scenario(
    'readers that never take their answer hold no connection to the database, little memory, and are cut in time',
    async (tally, t) => {
      const process = await openProcess(t, { DATABASE_POOL_SIZE: '3' });
      const { child, url, client, sql } = process;
      // Some 60 MB: more than the buffers of a connection take.
      await sql(
        `insert into audit_logs (id, action, resource_type, resource_id, details)
       select gen_random_uuid(), 'user_login', 'user', gen_random_uuid(), jsonb_build_object('user_agent', repeat('x', 2000))
       from generate_series(1, 30000)`,
      );
      const admin = client();
      assert.equal((await admin.login(ADMIN)).status, 200);
      const memory = residentMiB(child.pid);
      const request = `GET /api/v1/audit-logs/export HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin.accessToken}\r\n\r\n`;
      const deaf = Array.from({ length: rounds(10, 40) }, () => slow(t, url, request, '', true));
      await connected(deaf);
      tally.injected(deaf.length);
      await assertServed(process, tally, rounds(20, 100));
      const grown = residentMiB(child.pid) - memory;
      assert.ok(grown < DEAF_MIB + DEAF_MIB_EACH * deaf.length, `${grown} MiB`);
      tally.held(1);
      if (isFull) {
        const files = openFiles(child.pid);
        const start = performance.now();
        // A deaf socket does not hear that it was cut: the service's own descriptors tell.
        await until('they are cut', () => openFiles(child.pid) <= files - deaf.length + 10, SEND_MS);
        assert.ok(performance.now() - start < SEND_MS);
        tally.held(deaf.length);
      }
      for (const { socket } of deaf) socket.destroy();
      await assertServed(process, tally, 5);
    },
  );

  scenario(
    'requests whose sender goes away in the middle leave no open transaction, no half change and no connection less',
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
        // By turns before the body is read, amid the hashing, and when the first answers come.
        for (const [index, socket] of sockets.entries())
          setTimeout(() => socket.resetAndDestroy(), ((index + round) * 7) % 60);
        await until('all are gone', () => sockets.every(({ destroyed }) => destroyed));
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
