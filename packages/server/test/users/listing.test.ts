// GET /users, /users/list and /users/order_by_created_at.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '../client.ts';
import { ADMIN, PASSWORD, signIn, startTestService, type TestService } from '../harness.ts';
import { addPerson, addRole, signedInWith } from './people.ts';
import { countStatements } from './statements.ts';

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

/** A service with `count` users beside the first superuser, some of the same instant. */
async function serviceWithUsers(count: number): Promise<{ service: TestService; admin: TestClient }> {
  const own = await startTestService({ after });
  await own.sql(
    `insert into users (id, email, first_name, last_name, verified, is_active, created_at)
     select gen_random_uuid(), 'u' || n || '@example.net', 'F' || n, chr(97 + n % 7) || 'X', n % 3 = 0, n % 2 = 0,
            now() - interval '1 day' + interval '1 minute' * (n / 5)
     from generate_series(1, $1::integer) n`,
    [count],
  );
  return { service: own, admin: await signIn(own, ADMIN) };
}

test('every list answers items, total, page, size and pages; beyond the end it is empty with the true total', async () => {
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
    ] as const) {
      const answer = await find(admin, path, query);
      assert.deepEqual([answer.status, answer.body.errors[0].field], [422, field], JSON.stringify(query));
    }
  assert.equal((await find(admin, LISTS[0]!, { role_id: 'x' })).status, 400);
});

test('pages of every order hold each user once, read from either end, with filters and without', async () => {
  const { service: own, admin: boss } = await serviceWithUsers(59);
  const keys = {
    created_at: (one: { created_at: string }) => one.created_at,
    email: (one: { email: string }) => one.email,
    last_name: (one: { last_name: string }) => one.last_name.toLowerCase(),
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

test('without a sort the oldest come first, and order_by_created_at goes either way', async () => {
  const { admin: boss } = await serviceWithUsers(9);
  const oldestFirst = idsOf(await boss.get(LISTS[0]!));
  assert.deepEqual(idsOf(await boss.get(LISTS[2]!)), oldestFirst);
  assert.deepEqual(idsOf(await find(boss, LISTS[2]!, { sort: '-created_at' })), oldestFirst.toReversed());
  assert.equal((await find(boss, LISTS[2]!, { sort: 'email' })).status, 422);
});

test('the e-mail filter is exact in any case, and never a pattern', async () => {
  const person = await addPerson(service, { email: `exact_${process.pid}@example.com` });
  for (const email of [person.email, ` ${person.email.toUpperCase()} `])
    assert.deepEqual(idsOf(await find(admin, LISTS[0]!, { email })), [person.id]);
  for (const email of [person.email.slice(1), `exact%`, 'exactX@example.com', 'none', "' or true --"])
    assert.deepEqual(idsOf(await find(admin, LISTS[0]!, { email })), [], email);
  assert.equal((await find(admin, LISTS[0]!, { email: '' })).body.data.size, 50);
});

test('a search finds any part of the full name or the e-mail, in any case and script', async () => {
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
  assert.deepEqual(await search(`👩‍🚀${person.email}`), [], 'no match spans name and address');
});

test('%, _ and \\ of a search stand for themselves', async () => {
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

test('filters by role, activity and verification hold together', async () => {
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

test('user.read opens /users, users.read the other lists and single users; neither opens the other', async () => {
  const { client: one } = await signedInWith(service, 'user.read');
  const { client: two, person } = await signedInWith(service, 'users.read');
  const paths = [...LISTS, `/api/v1/users/${person.id}`];
  const statuses = (client: TestClient) =>
    Promise.all(paths.map(async (path) => (await client.get(path)).status));
  assert.deepEqual(await statuses(one), [200, 403, 403, 403]);
  assert.deepEqual(await statuses(two), [403, 200, 200, 200]);
});

test('a user is read by an id of either case; nobody is 404, no id is 400', async () => {
  const person = await addPerson(service);
  const answer = await admin.get(`/api/v1/users/${person.id.toUpperCase()}`);
  assert.deepEqual([answer.status, answer.body.data.id], [200, person.id]);
  assert.match(answer.headers.get('etag') ?? '', /^"\d+"$/);
  assert.equal((await admin.get(`/api/v1/users/${randomUUID()}`)).status, 404);
  assert.equal((await admin.get('/api/v1/users/not-an-id')).status, 400);
});

test('no list and no record shows a hash, a counter or a lock', async () => {
  const person = await addPerson(service);
  await service.client().login({ email: person.email, password: `${PASSWORD}x` });
  for (const path of [...LISTS, `/api/v1/users/${person.id}`])
    assert.doesNotMatch((await admin.get(path)).text, /argon2|password|epoch|failed|locked|version/);
});

test('a page takes the same number of statements whatever its size', async () => {
  await Promise.all(Array.from({ length: 12 }, () => addPerson(service)));
  const run = async (size: number) =>
    (await countStatements(service, () => find(admin, LISTS[1]!, { size }))).statements;
  await run(1);
  assert.equal(await run(10), await run(1));
});
