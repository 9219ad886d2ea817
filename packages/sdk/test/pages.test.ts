// Reading lists: both kinds of pages, their ends, and services that never end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collect, createService, json, machine } from './fixture.ts';

const LOGS = 'GET /api/v1/audit-logs';

/** Serves numbers as a list with `page` and `size`. */
function numbered(
  total: number,
  shape: (items: number[], counts: { total: number; pages: number }) => object,
) {
  const service = createService();
  for (const path of ['users', 'roles'])
    service.always(`GET /api/v1/${path}`, ({ search }) => {
      const query = new URLSearchParams(search);
      const [page, size] = [Number(query.get('page') ?? 1), Number(query.get('size') ?? 2)];
      const items = Array.from({ length: total }, (_, index) => index).slice((page - 1) * size, page * size);
      return json(200, shape(items, { total, pages: Math.ceil(total / size) }));
    });
  return { ...machine(service), service };
}
const usersShape = (items: number[], counts: object) => ({ data: { items, ...counts } });
const rolesShape = (data: number[], pagination: object) => ({ data, pagination });

/** Serves a page for each cursor. */
function linked(pages: Record<string, [items: number[], next: string | null]>) {
  const service = createService();
  service.always(LOGS, ({ search }) => {
    const [data, next_cursor] = pages[new URLSearchParams(search).get('cursor') ?? ''] ?? [[], null];
    return json(200, { data, next_cursor, message: '' });
  });
  return { ...machine(service), service };
}

test('users: every page in turn, with the total', async () => {
  const { client, service } = numbered(5, usersShape);
  const pages = await collect(client.pages('/api/v1/users', { query: { email: 'a@example.com' } }));
  assert.deepEqual(pages, [
    { items: [0, 1], total: 5 },
    { items: [2, 3], total: 5 },
    { items: [4], total: 5 },
  ]);
  assert.deepEqual(
    service.requests.map(({ search }) => search),
    ['?email=a%40example.com', '?email=a%40example.com&page=2', '?email=a%40example.com&page=3'],
  );
});

test('roles: every element', async () => {
  const { client } = numbered(5, rolesShape);
  assert.deepEqual(await collect(client.items('/api/v1/roles')), [0, 1, 2, 3, 4]);
});

test('a list starts at the page of the query', async () => {
  const { client } = numbered(6, usersShape);
  assert.deepEqual(
    await collect(client.items('/api/v1/users', { query: { page: 2, size: 2 } })),
    [2, 3, 4, 5],
  );
});

test('an empty list is one page without items', async () => {
  const { client, service } = numbered(0, usersShape);
  assert.deepEqual(await collect(client.pages('/api/v1/users')), [{ items: [], total: 0 }]);
  assert.equal(service.requests.length, 1);
});

test('a list that shrinks while it is read ends with its first empty page', async () => {
  const { client, service } = numbered(2, (items) => ({ data: { items, total: 99, pages: 50 } }));
  assert.deepEqual(await collect(client.items('/api/v1/users')), [0, 1]);
  assert.equal(service.requests.length, 2);
});

test('cursors are followed to the end, also over an empty page', async () => {
  const { client, service } = linked({ '': [[1, 2], 'a&b'], 'a&b': [[], 'c'], c: [[3], null] });
  assert.deepEqual(await collect(client.items('/api/v1/audit-logs', { query: { size: 2 } })), [1, 2, 3]);
  assert.equal(service.requests[1]?.search, '?size=2&cursor=a%26b');
});

test('a cursor that comes back ends the list with an error', async () => {
  for (const pages of [
    { '': [[1], 'a'], a: [[1], 'a'] },
    { '': [[1], 'a'], a: [[2], 'b'], b: [[3], 'a'] },
  ] satisfies Parameters<typeof linked>[0][]) {
    const { client, service } = linked(pages);
    await assert.rejects(collect(client.items('/api/v1/audit-logs')), { code: 'malformed_response' });
    assert.ok(service.requests.length <= 3);
  }
});

test('a result that is no page is malformed_response', async () => {
  const { client } = numbered(1, () => ({ data: { items: 'x' } }));
  await assert.rejects(collect(client.pages('/api/v1/users')), { code: 'malformed_response' });
});

test('no page is read before it is needed, and none after the loop is left', async () => {
  const { client, service } = numbered(9, rolesShape);
  for await (const item of client.items('/api/v1/roles')) if (Number(item) === 2) break;
  assert.equal(service.requests.length, 2);
});

test('the signal ends the list', async () => {
  const { client, service } = numbered(9, rolesShape);
  const controller = new AbortController();
  const read = async () => {
    for await (const _ of client.pages('/api/v1/roles', { signal: controller.signal }))
      controller.abort(new Error('closed'));
  };
  await assert.rejects(read, { message: 'closed' });
  assert.equal(service.requests.length, 1);
});
