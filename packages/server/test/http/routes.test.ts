// The route matrix: who may call what, generated from what the routes declare; and what is no route at all.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { allPermissions } from '@castellan/contract/permissions';
import { buildApp } from '../../src/app.ts';
import { ADMIN, createVerifiedUser, signIn, startTestService } from '../harness.ts';
import { ABSENT_ID, assertRefused, readRaw, routesOf, sendRaw } from './fixture.ts';

const service = await startTestService({ after }, { DEFAULT_ROLE: '' });
const routes = await routesOf(service);
const admin = await signIn(service, ADMIN);
const nobody = await signIn(service, await createVerifiedUser(service));

const publicOperations = [
  'GET /api/v1/auth/csrf-token',
  'POST /api/v1/auth/login',
  'POST /api/v1/auth/new_access_token',
  'POST /api/v1/auth/password-reset/confirm',
  'POST /api/v1/auth/password-reset/request',
  'POST /api/v1/auth/refresh',
  'POST /api/v1/auth/register',
  'POST /api/v1/auth/resend-verification-email',
  'POST /api/v1/auth/verify-email',
];

test('nothing under /api is public but what the specification calls public', () => {
  const found = routes
    .filter(({ config, url }) => config.access === 'public' && url.startsWith('/api'))
    .map(({ method, url }) => `${method} ${url}`);
  assert.deepEqual(found.sort(), publicOperations);
});

for (const { method, path, url, config } of routes.filter((route) => route.config.access !== 'public')) {
  test(`${method} ${url} answers 401 to a caller without a live token, whatever the body holds`, async () => {
    const attempts = {
      token_missing: [null, 'Basic YTpi', 'Bearer'],
      token_invalid: ['Bearer x', `Bearer ${nobody.accessToken?.slice(0, -5)}AAAAA`],
    };
    for (const [code, values] of Object.entries(attempts))
      for (const authorization of values) {
        const answer = await service.client().request(method, path, {
          ...(method === 'GET' ? {} : { raw: '{', headers: {} }),
          headers: { authorization, ...(method === 'GET' ? {} : { 'content-type': 'application/json' }) },
        });
        assert.equal(answer.status, 401, `${authorization}: ${answer.text}`);
        assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
        if (authorization === null) assert.equal(answer.body.code, code);
      }
  });

  if (config.access === 'authenticated') continue;
  test(`${method} ${url} answers 403 to a user without ${config.access}, whatever the body holds`, async () => {
    const answer = await nobody.request(
      method,
      path,
      method === 'GET' ? {} : { raw: '{', headers: { 'content-type': 'application/json' } },
    );
    assertRefused(answer, 403, 'permission_denied');
  });

  test(`${method} ${url} lets a superuser past the permission check`, async () => {
    const answer = await admin.request(
      method,
      path,
      method === 'GET' ? {} : { raw: '{', headers: { 'content-type': 'application/json' } },
    );
    assert.notEqual(answer.status, 401, answer.text);
    assert.notEqual(answer.body?.code, 'permission_denied', answer.text);
  });
}

test('a refused permission is an audit event with the caller, the permission and the route', async () => {
  const answer = await nobody.put('/api/v1/users/me', { first_name: 'Eve' });
  assertRefused(answer, 403, 'permission_denied');
  const me = await nobody.get('/api/v1/users/me');
  const [entry] = await service.sql<{ actor_id: string; details: Record<string, string> }>(
    `select actor_id, details from audit_logs
     where action = 'permission_denied' and details->>'request_id' = $1`,
    [answer.headers.get('x-request-id')],
  );
  assert.equal(entry?.actor_id, me.body.data.id);
  assert.equal(entry?.details.permission, 'self.update_profile');
  assert.equal(entry?.details.route, '/api/v1/users/me');
  assert.notEqual(me.body.data.first_name, 'Eve');
});

