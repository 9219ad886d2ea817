// The sessions of all users, for administrators: the list with its filters and pages, and ending sessions by a filter.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer, Body, TestClient } from '@castellan/testing/client';
import { ADMIN, eventually, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { countStatements } from '@castellan/testing/statements';
import { addPerson, addRole, eventsOf, isSignedIn, signedInWith } from '@castellan/testing/users/people';
import pg from 'pg';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const PATH = '/api/v1/sessions';

type State = { address?: string | null; at?: string; usedAt?: string; expired?: boolean; revoked?: boolean };

/** Inserts a session. Times are as PostgreSQL parses them. */
async function addSession(userId: string, state: State = {}): Promise<string> {
  const id = randomUUID();
  const at = state.at ?? 'now';
  await service.sql(
    `insert into sessions (id, user_id, origin_address, user_agent, created_at, last_used_at, expires_at, revoked_at)
     values ($1, $2, $3, 'Lynx/2.9', $4::timestamptz, $5::timestamptz,
       now() + make_interval(days => $6), case when $7 then now() end)`,
    [
      id,
      userId,
      state.address === undefined ? '127.0.0.1' : state.address,
      at,
      state.usedAt ?? at,
      state.expired ? -1 : 7,
      state.revoked ?? false,
    ],
  );
  return id;
}

async function list(query = '', client: TestClient = admin): Promise<Body> {
  const answer = await client.get(`${PATH}?${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}
const idsOf = ({ data }: Body): string[] => data.map(({ id }: { id: string }) => id);

async function allPages(query: string): Promise<string[]> {
  const seen: string[] = [];
  for (let cursor = ''; ; ) {
    const body = await list(`${query}${cursor}`);
    seen.push(...idsOf(body));
    if (body.next_cursor === null) return seen;
    assert.ok(body.data.length > 0, 'a page before the last one is not empty');
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`;
  }
}

const end = (query: string, client: TestClient = admin): Promise<Answer> => client.delete(`${PATH}?${query}`);
const isLive = async (id: string): Promise<boolean> =>
  (
    await service.sql(
      `select from sessions s join users u on u.id = s.user_id where s.id = $1
       and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)`,
      [id],
    )
  ).length === 1;

test('a session is shown with its user, and the one of the request is marked', async () => {
  const person = await addPerson(service, { firstName: 'Grace', lastName: 'Hopper' });
  const client = await signIn(service, person);
  const { data, total } = await list(`user_id=${person.id}`);
  assert.equal(total, 1);
  assert.deepEqual(Object.keys(data[0]).sort(), [
    'created_at',
    'current',
    'expires_at',
    'id',
    'last_address',
    'last_used_at',
    'origin_address',
    'unusual_network',
    'user',
    'user_agent',
  ]);
  assert.deepEqual(data[0].user, {
    id: person.id,
    email: person.email,
    first_name: 'Grace',
    last_name: 'Hopper',
  });
  assert.equal(data[0].current, false);
  assert.deepEqual(
    (await client.get('/api/v1/auth/sessions')).body.data,
    [{ ...data[0], current: true, user: undefined }].map(({ user: _user, ...session }) => session),
  );
  const own = (await list()).data.filter(({ current }: { current: boolean }) => current);
  assert.deepEqual(
    own.map(({ user }: { user: { email: string } }) => user.email),
    [ADMIN.email],
  );
});

test('only live sessions are listed and counted', async () => {
  const name = newEmail('live').split('@')[0];
  const [person, idle, former] = [
    await addPerson(service, { email: `${name}@example.com` }),
    await addPerson(service, { email: `${name}.idle@example.com` }),
    await addPerson(service, { email: `${name}.former@example.com` }),
  ];
  const live = await addSession(person.id);
  for (const state of [{ expired: true }, { revoked: true }]) await addSession(person.id, state);
  await addSession(idle.id);
  await addSession(former.id);
  await service.sql('update users set is_active = false where id = $1', [idle.id]);
  await service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [former.id]);
  const body = await list(`search=${name}`);
  assert.deepEqual([idsOf(body), body.total], [[live], 1]);
});

