// Floods of refusals: audit entries that anybody can provoke. They are bounded, and take nothing from anybody else's.
// It must not judge how fast the service is.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { TestClient } from '../../client.ts';
import { createVerifiedUser, eventually, signIn, startTestService } from '../../harness.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import { rawCaller } from './caller.ts';
import { ask, forged, lock } from './flooding.ts';
import { canary, exchange, newRequestId } from './raw.ts';

const scenario = scenariosOf('http');
const faults = scenariosOf('faults');
const service = await startTestService({ after }, { TRUSTED_PROXIES: '127.0.0.1' });

// What modules/audit/refusal-count.ts lets in a minute. A flood may see the turn of one.
const AUDITED = 60;

/** Statuses of this many pipelined requests, spread over connections that end behind the last of theirs. */
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

/** The first of the flood, and the word that there was more. Returns how many statements held. */
async function assertBounded(action: string, column: string, value: string): Promise<number> {
  const entries = await entriesOf(action, column, value);
  assert.ok(entries.length >= AUDITED && entries.length <= 2 * AUDITED, `${entries.length} entries`);
  assert.ok(entries.some(({ marked }) => marked));
  return 2;
}

scenario(
  'a flood of CSRF refusals leaves the first of each minute in the log, and asks the database for no more',
  async (tally, t) => {
    const message = forged('X-Forwarded-For: 10.2.2.2\r\n');
    const each = rounds(100, 1_000);
    assert.deepEqual(await flood(10, each, () => message), new Set([403]));
    tally.tried(10 * each);
    tally.held(10 * each + (await assertBounded('csrf_refused', "details->>'address'", '10.2.2.2')));
    const before = (await entriesOf('csrf_refused', "details->>'address'", '10.2.2.2')).length;
    // What cannot be counted is recorded: nothing is, because nothing is asked.
    const held = await lock(service.databaseUrl, 'rate_limits');
    t.after(held.release);
    assert.deepEqual(await flood(10, 20, () => message), new Set([403]));
    await held.release();
    tally.tried(200);
    assert.equal((await entriesOf('csrf_refused', "details->>'address'", '10.2.2.2')).length, before);
    tally.held(201);
  },
);

/** Every exchange of a refresh token, one after the other. */
async function refreshOften(client: TestClient, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const answer = await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
    assert.equal(answer.status, 200, answer.text);
    client.accessToken = answer.body.data.access_token;
    client.refreshToken = answer.body.data.refresh_token;
  }
}

scenario(
  'an account without rights that is refused as fast as it can ask takes no event from another user',
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
  'while the log cannot be written, refusals of strangers from everywhere crowd out no event of a login',
  async (tally, t) => {
    const user = await createVerifiedUser(service);
    const held = await lock(service.databaseUrl, 'audit_logs');
    t.after(held.release);
    tally.injected();
    // More than 1,000 wait at a time: 16 of each connection, and each network has 60 entries.
    const connections = 80;
    const flooded = flood(connections, 17, (index) => forged(`X-Forwarded-For: 10.3.${index}.1\r\n`));
    await eventually(async () => {
      const [row] = await service.sql<{ count: number }>(
        `select count(*)::int as count from rate_limits where key like 'audit|csrf_refused|10.3.%' and hits >= 16`,
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

faults('an event whose connection is cut while it is written stands in the log, once', async (tally, t) => {
  for (let count = 0; count < rounds(2, 20); count += 1) {
    const user = await createVerifiedUser(service);
    const held = await lock(service.databaseUrl, 'audit_logs');
    t.after(held.release);
    const signedIn = signIn(service, user);
    await eventually(async () => {
      const cut = await service.sql<{ done: boolean }>(
        `select pg_terminate_backend(a.pid) as done from pg_stat_activity a join pg_locks l on l.pid = a.pid
         where l.relation = 'audit_logs'::regclass and not l.granted`,
      );
      return cut.some(({ done }) => done) || undefined;
    }, 'the event to be on its way');
    tally.injected();
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
