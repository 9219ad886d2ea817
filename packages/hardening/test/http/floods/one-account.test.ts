// One account, or one token, that sends too much: what it may occupy, and that others are still served. The test holds
// locks so that requests wait. It must count connections, statements and answers, and never measure time.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { after } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, createVerifiedUser, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { scenariosOf } from '@castellan/testing/scenario';
import pg from 'pg';
import { rawCaller } from '../caller.ts';
import { ask } from './fixture.ts';

const scenario = scenariosOf('http');
// The pool of the tests has 10 connections: 2 for token look-ups and probes, 8 for all other work.
const WORK = 8;
// How many changes of one user run at once, and how many wait (deps.ts).
const [AT_WORK, WAITING] = [4, 64];
const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0', LOG_LEVEL: 'error' });
const [attacker, other] = [await createVerifiedUser(service), await createVerifiedUser(service)];
const stranger = await signIn(service, other);

const ME = '/api/v1/users/me';
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Returns how many database sessions wait for a lock. */
const lockWaiters = async (): Promise<number> =>
  (
    await service.sql(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    )
  ).length;
const untilWaiting = (count: number): Promise<true> =>
  eventually(async () => (await lockWaiters()) >= count || undefined, `${count} that wait for the lock`);

/** Holds the locks of the statement during `meanwhile`, then releases them. Returns the answers to `send`. */
async function under(
  statement: string,
  send: () => Promise<Answer>[],
  meanwhile: (sent: Promise<Answer>[]) => Promise<void>,
): Promise<Answer[]> {
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  await holder.query(`begin; ${statement}`);
  const sent = send();
  try {
    await meanwhile(sent);
  } finally {
    await holder.end();
    await Promise.allSettled(sent);
  }
  return Promise.all(sent);
}

/** Checks for 200, or 503 with Retry-After: on a busy machine a lock may last longer than the service waits. */
const assertTaken = (answers: readonly Answer[]): void => {
  for (const { status, headers, text } of answers)
    assert.ok(status === 200 || (status === 503 && Number(headers.get('retry-after')) >= 1), text);
};

/**
 * Checks that another user can read, change and sign in, and that the probe answers. Returns the number of answers
 * checked.
 */
async function assertServed(client: TestClient): Promise<number> {
  const answers = [
    await client.get(ME),
    await client.put(ME, { first_name: `Ada ${Math.random()}` }),
    await service.client().login(other),
    await client.get('/health/ready'),
  ];
  for (const { status, text } of answers) assert.equal(status, 200, text);
  return answers.length;
}

scenario(
  'changes of one user that wait for a lock hold few connections, and other users are served',
  async (tally) => {
    const client = await signIn(service, attacker);
    const changing = await under(
      `select from users where id = '${attacker.id}' for update`,
      () => times(40, (n) => client.put(ME, { first_name: `Eve ${n}` })),
      async () => {
        await untilWaiting(AT_WORK);
        tally.held(await assertServed(stranger));
        assert.ok((await lockWaiters()) <= AT_WORK, 'one user waits on more connections than allowed');
      },
    );
    tally.tried(40);
    assertTaken(changing);
    tally.held(41);
  },
);

scenario(
  'concurrent exchanges of one session use one connection, and all of one token get the same successor',
  async (tally) => {
    const client = await signIn(service, attacker);
    const first = client.refreshToken;
    const exchanged = await client.post('/api/v1/auth/refresh', { refresh_token: first });
    const present = exchanged.body.data.refresh_token;
    const { session_id } = (
      await service.sql<{ session_id: string }>(
        'select id as session_id from sessions where user_id = $1 order by created_at desc limit 1',
        [attacker.id],
      )
    )[0] as { session_id: string };
    // Both tokens of the session are valid, the first one within the reuse interval.
    const bodies = [{ refresh_token: present }, { refresh_token: first }];
    const answers = await under(
      `select from sessions where id = '${session_id}' for update`,
      () => times(30, (n) => client.post('/api/v1/auth/refresh', bodies[n % 2])),
      async () => {
        await untilWaiting(1);
        tally.held(await assertServed(stranger));
        assert.ok((await lockWaiters()) <= 1, 'one session waits on several connections');
      },
    );
    tally.tried(30);
    assertTaken(answers);
    for (const ofToken of [0, 1]) {
      const successors = answers.flatMap(
        ({ body }, n) => (n % 2 === ofToken && body.data?.refresh_token) || [],
      );
      assert.ok(new Set(successors).size <= 1);
    }
    tally.held(32);
  },
);

scenario(
  'changes beyond the queue of one user are refused at once, and other users are served',
  async (tally) => {
    const client = await signIn(service, attacker);
    const extra = 12;
    const answers = await under(
      `select from users where id = '${attacker.id}' for update`,
      () => times(AT_WORK + WAITING + extra, (n) => client.put(ME, { first_name: `Eve ${n}` })),
      async (sent) => {
        await Promise.any(sent.map(async (one) => assert.equal((await one).body.code, 'overloaded')));
        tally.held(await assertServed(stranger));
      },
    );
    tally.tried(answers.length);
    const refused = answers.filter(({ body }) => body.code === 'overloaded');
    assert.ok(refused.length > 0);
    for (const answer of refused) assertRefused(answer, 503, 'overloaded');
    assertTaken(answers);
    // The caller causes these refusals, so the log has no error for each.
    const logged = service.logLines.filter((line) => line.includes('GateFullError'));
    assert.deepEqual(logged, []);
    tally.held(answers.length + 1);
  },
);

