// GET /users, /users/list and /users/order_by_created_at.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, PASSWORD, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { countStatements } from '@castellan/testing/statements';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const LISTS = ['/api/v1/users', '/api/v1/users/list', '/api/v1/users/order_by_created_at'];
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);

const find = (client: TestClient, path: string, query: Record<string, string | number | boolean>) => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) parameters.append(name, String(value));
  return client.get(`${path}?${parameters}`);
};
const idsOf = (answer: Answer): string[] => answer.body.data.items.map((one: { id: string }) => one.id);
const search = async (text: string): Promise<string[]> =>
  idsOf(await find(admin, '/api/v1/users', { search: text }));

/** Starts a service with `count` users besides the first superuser, some with the same creation time. By id, they come after that one. */
async function serviceWithUsers(count: number): Promise<{ service: TestService; admin: TestClient }> {
  const own = await startTestService({ after });
  await own.sql(
    `insert into users (id, email, first_name, last_name, verified, is_active, created_at)
     select overlay(gen_random_uuid()::text placing 'f' from 1)::uuid, 'u' || n || '@example.net', 'F' || n, chr(97 + n % 7) || 'X', n % 3 = 0, n % 2 = 0,
            now() - interval '1 day' + interval '1 minute' * (n / 5)
     from generate_series(1, $1::integer) n`,
    [count],
  );
  return { service: own, admin: await signIn(own, ADMIN) };
}

test('every list returns items, total, page, size and pages; beyond the end it is empty with the correct total', async () => {
  const { admin: boss } = await serviceWithUsers(24);
  for (const path of LISTS) {
    const first = await boss.get(path);
    assert.equal(first.status, 200, first.text);
    const { items, ...numbers } = first.body.data;
    assert.deepEqual(numbers, { total: 25, page: 1, size: 50, pages: 1 });
    assert.equal(items.length, 25);
    const last = await find(boss, path, { page: 3, size: 10 });
    assert.deepEqual([last.body.data.items.length, last.body.data.pages], [5, 3]);
    for (const page of [4, 1_000_000_000]) {
      const beyond = await find(boss, path, { page, size: 10 });
      assert.deepEqual(beyond.body.data, { items: [], total: 25, page, size: 10, pages: 3 });
    }
  }
});

test('page or size out of range, or of a wrong type, is 422 and names the field', async () => {
  for (const path of LISTS)
    for (const [query, field] of [
      [{ page: 0 }, 'query.page'],
      [{ size: 101 }, 'query.size'],
      [{ size: 0 }, 'query.size'],
      [{ page: 'x' }, 'query.page'],
      [{ sort: 'password_hash' }, 'query.sort'],
      [{ is_active: 'perhaps' }, 'query.is_active'],
      [{ status: 'closed' }, 'query.status'],
      [{ include: 'everything' }, 'query.include'],
    ] as const) {
      const answer = await find(admin, path, query);
      assert.deepEqual([answer.status, answer.body.errors[0].field], [422, field], JSON.stringify(query));
    }
  assert.equal((await find(admin, LISTS[0]!, { role_id: 'x' })).status, 400);
});

test('the pages of every order contain each user once, in both directions, with and without filters', async () => {
  const { service: own, admin: boss } = await serviceWithUsers(59);
  const keys = {
    created_at: (one: { created_at: string }) => one.created_at,
    email: (one: { email: string }) => one.email,
    last_name: (one: { last_name: string }) => one.last_name.toLowerCase(),
    id: (one: { id: string }) => one.id,
  };
  for (const filter of [{}, { is_active: true }, { search: 'example.net' }])
    for (const [field, keyOf] of Object.entries(keys))
      for (const sign of ['', '-']) {
        const items: never[] = [];
        let pages = 1;
        for (let page = 1; page <= pages; page += 1) {
          const { data } = (await find(boss, LISTS[1]!, { ...filter, sort: sign + field, page, size: 7 }))
            .body;
          items.push(...(data.items as never[]));
          pages = data.pages;
        }
        assert.equal(new Set(items.map((one: { id: string }) => one.id)).size, items.length);
        const pairs = items.map((one: { id: string }) => [keyOf(one as never), one.id] as const);
        const sorted = pairs.toSorted((a, b) => (a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]) ? -1 : 1));
        assert.deepEqual(pairs, sign === '-' ? sorted.reverse() : sorted, `${sign}${field}`);
        const condition =
          'is_active' in filter ? 'is_active' : 'search' in filter ? `email like 'u%'` : 'true';
        const [count] = await own.sql<{ n: number }>(
          `select count(*)::integer as n from users where ${condition}`,
        );
        assert.equal(items.length, count?.n);
      }
});

