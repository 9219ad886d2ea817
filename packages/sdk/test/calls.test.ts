// How a call becomes a request: its URL, headers and body, and the credential of a program.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { createClient } from '../src/index.ts';
import { BASE_URL, createService, json, machine, refusal } from './fixture.ts';

const ID = '0198c5a0-0000-7000-8000-000000000000';
const USER_PATH = '/api/v1/users/{user_id}';

const typed = (type: string) => () =>
  new Response('{"id":1}\n', { headers: { 'content-type': type, etag: '"7"' } });

test('a program sends its key, and neither cookies nor a CSRF token', async () => {
  const service = createService();
  const { client } = machine(service);
  await client.post('/api/v1/roles', { body: { name: 'Editors' } });
  const [request] = service.requests;
  assert.equal(service.requests.length, 1);
  assert.equal(request?.headers.get('authorization'), 'Bearer castellan_key');
  assert.equal(request?.headers.get('x-csrf-token'), null);
  assert.equal(request?.init.credentials, 'omit');
  assert.equal(request?.init.redirect, 'manual');
  assert.equal(request?.headers.get('content-type'), 'application/json');
  assert.equal(request?.headers.get('accept'), 'application/json');
});

test('a program does not refresh after a 401', async () => {
  const service = createService();
  const { client } = machine(service);
  service.next('GET /api/v1/users/me', () => refusal(401, 'api_key_revoked'));
  await assert.rejects(client.get('/api/v1/users/me'), { code: 'api_key_revoked' });
  assert.equal(service.requests.length, 1);
});

test('a function is asked for the access token of each request', async () => {
  const service = createService();
  let number = 0;
  const client = createClient({
    baseUrl: BASE_URL,
    fetch: service.fetch,
    accessToken: async () => {
      number += 1;
      return `castellan_${number}`;
    },
  });
  await client.get('/api/v1/users/me');
  await client.get('/api/v1/users/me');
  const sent = service.requests.map(({ headers }) => headers.get('authorization'));
  assert.deepEqual(sent, ['Bearer castellan_1', 'Bearer castellan_2']);
});

test('an access token that never comes is a timeout, or ends with the signal of the caller', async () => {
  const service = createService();
  const client = createClient({
    baseUrl: BASE_URL,
    fetch: service.fetch,
    accessToken: () => new Promise(() => {}),
  });
  await assert.rejects(client.get('/api/v1/users/me', { timeoutMs: 5 }), { code: 'timeout', status: 0 });
  const reason = new Error('closed');
  const controller = new AbortController();
  const call = client.get('/api/v1/users/me', { signal: controller.signal, timeoutMs: Infinity });
  controller.abort(reason);
  await assert.rejects(call, (error) => error === reason);
  assert.equal(service.requests.length, 0);
});

test('a credential that no header can carry is refused without being quoted', async () => {
  for (const apiKey of ['', 'secret\nx: y', 'secret ', 'sécret'])
    assert.throws(
      () => createClient({ baseUrl: BASE_URL, apiKey }),
      (error: unknown) => error instanceof TypeError && !inspect(error).includes(apiKey || 'never'),
    );
});

test('the client shows no credential', () => {
  const client = createClient({ baseUrl: BASE_URL, apiKey: 'castellan_secret' });
  const shown = inspect(client, { depth: 9, showHidden: true }) + JSON.stringify(client) + String(client);
  assert.doesNotMatch(shown, /castellan_secret/);
});

const bases: [baseUrl: string, expected: string][] = [
  ['https://a.example', 'https://a.example/api/v1/users/me'],
  ['https://a.example/', 'https://a.example/api/v1/users/me'],
  ['https://a.example/accounts', 'https://a.example/accounts/api/v1/users/me'],
  ['https://a.example/accounts//', 'https://a.example/accounts/api/v1/users/me'],
  ['http://127.0.0.1:8000', 'http://127.0.0.1:8000/api/v1/users/me'],
];
for (const [baseUrl, expected] of bases) {
  test(`the service may be at ${baseUrl}`, async () => {
    const urls: unknown[] = [];
    const fetch = async (url: unknown) => {
      urls.push(url);
      return json(200, {});
    };
    await createClient({ baseUrl, apiKey: 'k', fetch }).get('/api/v1/users/me');
    assert.deepEqual(urls, [expected]);
  });
}