test('pages contain every session once, newest first, with the exact total, also those of the same time', async () => {
  const { id: userId } = await addPerson(service);
  const moment = '2026-03-04T05:06:07.123456Z';
  for (let made = 0; made < 9; made += 1) await addSession(userId, { at: moment });
  for (let made = 0; made < 4; made += 1)
    await addSession(userId, { at: `2026-03-04T05:06:07.12345${made}Z` });
  const expected = await service.sql<{ id: string }>(
    'select id from sessions where user_id = $1 order by created_at desc, id desc',
    [userId],
  );
  for (const size of [1, 4, 12, 13, 14]) {
    assert.deepEqual(
      await allPages(`user_id=${userId}&size=${size}`),
      expected.map(({ id }) => id),
      `size ${size}`,
    );
    assert.equal((await list(`user_id=${userId}&size=${size}`)).total, 13);
  }
  const everyone = await allPages('size=5');
  assert.equal(everyone.length, (await list('size=1')).total);
  assert.equal(new Set(everyone).size, everyone.length);
});

test('a list of more matches than are counted has the same order, and says that there are more', async () => {
  const { id: userId } = await addPerson(service);
  await service.sql(
    `insert into sessions (id, user_id, origin_address, created_at, last_used_at, expires_at)
     select gen_random_uuid(), $1, '198.18.0.' || n % 200, now() - make_interval(secs => n / 3), now(), now() + interval '1 day'
     from generate_series(1, 10100) n`,
    [userId],
  );
  const query = 'address=198.18.0.0/24&size=100';
  const first = await list(query);
  assert.deepEqual([first.total, first.total_is_estimate], [10_000, true]);
  const second = await list(`${query}&cursor=${first.next_cursor}`);
  const expected = await service.sql<{ id: string }>(
    'select id from sessions where user_id = $1 order by created_at desc, id desc limit 200',
    [userId],
  );
  assert.deepEqual(
    [...idsOf(first), ...idsOf(second)],
    expected.map(({ id }) => id),
  );
  await service.sql('delete from sessions where user_id = $1', [userId]);
});

test('each filter finds exactly what it names, and filters combine', async () => {
  const { id: userId, email } = await addPerson(service, { firstName: 'Zenobia', lastName: "O'Filter" });
  const [a, b, c, d] = [
    await addSession(userId, { address: '203.0.113.7', at: '2026-01-04T00:00:00Z' }),
    await addSession(userId, { address: '203.0.113.200', at: '2026-01-03T00:00:00Z' }),
    await addSession(userId, { address: '2001:db8::7', at: '2026-01-02T00:00:00Z' }),
    await addSession(userId, { address: null, at: '2026-01-01T00:00:00Z', usedAt: '2026-01-05T00:00:00Z' }),
  ];
  // Text that PostgreSQL reads as no address.
  await addSession((await addPerson(service)).id, { address: 'elsewhere' });
  const cases: [string, string[]][] = [
    ['', [a, b, c, d]],
    ['address=203.0.113.7', [a]],
    ['address=203.0.113.7/32', [a]],
    ['address=%20::ffff:203.0.113.7%20', [a]],
    ['address=203.0.113.0/24', [a, b]],
    ['address=203.0.113.129/25', [b]],
    ['address=::ffff:203.0.113.0/120', [a, b]],
    ['address=0.0.0.0/0', [a, b]],
    ['address=2001:DB8:0::/32', [c]],
    ['address=2001:db8::7', [c]],
    ['address=::/0', [c]],
    ['address=', [a, b, c, d]],
    ['older_than=2026-01-03T00:00:00Z', [c]],
    ['older_than=2026-01-03T00:00:00.001Z', [b, c]],
    [`older_than=${encodeURIComponent('2026-01-04T01:00:00+01:00')}`, [b, c]],
    ['older_than=2026-01-06T00:00:00Z', [a, b, c, d]],
    ['search=zenobia', [a, b, c, d]],
    [`search=${encodeURIComponent("ia o'filt")}`, [a, b, c, d]],
    [`search=${encodeURIComponent(email.toUpperCase())}`, [a, b, c, d]],
    [`search=${userId.toUpperCase()}`, [a, b, c, d]],
    [`search=${randomUUID()}`, []],
    ['search=%25', []],
    ['search=%20', [a, b, c, d]],
    ['search=zenobia&address=203.0.113.0/24&older_than=2026-01-04T00:00:00Z', [b]],
  ];
  for (const [query, expected] of cases) {
    const body = await list(`user_id=${userId.toUpperCase()}&${query}`);
    assert.deepEqual([idsOf(body), body.total], [expected, expected.length], query);
  }
  assert.deepEqual(idsOf(await list('search=zenobia')), [a, b, c, d]);
  assert.deepEqual((await list(`user_id=${randomUUID()}`)).data, []);
});