test('a list read by id has each user once, also while others are created and deleted', async () => {
  const { service: own, admin: boss } = await serviceWithUsers(9);
  const whole: string[] = idsOf(await find(boss, LISTS[0]!, { sort: 'id' }));
  const next = (last: string) => find(boss, LISTS[0]!, { sort: 'id', size: 3, after: last.toUpperCase() });
  const [, , third = ''] = idsOf(await find(boss, LISTS[0]!, { sort: 'id', size: 3 }));
  // By offset, the second page would now begin one user later.
  await own.sql('delete from users where id = $1', [third]);
  await own.sql(
    `insert into users (id, email, first_name, last_name) values ('00000000-0000-4000-8000-000000000001', 'first@example.com', 'First', '')`,
  );
  const second = await next(third);
  assert.deepEqual(idsOf(second), whole.slice(3, 6));
  assert.equal(second.body.data.total, whole.length - 3, 'the total counts what is left');
  assert.deepEqual(idsOf(await next(whole.at(-1) ?? '')), []);
  assert.equal((await find(boss, LISTS[0]!, { after: 'x' })).status, 400);
});

test('by default the oldest come first; order_by_created_at sorts in both directions', async () => {
  const { admin: boss } = await serviceWithUsers(9);
  const oldestFirst = idsOf(await boss.get(LISTS[0]!));
  assert.deepEqual(idsOf(await boss.get(LISTS[2]!)), oldestFirst);
  assert.deepEqual(idsOf(await find(boss, LISTS[2]!, { sort: '-created_at' })), oldestFirst.toReversed());
  assert.equal((await find(boss, LISTS[2]!, { sort: 'email' })).status, 422);
});

test('the email filter is exact in any case, and not a pattern', async () => {
  const person = await addPerson(service, { email: `exact_${process.pid}@example.com` });
  for (const email of [person.email, ` ${person.email.toUpperCase()} `])
    assert.deepEqual(idsOf(await find(admin, LISTS[0]!, { email })), [person.id]);
  for (const email of [person.email.slice(1), `exact%`, 'exactX@example.com', 'none', ' ', "' or true --"])
    assert.deepEqual(idsOf(await find(admin, LISTS[0]!, { email })), [], email);
  for (const list of LISTS) assertRefused(await find(admin, list, { email: '' }), 422, 'validation_failed');
});

test('a search finds any part of the full name or the email, in any case and script', async () => {
  const person = await addPerson(service, {
    email: `part.of_${process.pid}@search.example`,
    firstName: 'Żółć-Éva',
    lastName: 'Ødegård 👩‍🚀',
  });
  const rtl = await addPerson(service, { firstName: 'محمد', lastName: "O'Brien" });
  for (const text of [
    'żółć',
    'ÉVA',
    'Éva øde',
    'ØDEGÅRD',
    '👩‍🚀',
    `PART.OF_${process.pid}`,
    '@search.exa',
    'd 👩',
  ])
    assert.deepEqual(await search(text), [person.id], text);
  assert.deepEqual(await search('E\u0301va'), [person.id], 'decomposed letters are the same letters');
  assert.deepEqual(await search('محمد'), [rtl.id]);
  assert.deepEqual(await search("o'brien"), [rtl.id]);
  assert.deepEqual(await search(`👩‍🚀${person.email}`), [], 'no match spans name and email');
});

test('%, _ and \\ of a search are literal characters', async () => {
  const names = ['100% sure', '100x sure', 'a_b', 'aXb', 'back\\slash', 'backXslash'];
  const ids = new Map<string, string>();
  for (const name of names)
    ids.set(name, (await addPerson(service, { firstName: name, lastName: 'Literal' })).id);
  for (const [text, name] of [
    ['100%', '100% sure'],
    ['A_B', 'a_b'],
    ['back\\s', 'back\\slash'],
    ['%', '100% sure'],
    ['\\', 'back\\slash'],
  ] as const)
    assert.deepEqual(await search(text), [ids.get(name)], text);
  assert.deepEqual(await search('%%%'), []);
  assert.equal((await find(admin, LISTS[0]!, { search: 'x'.repeat(250) })).status, 200);
  assert.equal((await find(admin, LISTS[0]!, { search: 'x'.repeat(251) })).status, 422);
});