test('a base URL with credentials, a query, a fragment or another scheme is refused', () => {
  for (const baseUrl of [
    '',
    'a.example',
    'ftp://a.example',
    'javascript:1',
    'https://u:p@a.example',
    'https://a/?x=1',
    'https://a/#x',
  ])
    assert.throws(() => createClient({ baseUrl, apiKey: 'k' }), TypeError, baseUrl);
});

test('a timeout and retry options that are out of range are refused', async () => {
  const options: object[] = [
    ...[0, -1, NaN, '5', null].map((timeoutMs) => ({ timeoutMs })),
    ...[0, 1.5, NaN, Infinity, '3'].map((attempts) => ({ retry: { attempts } })),
    ...[-1, NaN, '5'].map((maxWaitMs) => ({ retry: { maxWaitMs } })),
  ];
  for (const one of options)
    assert.throws(() => createClient({ baseUrl: BASE_URL, apiKey: 'k', ...one }), TypeError, inspect(one));
  createClient({
    baseUrl: BASE_URL,
    apiKey: 'k',
    timeoutMs: Infinity,
    retry: { attempts: 1, maxWaitMs: 0 },
  });
  const service = createService();
  for (const timeoutMs of [0, NaN])
    await assert.rejects(machine(service).client.get('/api/v1/users/me', { timeoutMs }), TypeError);
  assert.equal(service.requests.length, 0);
});

test('path parameters are encoded and cannot leave their segment', async () => {
  const service = createService();
  const { client } = machine(service);
  const read = (user_id: string) => client.get(USER_PATH, { path: { user_id } });
  for (const value of ['', '.', '..', '../settings', 'a/b', 'a\\b', '/'])
    await assert.rejects(read(value), TypeError, JSON.stringify(value));
  assert.equal(service.requests.length, 0);
  for (const value of [ID, 'a b?c=d#e', '%2e%2e', '%2F', 'é', '{user_id}', '$&', 'a:b@c']) {
    await read(value);
    const { path = '', search } = service.requests.at(-1) ?? {};
    assert.equal(decodeURIComponent(path.replace('/api/v1/users/', '')), value);
    assert.equal(search, '');
  }
});

test('a missing path parameter and an inherited one are refused', async () => {
  const { client } = machine(createService());
  // @ts-expect-error: user_id is required.
  await assert.rejects(client.get(USER_PATH, { path: {} }), TypeError);
  const inherited: { user_id: string } = Object.create({ user_id: ID });
  await assert.rejects(client.get(USER_PATH, { path: inherited }), TypeError);
});

test('a path that is none of the API is refused', async () => {
  const service = createService();
  const { client } = machine(service);
  const paths = [
    '//evil.example/x',
    '@evil.example',
    '/api/../x',
    '/api/v1/users?x=1',
    'https://evil.example/',
    '/a b',
  ];
  for (const path of paths) {
    // @ts-expect-error: the path is not of the API.
    const call = client.get(path);
    await assert.rejects(call, TypeError, path);
  }
  assert.equal(service.requests.length, 0);
});

test('a query repeats the name for each item of a list and leaves out what is undefined', async () => {
  const service = createService();
  const { client } = machine(service);
  await client.delete('/api/v1/roles/{role_id}/permissions', {
    path: { role_id: ID },
    query: { permission_ids: ['a', 'b&c'], dry_run: true },
  });
  assert.equal(service.requests.at(-1)?.search, '?permission_ids=a&permission_ids=b%26c&dry_run=true');
  await client.get('/api/v1/users', { query: { page: 2 } });
  assert.equal(service.requests.at(-1)?.search, '?page=2');
});