test('an invalid filter is 400 for an id and 422 for the rest, in the list and when ending', async () => {
  for (const method of ['GET', 'DELETE']) {
    assertRefused(await admin.request(method, `${PATH}?user_id=x`), 400, 'invalid_id');
    for (const query of [
      'address=example.com',
      'address=203.0.113',
      'address=203.0.113.0/33',
      'address=::ffff:203.0.113.0/90',
      'address=fe80::1%25eth0',
      'older_than=yesterday',
      'older_than=2026-02-30T00:00:00Z',
      `search=${'x'.repeat(251)}`,
    ])
      assertRefused(await admin.request(method, `${PATH}?${query}`), 422, 'validation_failed');
  }
  for (const query of ['size=0', 'size=101', 'cursor=x', 'cursor='])
    assertRefused(await admin.get(`${PATH}?${query}`), 422, 'validation_failed');
});

test('reading requires session.read, ending session.revoke', async () => {
  const { client: reader } = await signedInWith(service, 'session.read', 'users.update');
  const { client: ender } = await signedInWith(service, 'session.revoke');
  const { id } = await addPerson(service);
  const session = await addSession(id);
  assert.equal((await reader.get(PATH)).status, 200);
  assertRefused(await ender.get(PATH), 403, 'permission_denied');
  assertRefused(await reader.delete(`${PATH}/${session}`), 403, 'permission_denied');
  assertRefused(await end(`user_id=${id}`, reader), 403, 'permission_denied');
  assert.ok(await isLive(session));
  assert.equal((await ender.delete(`${PATH}/${session}`)).status, 200);
});

test('an ended session ends at its next request, with an entry in the audit log; what is not live is 404', async () => {
  const person = await addPerson(service);
  const [first, second] = [await signIn(service, person), await signIn(service, person)];
  const [newest, oldest] = idsOf(await list(`user_id=${person.id}`));
  const answer = await admin.delete(`${PATH}/${oldest}`);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual([await isSignedIn(first), await isSignedIn(second)], [false, true]);
  const [event] = await eventsOf(service, answer);
  assert.deepEqual([event?.action, event?.resource_id], ['session_revoked', person.id]);
  assert.equal(event?.details.session_id, oldest);
  for (const id of [oldest, randomUUID()])
    assertRefused(await admin.delete(`${PATH}/${id}`), 404, 'session_not_found');
  await admin.put(`/api/v1/users/${person.id}`, { is_active: false });
  assertRefused(await admin.delete(`${PATH}/${newest}`), 404, 'session_not_found');
});

test('sessions that match are ended, no others, with one audit entry for each user', async () => {
  const people = [await addPerson(service), await addPerson(service)];
  const [one, other] = people.map(({ id }) => id) as [string, string];
  const matching = [
    await addSession(one, { address: '198.51.100.1', at: '2026-01-01' }),
    await addSession(one, { address: '198.51.100.2', at: '2026-01-02' }),
    await addSession(other, { address: '198.51.100.3' }),
  ];
  const left = await addSession(one, { address: '198.51.101.1' });
  const query = 'address=198.51.100.0/24';
  assert.deepEqual(idsOf(await list(query)).sort(), matching.toSorted());
  const answer = await end(query);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.body.data, { sessions: 3, users: 2 });
  assert.equal(answer.body.message, 'Ended 3 sessions of 2 users.');
  for (const id of matching) assert.equal(await isLive(id), false);
  assert.ok(await isLive(left));
  const events = await eventsOf(service, answer);
  assert.deepEqual(
    new Map(events.map(({ resource_id, details }) => [resource_id, details.session_ids])),
    new Map([
      [one, [matching[1], matching[0]]],
      [other, [matching[2]]],
    ]),
  );
  assert.deepEqual([...new Set(events.map(({ details }) => details.reason))], ['administrator']);
  const again = await end(query);
  assert.deepEqual([again.status, again.body.data], [200, { sessions: 0, users: 0 }]);
  assert.deepEqual(await eventsOf(service, again), []);
});

test('ending requires a filter, and an empty one is none', async () => {
  for (const query of ['', 'search=', 'search=%20%20', 'address=']) {
    const answer = await end(query);
    assertRefused(answer, 422, 'validation_failed');
    assert.match(answer.body.detail, /at least one filter: user_id, address, search, older_than/);
  }
  assert.ok(await isSignedIn(admin));
});

