// The route matrix: who may call what, generated from what the routes declare; and what is no route at all.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { allPermissions } from '@castellan/contract/permissions';
import { buildApp } from '../../src/app.ts';
import { ADMIN, createVerifiedUser, signIn, startTestService } from '../harness.ts';
import { assertRefused, routesOf } from './fixture.ts';

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