test('a header with a line break is refused without its value being quoted', async () => {
  const { client } = machine(createService());
  for (const headers of [{ 'x-a': 'secret\r\nx-b: c' }, { 'x-a\r\nx-b': 'secret' }, { 'x-a': 'sécret' }])
    await assert.rejects(
      client.get('/api/v1/users/me', { headers }),
      (error: unknown) => error instanceof TypeError && !/s.cret/.test(String(error)),
    );
});

test('headers of the caller are sent; an authorization replaces that of the client', async () => {
  const service = createService();
  const { client } = machine(service);
  await client.get('/api/v1/users/me', {
    headers: { 'X-Request-ID': 'r-9', authorization: 'Bearer castellan_other' },
  });
  assert.equal(service.requests[0]?.headers.get('x-request-id'), 'r-9');
  assert.equal(service.requests[0]?.headers.get('authorization'), 'Bearer castellan_other');
});

test('the token services take forms; a client_secret replaces the credential of the client', async () => {
  const service = createService();
  const { client } = machine(service);
  service.always('POST /api/v1/oauth/introspect', () => json(200, { active: false }));
  service.always('POST /api/v1/oauth/token', () => json(200, { access_token: 'a' }));
  service.always('POST /api/v1/oauth/revoke', () => new Response('', { status: 200 }));
  await client.post('/api/v1/oauth/introspect', { body: { token: 'a b&c', include: 'permissions' } });
  await client.post('/api/v1/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: ID, client_secret: 'castellan_s' },
  });
  assert.equal(await client.post('/api/v1/oauth/revoke', { body: { token: 'a' } }), undefined);
  const [introspect, token] = service.requests;
  assert.equal(introspect?.body, 'token=a+b%26c&include=permissions');
  assert.equal(introspect?.headers.get('content-type'), 'application/x-www-form-urlencoded');
  assert.equal(introspect?.headers.get('authorization'), 'Bearer castellan_key');
  assert.equal(token?.headers.get('authorization'), null);
});

test('exports resolve with the response, whose body is not read', async () => {
  const service = createService();
  const { client } = machine(service);
  for (const type of ['application/x-ndjson', 'text/csv; charset=utf-8']) {
    service.next('GET /api/v1/audit-logs/export', typed(type));
    const response = await client.get('/api/v1/audit-logs/export', { headers: { accept: type } });
    assert.equal(response.bodyUsed, false);
    assert.equal(await response.text(), '{"id":1}\n');
  }
  service.next('GET /api/v1/audit-logs/export', typed('text/html'));
  await assert.rejects(client.get('/api/v1/audit-logs/export'), { code: 'malformed_response', status: 200 });
});

test('a signed head resolves with the response, for its text', async () => {
  const service = createService();
  const { client } = machine(service);
  service.next('GET /api/v1/audit-logs/head', typed('text/plain; charset=utf-8'));
  const response = await client.get('/api/v1/audit-logs/head');
  assert.equal(await response.text(), '{"id":1}\n');
  service.next('GET /api/v1/audit-logs/head', typed('text/html'));
  await assert.rejects(client.get('/api/v1/audit-logs/head'), { code: 'malformed_response', status: 200 });
});

test('request returns the headers along with the result', async () => {
  const service = createService();
  const { client } = machine(service);
  service.next(`GET /api/v1/users/${ID}`, typed('application/json'));
  const { result, headers, status } = await client.request(`GET ${USER_PATH}`, { path: { user_id: ID } });
  assert.deepEqual(result, { id: 1 });
  assert.equal(headers.get('etag'), '"7"');
  assert.equal(status, 200);
});

test('204 resolves with undefined', async () => {
  const service = createService();
  service.always(`DELETE /api/v1/roles/${ID}`, () => new Response(null, { status: 204 }));
  const result = await machine(service).client.delete('/api/v1/roles/{role_id}', { path: { role_id: ID } });
  assert.equal(result, undefined);
});
