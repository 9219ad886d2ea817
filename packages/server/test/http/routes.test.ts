// The routes: who may call what, generated from their declarations; and what is no route.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ErrorCode } from '@castellan/contract/errors';
import { allPermissions } from '@castellan/contract/permissions';
import { codeIn } from '@castellan/testing/conformance/described';
import { ADMIN, createVerifiedUser, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused, assertRefusedBy, refusedBody, routesOf } from '@castellan/testing/http/fixture';
import { Ajv } from 'ajv';
import { buildApp } from '../../src/app.ts';
import { isObject } from '../../src/platform/unknown-values.ts';

const service = await startTestService({ after }, { DEFAULT_ROLE: '' });
const routes = await routesOf(service);
const admin = await signIn(service, ADMIN);
const nobody = await signIn(service, await createVerifiedUser(service));

const publicOperations = [
  'DELETE /api/v1/auth/pending-identity',
  'GET /api/v1/auth/csrf-token',
  'GET /api/v1/auth/password-policy',
  'GET /api/v1/auth/pending-identity',
  'GET /api/v1/auth/providers',
  'GET /api/v1/auth/providers/:slug/callback',
  'GET /api/v1/auth/providers/:slug/signed-out',
  'GET /api/v1/auth/sign-in-methods',
  'GET /api/v1/oauth/authorize',
  'GET /api/v1/oauth/interactions/:interaction_id',
  'GET /api/v1/oauth/jwks.json',
  'GET /api/v1/oauth/logout',
  'GET /api/v1/oauth/userinfo',
  'GET /api/v1/webhooks/events',
  'POST /api/v1/auth/accept-invitation',
  'POST /api/v1/auth/accept-invitation/passkey/options',
  'POST /api/v1/auth/confirm-email-change',
  'POST /api/v1/auth/links/check',
  'POST /api/v1/auth/login',
  'POST /api/v1/auth/login/passkey',
  'POST /api/v1/auth/login/passkey/options',
  'POST /api/v1/auth/login/recovery-mail',
  'POST /api/v1/auth/login/second-factor',
  'POST /api/v1/auth/new_access_token',
  'POST /api/v1/auth/password-reset/confirm',
  'POST /api/v1/auth/password-reset/request',
  'POST /api/v1/auth/pending-identity/confirm',
  'POST /api/v1/auth/pending-identity/email',
  'POST /api/v1/auth/providers/:slug/backchannel-logout',
  'POST /api/v1/auth/providers/:slug/callback',
  'POST /api/v1/auth/providers/:slug/start',
  'POST /api/v1/auth/refresh',
  'POST /api/v1/auth/register',
  'POST /api/v1/auth/registration/decline',
  'POST /api/v1/auth/resend-verification-email',
  'POST /api/v1/auth/revert-email-change',
  'POST /api/v1/auth/undo-deletion',
  'POST /api/v1/auth/verify-email',
  'POST /api/v1/oauth/authorize',
  'POST /api/v1/oauth/device',
  'POST /api/v1/oauth/device_authorization',
  'POST /api/v1/oauth/interactions/:interaction_id/account',
  'POST /api/v1/oauth/interactions/:interaction_id/cancel',
  'POST /api/v1/oauth/interactions/:interaction_id/consent',
  'POST /api/v1/oauth/interactions/:interaction_id/reauthenticate',
  'POST /api/v1/oauth/interactions/:interaction_id/sign-out',
  'POST /api/v1/oauth/logout',
  'POST /api/v1/oauth/par',
  'POST /api/v1/oauth/revoke',
  'POST /api/v1/oauth/token',
  'POST /api/v1/oauth/userinfo',
];

test('nothing under /api is public except what the specification calls public', () => {
  const found = routes
    .filter(({ config, url }) => config.access === 'public' && url.startsWith('/api/'))
    .map(({ method, url }) => `${method} ${url}`);
  assert.deepEqual(found.sort(), publicOperations);
});

test('every schema is valid, although the service compiles it at its first use', () => {
  const ajv = new Ajv({ strict: false, formats: { uuid: true, 'date-time': true } });
  const schemas = routes.flatMap(({ schema: { body, querystring, params, headers, response } }) =>
    [body, querystring, params, headers, ...(isObject(response) ? Object.values(response) : [])].filter(
      isObject,
    ),
  );
  assert.ok(schemas.length > routes.length);
  for (const schema of schemas) ajv.compile<unknown>(schema);
});

for (const route of routes.filter(({ config }) => config.access !== 'public')) {
  const { method, path, url, config } = route;
  const body = refusedBody(route);
  test(`${method} ${url} answers 401 to a caller without a live token, whatever the body contains`, async () => {
    const attempts: Partial<Record<ErrorCode, (string | null)[]>> = {
      token_missing: [null],
      token_invalid: ['Basic YTpi', 'Bearer', 'Bearer x', `Bearer ${nobody.accessToken?.slice(0, -5)}AAAAA`],
    };
    for (const [code, values] of Object.entries(attempts))
      for (const authorization of values) {
        const answer = await service.client().request(method, path, {
          ...body,
          headers: { ...body.headers, authorization },
        });
        assertRefusedBy(route, answer, 401, code as ErrorCode);
        const challenge = answer.headers.get('www-authenticate') ?? '';
        assert.match(challenge, config.clientCredentials ? /^(Basic|Bearer)/ : /^Bearer/);
      }
  });

  if (config.access === 'authenticated' || config.access === 'user') continue;
  test(`${method} ${url} answers 403 to a user without ${config.access}, whatever the body contains`, async () => {
    assertRefusedBy(route, await nobody.request(method, path, body), 403, 'permission_denied');
  });

  test(`${method} ${url} lets a superuser past the permission check`, async () => {
    const answer = await admin.request(method, path, body);
    assert.notEqual(answer.status, 401, answer.text);
    assert.ok(!['permission_denied', 'insufficient_scope'].includes(codeIn(answer) ?? ''), answer.text);
  });
}

test('a missing permission is an audit event with the caller, the permission and the route', async () => {
  // Not the caller from above: only the first 60 refusals of a minute are recorded one by one.
  const somebody = await signIn(service, await createVerifiedUser(service));
  const answer = await somebody.put('/api/v1/users/me', { first_name: 'Eve' });
  assertRefused(answer, 403, 'permission_denied');
  const me = await somebody.get('/api/v1/users/me');
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

test('every route declares an existing access, and one that does not cannot be registered', async () => {
  const known = new Set<string>(['public', 'authenticated', 'user', ...allPermissions]);
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