test('a misspelt filter is refused by its name, because without it more sessions would end', async () => {
  const person = await addPerson(service);
  const id = await addSession(person.id, { address: '192.0.2.77' });
  for (const misspelt of ['adress=192.0.2.1', 'older-than=2020-01-01T00:00:00Z', 'size=10']) {
    const answer = await end(`user_id=${person.id}&${misspelt}`);
    assertRefused(answer, 422, 'validation_failed');
    assert.deepEqual(
      answer.body.errors.map(({ field, code }: { field: string; code: string }) => [field, code]),
      [[`query.${misspelt.split('=')[0]}`, 'unknown_name']],
    );
  }
  assert.equal(
    (await service.sql('select from sessions where id = $1 and revoked_at is null', [id])).length,
    1,
  );
});

test('one account that the caller may not act on keeps every session, and the refusal names it', async () => {
  const { client } = await signedInWith(service, 'session.revoke');
  const address = '192.0.2.44';
  const customer = await addSession((await addPerson(service)).id, { address });
  const boss = await addPerson(service, { roles: [await addRole(service, 'role.delete')] });
  const ofBoss = await addSession(boss.id, { address });
  const refused = await end(`address=${address}`, client);
  assertRefused(refused, 403, 'privilege_escalation');
  assert.equal(refused.body.errors.length, 1);
  assert.match(refused.body.errors[0].message, new RegExp(boss.id));
  await service.sql('update users set is_superuser = true where id = $1', [boss.id]);
  assertRefused(await end(`address=${address}`, client), 403, 'superuser_required');
  assert.deepEqual([await isLive(customer), await isLive(ofBoss)], [true, true]);
  assert.equal((await end(`address=${address}`)).body.data.sessions, 2);
});

test('callers may end their own sessions by a filter', async () => {
  const { client, person } = await signedInWith(service, 'session.revoke', 'role.delete');
  assert.equal((await end(`user_id=${person.id}`, client)).body.data.sessions, 1);
  assert.equal(await isSignedIn(client), false);
});

test('more than 10,000 sessions, or sessions of more than 1,000 users, are refused and stay', async () => {
  const { id: userId } = await addPerson(service);
  await service.sql(
    `insert into sessions (id, user_id, origin_address, expires_at)
     select gen_random_uuid(), $1, '100.64.0.1', now() + interval '1 day' from generate_series(1, 10001)`,
    [userId],
  );
  const many = await end(`user_id=${userId}`);
  assertRefused(many, 422, 'too_many_matches');
  assert.match(
    many.body.detail,
    /More than 10,000 sessions match.*at most 10,000 sessions of at most 1,000 users/,
  );
  await service.sql('delete from sessions where id = (select id from sessions where user_id = $1 limit 1)', [
    userId,
  ]);
  assert.deepEqual((await end(`user_id=${userId}`)).body.data, { sessions: 10_000, users: 1 });

  await service.sql(`
    with people as (
      insert into users (id, email, first_name, last_name)
      select gen_random_uuid(), 'crowd-' || n || '@example.com', 'Crowd', '' from generate_series(1, 1001) n returning id)
    insert into sessions (id, user_id, expires_at) select gen_random_uuid(), id, now() + interval '1 day' from people`);
  const crowd = await end('search=crowd-');
  assertRefused(crowd, 422, 'too_many_matches');
  assert.match(crowd.body.detail, /Sessions of 1,001 users match/);
  assert.equal((await list('search=crowd-&size=1')).total, 1_001);
  assert.equal((await end('search=crowd-1001')).body.data.users, 1);
  assert.deepEqual((await end('search=crowd-')).body.data, { sessions: 1_000, users: 1_000 });
});

test('ending costs the same statements for one user and for many', async () => {
  const cost = async (users: number, address: string): Promise<number> => {
    for (let made = 0; made < users; made += 1) await addSession((await addPerson(service)).id, { address });
    return countStatements(service, () => end(`address=${address}`));
  };
  await cost(1, '192.0.2.61');
  assert.equal(await cost(20, '192.0.2.62'), await cost(1, '192.0.2.63'));
});

test('a session that is used while the request waits for it is no longer older', async () => {
  const { id: userId } = await addPerson(service);
  const session = await addSession(userId, { at: '2026-01-01' });
  const refreshing = new pg.Client(service.databaseUrl);
  await refreshing.connect();
  try {
    await refreshing.query('begin');
    await refreshing.query('update sessions set last_used_at = now() where id = $1', [session]);
    const ending = end(`user_id=${userId}&older_than=2026-02-01T00:00:00Z`);
    await eventually(async () => {
      const waiting = await service.sql(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return waiting.length > 0 ? true : undefined;
    }, 'the request to wait for the row');
    await refreshing.query('commit');
    assert.deepEqual((await ending).body.data, { sessions: 0, users: 0 });
    assert.ok(await isLive(session));
  } finally {
    await refreshing.end();
  }
});
