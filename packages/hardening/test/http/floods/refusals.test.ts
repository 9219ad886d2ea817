// Floods of refusals, each of which would write an audit entry: the entries are bounded, and other events are still
// recorded. It must not judge how fast the service is.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { createVerifiedUser, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { canary, exchange, newRequestId } from '@castellan/testing/http/raw';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { rawCaller } from '../caller.ts';
import { ask, forged, lock } from './fixture.ts';

const scenario = scenariosOf('http');
const faults = scenariosOf('faults');
const service = await startTestService({ after }, { TRUSTED_PROXIES: '127.0.0.1' });

// The entries that modules/audit/repeat-count.ts allows in a minute. A flood may cross into the next minute.
const AUDITED = 60;

/** Pipelines `each` messages on each connection. Returns the set of their statuses. */
async function flood(connections: number, each: number, message: (index: number) => string) {
  const all = await Promise.all(
    Array.from({ length: connections }, (_, index) =>
      exchange(service.url, message(index).repeat(each) + canary(newRequestId('flood'))),
    ),
  );
  const statuses = all.flatMap((answers) => answers.slice(0, -1).map(({ status }) => status));
  assert.equal(statuses.length, connections * each);
  return new Set(statuses);
}

const entriesOf = async (action: string, column: string, value: string) =>
  service.sql<{ marked: boolean }>(
    `select details ? 'more_left_out' as marked from audit_logs where action = $1 and ${column} = $2`,
    [action, value],
  );

/**
 * Checks that the log has the first entries of the flood, and one that marks the others as left out. Returns the number
 * of statements checked.
 */
async function assertBounded(action: string, column: string, value: string): Promise<number> {
  const entries = await entriesOf(action, column, value);
  assert.ok(entries.length >= AUDITED && entries.length <= 2 * AUDITED, `${entries.length} entries`);
  assert.ok(entries.some(({ marked }) => marked));
  return 2;
}

scenario(
  'a flood of CSRF refusals records the first of each minute, and needs no statement for the others',
  async (tally, t) => {
    const message = forged('X-Forwarded-For: 10.2.2.2\r\n');
    const each = rounds(100, 1_000);
    assert.deepEqual(await flood(10, each, () => message), new Set([403]));
    tally.tried(10 * each);
    tally.held(10 * each + (await assertBounded('csrf_refused', "details->>'address'", '10.2.2.2')));
    const before = (await entriesOf('csrf_refused', "details->>'address'", '10.2.2.2')).length;
    // A refusal that cannot be counted would be recorded. None is, so the service does not ask the database.
    const held = await lock(service.databaseUrl, 'rate_limits');
    t.after(held.release);
    assert.deepEqual(await flood(10, 20, () => message), new Set([403]));
    await held.release();
    tally.tried(200);
    assert.equal((await entriesOf('csrf_refused', "details->>'address'", '10.2.2.2')).length, before);
    tally.held(201);
  },
);

/** Exchanges refresh tokens `count` times, one after the other. */
async function refreshOften(client: TestClient, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const answer = await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
    assert.equal(answer.status, 200, answer.text);
    client.accessToken = answer.body.data.access_token;
    client.refreshToken = answer.body.data.refresh_token;
  }
}

scenario(
  'refusals of one account without permissions, however fast, suppress no event of another user',
  async (tally) => {
    const [flooder, other] = [await createVerifiedUser(service), await createVerifiedUser(service)];
    const { bearer } = await rawCaller(await signIn(service, flooder));
    const each = rounds(150, 1_500);
    const flooded = flood(20, each, () => ask('GET', '/api/v1/roles', bearer));
    const client = await signIn(service, other);
    client.cookies.delete('refresh_token');
    await refreshOften(client, 40);
    assert.deepEqual(await flooded, new Set([403]));
    tally.tried(20 * each + 41);
    assert.equal((await entriesOf('session_refreshed', 'actor_id::text', other.id)).length, 40);
    assert.equal((await entriesOf('login_succeeded', 'actor_id::text', other.id)).length, 1);
    tally.held(20 * each + 42 + (await assertBounded('permission_denied', 'actor_id::text', flooder.id)));
  },
);

faults(
  'while the audit log cannot be written, refusals from many networks crowd out no login event',
  async (tally, t) => {
    const user = await createVerifiedUser(service);
    const held = await lock(service.databaseUrl, 'audit_logs');
    t.after(held.release);
    tally.injected();
    // More than 1,000 entries wait: 17 of each connection, of which the instance admits 10 without counting them in the
    // database.
    const connections = 80;
    const flooded = flood(connections, 17, (index) => forged(`X-Forwarded-For: 10.3.${index}.1\r\n`));
    await eventually(async () => {
      const [row] = await service.sql<{ count: number }>(
        `select count(*)::int as count from rate_limits where key like 'audit|csrf_refused|10.3.%' and hits >= 6`,
      );
      return row?.count === connections || undefined;
    }, 'the flood to be counted');
    await signIn(service, user);
    await held.release();
    assert.deepEqual(await flooded, new Set([403]));
    tally.tried(connections * 17 + 1);
    await eventually(
      async () => (await entriesOf('login_succeeded', 'actor_id::text', user.id)).length === 1 || undefined,
      'the event of the login',
    );
    tally.held(connections * 17 + 1);
  },
);

faults('an event whose connection is cut during its write is in the audit log once', async (tally, t) => {
  for (let cuts = 0; cuts < rounds(2, 20); ) {
    const user = await createVerifiedUser(service);
    const held = await lock(service.databaseUrl, 'audit_logs');
    t.after(held.release);
    let isAnswered = false;
    const signedIn = signIn(service, user).then(() => (isAnswered = true));
    const isCut = await eventually(async () => {
      const cut = await service.sql<{ done: boolean }>(
        `select pg_terminate_backend(a.pid) as done from pg_stat_activity a join pg_locks l on l.pid = a.pid
         where l.relation = 'audit_logs'::regclass and not l.granted`,
      );
      if (cut.some(({ done }) => done)) return true;
      // On a busy machine the wait for the lock may end unnoticed, so the test tries again.
      return isAnswered ? false : undefined;
    }, 'the event to be on its way');
    if (isCut) {
      cuts += 1;
      tally.injected();
    }
    await held.release();
    await signedIn;
    tally.tried();
    await eventually(
      async () => (await entriesOf('login_succeeded', 'actor_id::text', user.id)).length === 1 || undefined,
      'the event',
    );
    tally.held();
  }
});