test('every route declares an access that exists, and one that does not cannot be registered', async () => {
  const known = new Set<string>(['public', 'authenticated', ...allPermissions]);
  for (const { method, url, config } of routes)
    assert.ok(known.has(config.access ?? ''), `${method} ${url} declares ${config.access}`);

  const app = await buildApp(service.service.deps);
  const handler = async () => ({ message: 'open' });
  assert.throws(() => app.route({ method: 'GET', url: '/forgotten', handler }), /declares no access/);
  assert.throws(
    () => app.route({ method: 'GET', url: '/mistyped', config: { access: 'users.raed' as never }, handler }),
    /declares no access/,
  );
  await app.close();
});

test('an address that is no route is 404, for every method, with or without a token', async () => {
  for (const path of [
    '/nothing',
    '/api',
    '/api/v1',
    '/api/v1/auth',
    '/api/v2/users/me',
    '/api/v1/users/me/x',
  ])
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      for (const client of [service.client(), admin])
        assertRefused(await client.request(method, path), 404, 'route_not_found');
});

test('other spellings of an address are no way around its guard', async () => {
  const spellings = [
    '/api//v1/users/me',
    '//api/v1/users/me',
    '/api/v1/users%2Fme',
    '/api/v1/users%2fme',
    '/api/v1/users/me/',
    '/api/v1/users/me//',
    '/api/v1/users/./me',
    '/api/v1/auth/../users/me',
    '/api/v1/auth/%2e%2e/users/me',
    '/api/v1/users/me;a=b',
    '/api/v1/users/me%00',
    '/api/v1/users/me%20',
    '/API/v1/users/me',
    '/api/v1/USERS/ME',
    '/api/v1/users\\me',
  ];
  for (const path of spellings) {
    // Raw, because a URL parser would tidy the path up.
    const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n`;
    for (const token of ['', `Authorization: Bearer ${admin.accessToken}\r\n`]) {
      const answer = readRaw(await sendRaw(service.url, `${head}${token}\r\n`));
      // A later route may take one of them for an id: then it is guarded, and refused as no UUID.
      const allowed = token === '' ? [401, 404] : [400, 404];
      assert.ok(allowed.includes(answer.status), `${path}: ${answer.status} ${answer.text}`);
    }
  }
  const encoded = readRaw(
    await sendRaw(service.url, 'GET /api/v1/users/%6de HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'),
  );
  assertRefused(encoded, 401, 'token_missing');
});

test('an address in absolute form or with another Host names no other service', async () => {
  const answer = readRaw(
    await sendRaw(
      service.url,
      'GET http://evil.example/api/v1/users/me HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    ),
  );
  assertRefused(answer, 401, 'token_missing');
  assert.doesNotMatch(answer.text, /evil/);
});

test('a method that a route does not have is 405 with Allow, before any token is asked for', async () => {
  const cases = [
    ['GET', '/api/v1/auth/login', 'POST'],
    ['PATCH', '/api/v1/auth/csrf-token', 'GET, HEAD'],
    ['POST', '/health/live', 'GET, HEAD'],
    ['OPTIONS', '/api/v1/auth/login', 'POST'],
    ['HEAD', '/api/v1/auth/login', 'POST'],
    ['PUT', `/api/v1/auth/sessions/${ABSENT_ID}`, 'DELETE'],
  ] as const;
  for (const [method, path, allow] of cases) {
    const answer = await service.client().request(method, path, { headers: { 'x-csrf-token': null } });
    assert.equal(answer.status, 405, `${method} ${path}: ${answer.text}`);
    assert.equal(answer.headers.get('allow'), allow, `${method} ${path}`);
    if (method !== 'HEAD') assert.equal(answer.body.code, 'method_not_allowed');
  }
});

test('HEAD answers what GET answers, without the body', async () => {
  for (const [client, path, status] of [
    [service.client(), '/health/live', 200],
    [service.client(), '/api/v1/users/me', 401],
    [admin, '/api/v1/users/me', 200],
  ] as const) {
    const get = await client.get(path);
    const head = await client.request('HEAD', path);
    assert.equal(head.status, status);
    assert.equal(get.status, status);
    assert.equal(head.text, '');
    assert.equal(head.headers.get('content-type'), get.headers.get('content-type'));
  }
});
