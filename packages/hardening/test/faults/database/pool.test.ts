// Few or blocked connections, timeouts, and a database that refuses writes or connections: refusals are clear, no
// change is half done, and the service recovers by itself. It must not hold a lock longer than the service's own
// timeouts.
import assert from 'node:assert/strict';
import { suite, type TestContext } from 'node:test';
import { atEnd, until } from '@castellan/embedded-postgres/testing';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { volley } from '@castellan/testing/volley';
import {
  assertUnavailable,
  checkAfter,
  cutConnections,
  hold,
  inTime,
  NO_HANG_MS,
  OWN_USER,
  openBehindRelay,
  openOnOwnServer,
  openTarget,
  untilReady,
  untilRefused,
  untilSucceeded,
  withClient,
} from './fixture.ts';
import { type LoadTarget, startLoad } from './load.ts';

const scenario = scenariosOf('faults');

type Wanted = readonly [method: 'GET' | 'POST' | 'PUT', path: string, json?: unknown];

/** Creates accounts as the administrator. */
async function makePeople({ service }: LoadTarget, count: number): Promise<{ id: string; email: string }[]> {
  const admin = await signIn(service, ADMIN);
  const people: { id: string; email: string }[] = [];
  for (let index = 0; index < count; index += 1) {
    const email = newEmail('held');
    const names = { first_name: 'Ada', last_name: 'Lovelace' };
    const made = await admin.post('/api/v1/users', { email, password: PASSWORD, verified: true, ...names });
    assert.equal(made.status, 201, made.text);
    people.push({ id: made.body.data.id, email });
  }
  return people;
}

async function onDatabase(
  t: TestContext,
  url: string,
  set: string,
  reset: string,
): Promise<() => Promise<void>> {
  const name = new URL(url).pathname.slice(1);
  const run = (what: string): Promise<unknown> =>
    withClient(url, async (client) => {
      await client.query('set default_transaction_read_only = off');
      await client.query(`alter database "${name}" ${what}`);
    });
  await run(set);
  let undone: Promise<unknown> | undefined;
  const undo = async (): Promise<void> => {
    undone ??= run(reset);
    await undone;
  };
  atEnd(t, undo);
  return undo;
}

