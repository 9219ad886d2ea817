// CORS: pages of listed origins may call with cookies, of no other; without a list nothing is said.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '../harness.ts';
import { assertRefused } from './fixture.ts';

const APP = 'https://app.example';
const service = await startTestService({ after }, { CORS_ORIGINS: `${APP}, http://localhost:5173` });
const closed = await startTestService({ after });

const corsHeaders = (headers: Headers): string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));

const preflight = (url: string, origin: string, path = '/api/v1/auth/login') =>
  fetch(`${url}${path}`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,x-csrf-token',
    },
  });

test('a listed origin may call with cookies and read what it needs, errors included', async () => {
  for (const [origin, path, status] of [
    [APP, '/api/v1/auth/csrf-token', 200],
    ['http://localhost:5173', '/api/v1/users/me', 401],
    [APP, '/nothing', 404],
  ] as const) {
    const { status: found, headers } = await service.client().get(path, { headers: { origin } });
    assert.equal(found, status);
    assert.equal(headers.get('access-control-allow-origin'), origin);
    assert.equal(headers.get('access-control-allow-credentials'), 'true');
    assert.match(headers.get('access-control-expose-headers') ?? '', /x-request-id.*retry-after/);
    assert.match(headers.get('vary') ?? '', /origin/i);
  }
});

test('a refused CSRF token is readable by the page that sent it', async () => {
  const answer = await service.client().request('POST', '/api/v1/auth/login', {
    headers: { origin: APP, 'x-csrf-token': null },
  });
  assertRefused(answer, 403, 'csrf_invalid');
  assert.equal(answer.headers.get('access-control-allow-origin'), APP);
});

test('origins that only look like a listed one get nothing, and caches are told to keep them apart', async () => {
  const strangers = [
    'https://evil.example',
    'http://app.example',
    'https://app.example:444',
    'https://app.example.evil.example',
    'https://xapp.example',
    'https://APP.example',
    'https://app.example/',
    'null',
    '*',
  ];
  for (const origin of strangers) {
    const answer = await service.client().get('/api/v1/auth/csrf-token', { headers: { origin } });
    assert.deepEqual(corsHeaders(answer.headers), [], origin);
    assert.match(answer.headers.get('vary') ?? '', /origin/i);
    const { headers, status } = await preflight(service.url, origin);
    assert.deepEqual(corsHeaders(headers), [], origin);
    assert.equal(status, 405);
  }
});

test('a preflight of a listed origin is answered without token, for every address, methods and headers named', async () => {
  for (const path of ['/api/v1/auth/login', '/api/v1/users/me', '/nothing']) {
    const { status, headers } = await preflight(service.url, APP, path);
    assert.equal(status, 204);
    assert.equal(headers.get('access-control-allow-origin'), APP);
    assert.equal(headers.get('access-control-allow-credentials'), 'true');
    assert.equal(headers.get('access-control-allow-methods'), 'GET, POST, PUT, DELETE');
    const allowed = (headers.get('access-control-allow-headers') ?? '').split(', ');
    for (const name of ['authorization', 'content-type', 'x-csrf-token', 'x-request-id'])
      assert.ok(allowed.includes(name), name);
    assert.equal(headers.get('access-control-max-age'), '600');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
  }
});

test('OPTIONS that is no preflight is a method like any other', async () => {
  const client = service.client();
  const answer = await client.request('OPTIONS', '/api/v1/auth/login', { headers: { origin: APP } });
  assertRefused(answer, 405, 'method_not_allowed');
  assert.equal(answer.headers.get('allow'), 'POST');
  assertRefused(await client.request('OPTIONS', '/nothing'), 404, 'route_not_found');
});

test('by default no origin is listed, and no CORS header is sent', async () => {
  for (const origin of [APP, closed.url, 'null']) {
    const answer = await closed.client().get('/api/v1/auth/csrf-token', { headers: { origin } });
    assert.equal(answer.status, 200);
    assert.deepEqual(corsHeaders(answer.headers), []);
    const { status, headers } = await preflight(closed.url, origin);
    assert.equal(status, 405);
    assert.deepEqual(corsHeaders(headers), []);
  }
});