test('filters by role, activity and verification combine', async () => {
  const role = await addRole(service, 'role.read');
  const active = await addPerson(service, { roles: [role] });
  const closed = await addPerson(service, { roles: [role], active: false, verified: false });
  const at = async (query: Record<string, string | boolean>) =>
    idsOf(await find(admin, LISTS[1]!, { role_id: role.toUpperCase(), ...query })).sort();
  assert.deepEqual(await at({}), [active.id, closed.id].sort());
  assert.deepEqual(await at({ is_active: true }), [active.id]);
  assert.deepEqual(await at({ is_active: false, verified: false }), [closed.id]);
  assert.deepEqual(await at({ verified: true, is_active: false }), []);
  assert.deepEqual(idsOf(await find(admin, LISTS[1]!, { role_id: randomUUID() })), []);
});

test('a search finds a user by a whole id in any case, and still texts that contain one', async () => {
  const person = await addPerson(service);
  const namesake = await addPerson(service, { firstName: 'Copy of', lastName: person.id });
  for (const text of [person.id, ` ${person.id.toUpperCase()} `])
    assert.deepEqual((await search(text)).sort(), [person.id, namesake.id].sort());
  assert.deepEqual(await search(person.id.slice(1)), [namesake.id], 'a part of an id is only a text');
  assert.deepEqual(await search(namesake.id), [namesake.id]);
  for (const text of [randomUUID(), namesake.id.replaceAll('-', ''), `{${namesake.id}}`, `${namesake.id}0`])
    assert.deepEqual(await search(text), [], text);
  const closed = await find(admin, LISTS[0]!, { search: person.id, is_active: false });
  assert.deepEqual([closed.body.data.total, closed.body.data.items], [0, []]);
});

test('the status filter and the activity tell the status that the dashboard shows', async (t) => {
  const own = await startTestService(t);
  const boss = await signIn(own, ADMIN);
  const locks = [null, 'null', `now() - interval '1 minute'`, `now() + interval '1 hour'`];
  const shown = new Map<string, string>();
  for (const active of [true, false]) {
    for (const verified of [true, false])
      for (const lock of locks) {
        const { email } = await addPerson(own, { active, verified });
        if (lock !== null)
          await own.sql(
            `insert into login_attempts (email, failures, locked_until) values ($1, 5, ${lock})`,
            [email],
          );
      }
    // It shows the 10 newest users.
    const { data } = (await boss.get('/api/v1/dashboard')).body;
    for (const { id, status } of data.system_users_summary) shown.set(id, status);
  }
  assert.equal(shown.size, 17);
  for (const path of LISTS) {
    const listed = new Map<string, string>();
    for (const status of ['active', 'inactive', 'locked', 'unverified'])
      for (const id of idsOf(await find(boss, path, { status }))) {
        assert.ok(!listed.has(id), `${id} has two statuses`);
        listed.set(id, status);
      }
    assert.deepEqual([...listed].sort(), [...shown].sort(), path);
    const { items } = (await find(boss, path, { include: 'activity' })).body.data;
    const told = items.map(({ id, activity }: { id: string; activity: { status: string } }) => [
      id,
      activity.status,
    ]);
    assert.deepEqual(told.sort(), [...shown].sort(), path);
  }
  assert.equal((await find(boss, LISTS[0]!, { status: 'active' })).body.data.total, 4);
  assert.equal((await find(boss, LISTS[0]!, { status: 'unverified', is_active: false })).body.data.total, 0);
});

test('a lock after failed sign-ins, and its end, count in the next list', async () => {
  const person = await addPerson(service);
  const statusOf = async () => {
    for (const status of ['active', 'locked'])
      if (idsOf(await find(admin, LISTS[1]!, { status, search: person.id })).length > 0) return status;
    return null;
  };
  assert.equal(await statusOf(), 'active');
  for (let tries = 0; tries < 5; tries += 1)
    await service.client().login({ email: person.email, password: `${PASSWORD}x` });
  assert.equal(await statusOf(), 'locked');
  assert.equal((await admin.post(`/api/v1/users/${person.id}/unlock`)).status, 200);
  assert.equal(await statusOf(), 'active');
});