scenario(
  'while all connections for work are in use, tokens are still checked and the probe answers',
  async (tally) => {
    const admins = [await signIn(service, ADMIN), await signIn(service, await superuser())];
    const answers = await under(
      'lock table service_accounts in access exclusive mode',
      () => admins.flatMap((admin) => times(16, () => admin.get('/api/v1/service-accounts'))),
      async () => {
        await untilWaiting(WORK);
        // Checked several times: after a lock timeout, the connection serves the next request.
        for (const path of [ME, '/health/ready', ME, '/health/ready', ME]) {
          assert.equal((await stranger.get(path)).status, 200, path);
          assert.ok((await lockWaiters()) <= WORK, 'work uses connections of the look-ups');
        }
      },
    );
    tally.tried(answers.length);
    assertTaken(answers);
    tally.held(3 + answers.length);
  },
);

scenario('reads that wait in the queue are judged by the permissions after the wait', async (tally) => {
  const user = await superuser();
  const client = await signIn(service, user);
  // More than one user may run at once (deps.ts).
  const [reads, extra] = [8, 4];
  const answers = await under(
    'lock table service_accounts in access exclusive mode',
    () => times(reads + extra, () => client.get('/api/v1/service-accounts')),
    async () => {
      await eventually(
        () => service.service.deps.turns.reads.stats().waiting >= extra || undefined,
        'some requests to wait for their turn',
      );
      // In SQL: the service may have no free connection for work.
      await service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [user.id]);
    },
  );
  tally.tried(answers.length);
  const refused = answers.filter(({ status }) => status === 401);
  assert.ok(refused.length >= extra, `${refused.length} were refused`);
  for (const answer of refused) assertRefused(answer, 401, 'token_revoked');
  assertTaken(answers.filter(({ status }) => status !== 401));
  tally.held(answers.length);
});

async function superuser(): Promise<{ id: string; email: string; password: string }> {
  const user = await createVerifiedUser(service);
  await service.sql('update users set is_superuser = true where id = $1', [user.id]);
  return user;
}

scenario('of many attempts that wait for a slot, only a few query the database at once', async (tally) => {
  const user = await createVerifiedUser(service);
  await service.sql(
    `insert into login_attempts (email, slots)
     select $1, jsonb_object_agg('elsewhere-' || n, extract(epoch from clock_timestamp()) + 60)
     from generate_series(1, 5) n on conflict (email) do update set slots = excluded.slots`,
    [user.email],
  );
  const asked = new Set<unknown>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function listening(this: pg.Client, ...args: unknown[]) {
    const { text, values } = args[0] as { text?: string; values?: unknown[] };
    // The values are the email and, in the lease, the slot of the attempt.
    if (text?.includes('insert into login_attempts') && values?.includes(user.email)) asked.add(values[1]);
    return (query as (...all: unknown[]) => unknown).apply(this, args);
  } as typeof query;
  try {
    const logins = times(40, () => service.client().login(user));
    await eventually(() => asked.size >= 1 || undefined, 'the first attempt');
    tally.held(await assertServed(stranger));
    assert.ok(asked.size <= 4, `${asked.size} attempts ask the database`);
    await service.sql("update login_attempts set slots = '{}' where email = $1", [user.email]);
    // An attempt that has waited for about ten seconds gets a 503.
    for (const { status, body, text } of await Promise.all(logins))
      assert.ok(status === 200 || body.code === 'overloaded', text);
  } finally {
    pg.Client.prototype.query = query;
  }
  tally.tried(40);
  tally.held(41);
});

scenario('queued requests of closed connections are not executed', async (tally) => {
  const client = await signIn(service, attacker);
  const { fields } = await rawCaller(client);
  const { hostname, port } = new URL(service.url);
  const changesOf = async (): Promise<number> =>
    (
      await service.sql("select from audit_logs where action = 'user_profile_updated' and actor_id = $1", [
        attacker.id,
      ])
    ).length;
  const before = await changesOf();
  const count = 60;
  const send = (n: number): Socket => {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => {});
    const body = JSON.stringify({ first_name: `Gone ${n}` });
    socket.write(ask('PUT', ME, `${fields}Content-Type: application/json\r\n`, body));
    return socket;
  };
  await under(
    `select from users where id = '${attacker.id}' for update`,
    () => [],
    async () => {
      const sockets = times(count, send);
      await untilWaiting(AT_WORK);
      // The first is answered after the others have arrived; the second after the service has noticed that they
      // disconnected.
      assert.equal((await stranger.get(ME)).status, 200);
      for (const socket of sockets) socket.destroy();
      assert.equal((await stranger.get(ME)).status, 200);
    },
  );
  // The user's next change runs after all that were accepted.
  const next = await client.put(ME, { first_name: 'Still here' });
  assert.equal(next.status, 200, next.text);
  tally.tried(count);
  const done = (await changesOf()) - before - 1;
  assert.ok(done <= AT_WORK, `${done} of ${count} changes were done for nobody`);
  tally.held(2);
});