suite('pool', { concurrency: 2 }, () => {
  scenario(
    'two connections, the minimum, serve every kind of request, also sixteen at once',
    async (tally, t) => {
      const target = await openTarget(t, { DATABASE_POOL_SIZE: '2' });
      const admin = await signIn(target.service, ADMIN);
      const people = await makePeople(target, 8);
      const user_ids = people.map(({ id }) => id);
      for (let round = 0; round < rounds(2, 12); round += 1) {
        const account = { password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
        const fire = async (wanted: readonly Wanted[]): Promise<Answer[]> => {
          tally.injected();
          const answers = await inTime(
            'a volley on two connections',
            volley(
              wanted.map(([method, path, json], index) => ({
                client: admin.at(index % 2 ? target.service.url : target.twin.url),
                method,
                path: `/api/v1${path}`,
                ...(json === undefined ? {} : { json }),
                headers: path === '/auth/login' ? { authorization: null } : {},
              })),
            ),
          );
          for (const [index, { status, text }] of answers.entries())
            assert.ok(status < 300, `${wanted[index]?.slice(0, 2)}: ${status} ${text}`);
          tally.tried(wanted.length);
          tally.held(wanted.length);
          return answers;
        };
        const changes: ((n: number) => Wanted)[] = [
          (n) => ['POST', '/auth/login', { email: people[n]?.email, password: PASSWORD }],
          () => ['POST', '/auth/register', { email: newEmail('least'), ...account }],
          (n) => ['POST', '/auth/password-reset/request', { email: people[n]?.email }],
          (n) => ['POST', '/roles', { name: `least ${round} ${n}` }],
          () => ['POST', '/users', { email: newEmail('least'), ...account }],
          (n) => ['PUT', `/users/${user_ids[n]}`, { first_name: `Put ${round} ${n}` }],
          (n) => ['PUT', '/users/bulk-update', { user_ids, updates: { last_name: `Bulk ${round} ${n}` } }],
          (n) => ['POST', '/role-groups/bulk', [{ name: `a ${round} ${n}` }, { name: `b ${round} ${n}` }]],
        ];
        // Four of a kind at each instance. If one needed a second connection, all would wait for each other.
        for (const change of changes) await fire(user_ids.map((_, n) => change(n)));
        const [refreshed] = await fire([
          ['POST', '/auth/refresh', { refresh_token: admin.refreshToken }],
          ...user_ids.map((_, n): Wanted => ['POST', '/roles', { name: `mixed ${round} ${n}` }]),
          ['PUT', '/users/bulk-update', { user_ids, updates: { last_name: `Mixed ${round}` } }],
          ['POST', '/users', { email: newEmail('least'), ...account }],
          ['GET', '/users/me'],
          ['GET', '/dashboard'],
          ['GET', '/audit-logs'],
        ]);
        admin.refreshToken = refreshed?.body.data.refresh_token;
        admin.accessToken = refreshed?.body.data.access_token;
      }
      const load = await startLoad(t, target, tally);
      await checkAfter(target, load, tally);
      assert.equal(load.refused, 0, 'two connections are enough for sixteen clients');
    },
  );

  scenario(
    'while a lock blocks every connection, requests and probe are refused clearly and soon, and succeed after its release',
    async (tally, t) => {
      const target = await openTarget(t, { DATABASE_POOL_SIZE: '3' });
      const load = await startLoad(t, target, tally);
      for (let round = 0; round < rounds(1, 5); round += 1) {
        await untilSucceeded(load, 40);
        const held = await hold(t, target.service.databaseUrl, 'lock table users in access exclusive mode');
        tally.injected();
        await held.waiting(3);
        load.setOutage(true);
        await inTime('the first refusals', untilRefused(load, 8));
        await until('the probe tells', async () => {
          const ready = await inTime('the probe', target.service.client().get('/health/ready'));
          return ready.status === 503 && Number(ready.headers.get('retry-after')) >= 1;
        });
        tally.held();
        load.setOutage(false);
        await held.release();
        await untilReady(target);
      }
      await checkAfter(target, load, tally);
    },
  );

  scenario(
    'a change that waits too long for a lock, or runs too long, is refused with 503 and not done',
    async (tally, t) => {
      const target = await openTarget(t);
      const admin = await signIn(target.service, ADMIN);
      const [person] = await makePeople(target, 1);
      const path = `/api/v1/users/${person?.id}`;
      const slow = `create function dawdle() returns trigger language plpgsql as
        $$ begin perform pg_sleep(60); return new; end $$;
        create trigger dawdle before insert on roles for each row execute function dawdle()`;
      await target.service.sql(slow);
      const held = await hold(
        t,
        target.service.databaseUrl,
        `select from users where id = '${person?.id}' for update`,
      );
      tally.injected(2);
      const load = await startLoad(t, target, tally);
      const answers = await inTime(
        'the refusals',
        Promise.all([
          admin.put(path, { first_name: 'Undone' }),
          admin.at(target.twin.url).put(path, { role_id: [] }),
          admin.put('/api/v1/users/bulk-update', {
            user_ids: [person?.id],
            updates: { first_name: 'Undone' },
          }),
          admin.post('/api/v1/roles', { name: 'Undone' }),
        ]),
      );
      for (const answer of answers) assertUnavailable(answer);
      // Of requests that failed of one cause, an instance logs only the first as an error.
      const logs = [...target.service.logLines, ...target.twin.logLines];
      for (const cause of ['lock', 'statement'])
        assert.ok(
          logs.some((line) => line.includes(`due to ${cause} timeout`)),
          cause,
        );
      await held.release();
      // The server has also ended its statement, so nothing blocks the next change.
      await inTime('the repair', target.service.sql('drop trigger dawdle on roles'));
      const [after] = await target.service.sql<{ first_name: string; roles: number }>(
        `select first_name, (select count(*)::int from roles where name = 'Undone') as roles
         from users where id = $1`,
        [person?.id],
      );
      assert.deepEqual(after, { first_name: 'Ada', roles: 0 });
      assert.equal((await admin.put(path, { first_name: 'Done' })).status, 200);
      tally.tried(answers.length + 1);
      tally.held(2 * answers.length + 3);
      await checkAfter(target, load, tally);
    },
  );

  scenario(
    'the database ends a transaction whose instance went silent, and others get its locks',
    async (tally, t) => {
      const { direct, relay, service } = await openBehindRelay(t);
      const [person] = await makePeople({ service: direct, twin: direct }, 1);
      const path = `/api/v1/users/${person?.id}`;
      const [silent, admin] = [await signIn(service, ADMIN), await signIn(direct, ADMIN)];
      const [role] = await direct.sql<{ id: string }>("select id from roles where name = 'Manager'");
      // After the user's row, the change locks the role, and waits for it up to 5 s.
      const held = await hold(t, direct.databaseUrl, `select from roles where id = '${role?.id}' for update`);
      const lost = silent.put(path, { first_name: 'Silent', role_id: [role?.id] });
      await held.waiting(1);
      relay.silence();
      tally.injected();
      await held.release();
      await until(
        'the locks are free',
        async () => {
          tally.tried();
          return (await admin.put(path, { last_name: 'Loud' })).status === 200;
        },
        NO_HANG_MS,
      );
      assertUnavailable(await inTime('the silent request', lost));
      const [after] = await direct.sql(
        `select first_name, last_name,
           (select count(*)::int from user_roles where user_id = id and role_id = $2) as roles
         from users where id = $1`,
        [person?.id, role?.id],
      );
      assert.deepEqual(after, { first_name: 'Ada', last_name: 'Loud', roles: 0 });
      tally.held(3 + (await assertSound(direct)));
    },
  );

  scenario(
    'a read-only database refuses changes clearly, and its connections are discarded once it is writable',
    async (tally, t) => {
      const target = await openTarget(t);
      const load = await startLoad(t, target, tally);
      for (let round = 0; round < rounds(1, 5); round += 1) {
        await untilSucceeded(load, 20);
        const undo = await onDatabase(
          t,
          target.service.databaseUrl,
          'set default_transaction_read_only = on',
          'reset default_transaction_read_only',
        );
        await cutConnections(target.service);
        tally.injected();
        await untilRefused(load, 30);
        await undo();
        // The test cuts no connections here: the service itself must discard the old ones.
        await untilSucceeded(load, 40);
        const refusals = load.refused;
        await untilSucceeded(load, 200);
        assert.ok(load.refused - refusals < 20, 'some connections still refuse to write');
        tally.held();
      }
      await checkAfter(target, load, tally);
    },
  );

  scenario(
    'the service waits for a server that accepts no more connections, and reconnects when it accepts them again',
    async (tally, t) => {
      const target = await openOnOwnServer(t);
      const load = await startLoad(t, target, tally);
      for (let round = 0; round < rounds(2, 8); round += 1) {
        await untilSucceeded(load, 40);
        // SQLSTATE 53300, too_many_connections, for every new one; 1 leaves the service a single connection.
        const places = round % 2;
        await target.service.sql(`alter role ${OWN_USER} connection limit ${places}`);
        await cutConnections(target.service);
        tally.injected();
        if (places === 0) load.setOutage(true);
        await untilRefused(load, 30);
        load.setOutage(false);
        await target.service.sql(`alter role ${OWN_USER} connection limit -1`);
        await untilReady(target);
      }
      await checkAfter(target, load, tally);
    },
  );
});