test('include=activity adds the live sessions and the last activity to each user, and nothing else changes', async () => {
  const [busy, gone, idle] = await Promise.all(
    [0, 1, 2].map(() => addPerson(service, { lastName: 'Active' })),
  );
  assert.ok(busy && gone && idle);
  for (let signIns = 0; signIns < 2; signIns += 1) await signIn(service, busy);
  await (await signIn(service, gone)).post('/api/v1/auth/logout');
  const [signedIn] = await service.sql<{ at: Date }>(
    'select logged_in_at as at from last_logins where user_id = $1',
    [gone.id],
  );
  for (const path of LISTS) {
    const query = { search: 'Ada Active', sort: path === LISTS[2] ? 'created_at' : 'email' };
    const plain = (await find(admin, path, query)).body.data;
    const { items, ...rest } = (await find(admin, path, { ...query, include: 'activity' })).body.data;
    assert.deepEqual(
      { ...rest, items: items.map(({ activity: _, ...user }: Record<string, unknown>) => user) },
      plain,
    );
    const activityOf = ({ id }: { id: string }) =>
      items.find((one: { id: string }) => one.id === id).activity;
    assert.deepEqual(activityOf(idle), { status: 'active', live_sessions: 0, last_active_at: null });
    assert.deepEqual(activityOf(gone), {
      status: 'active',
      live_sessions: 0,
      last_active_at: signedIn?.at.toISOString(),
    });
    assert.equal(activityOf(busy).live_sessions, 2);
  }
});

test('a refresh is an activity, and a session of a deactivated user is not live', async () => {
  const person = await addPerson(service);
  const client = await signIn(service, person);
  const activityOf = async () =>
    (await find(admin, LISTS[0]!, { search: person.id, include: 'activity' })).body.data.items[0].activity;
  const before = await activityOf();
  await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
  const refreshed = await activityOf();
  assert.ok(refreshed.last_active_at > before.last_active_at);
  await service.sql('update users set is_active = false where id = $1', [person.id]);
  const closed = await activityOf();
  assert.equal(closed.live_sessions, 0);
  assert.ok(closed.last_active_at < refreshed.last_active_at);
});

test('user.read allows /users, users.read the other lists and single users; neither allows the other', async () => {
  const { client: one } = await signedInWith(service, 'user.read');
  const { client: two, person } = await signedInWith(service, 'users.read');
  const paths = [...LISTS, `/api/v1/users/${person.id}`];
  const statuses = (client: TestClient) =>
    Promise.all(paths.map(async (path) => (await client.get(path)).status));
  assert.deepEqual(await statuses(one), [200, 403, 403, 403]);
  assert.deepEqual(await statuses(two), [403, 200, 200, 200]);
});

test('a user is read by an id in either case; an unknown id is 404, an invalid one 400', async () => {
  const person = await addPerson(service);
  const answer = await admin.get(`/api/v1/users/${person.id.toUpperCase()}`);
  assert.deepEqual([answer.status, answer.body.data.id], [200, person.id]);
  assert.match(answer.headers.get('etag') ?? '', /^"\d+"$/);
  assert.equal((await admin.get(`/api/v1/users/${randomUUID()}`)).status, 404);
  assert.equal((await admin.get('/api/v1/users/not-an-id')).status, 400);
});

test('no list and no record contains a hash, a counter or a lock', async () => {
  const person = await addPerson(service);
  await service.client().login({ email: person.email, password: `${PASSWORD}x` });
  for (const path of [...LISTS, `/api/v1/users/${person.id}`])
    assert.doesNotMatch(
      (await admin.get(path)).text,
      /argon2|"password|password_|epoch|failed|locked|version/,
    );
});

test('a page takes the same number of statements whatever its size', async () => {
  await Promise.all(Array.from({ length: 12 }, () => addPerson(service)));
  const run = (size: number) => countStatements(service, () => find(admin, LISTS[1]!, { size }));
  await run(1);
  assert.equal(await run(10), await run(1));
});

test('the activity of a page takes one more statement, whatever its size', async () => {
  const run = (query: Record<string, string | number>) =>
    countStatements(service, () => find(admin, LISTS[1]!, query));
  const plain = await run({ size: 10 });
  for (const size of [1, 10]) assert.equal(await run({ size, include: 'activity' }), plain + 1);
});
