// What personal access tokens are refused whatever they may do: everything under /auth, and every change of one's own account. The
// list of routes decides, so an operation that is added there is covered.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused, isUnsafe, routesOf } from '@castellan/testing/http/fixture';

const service = await startTestService({ after });
const routes = (await routesOf(service)).filter(({ config }) => config.access !== 'public');
const admin = await signIn(service, ADMIN);
const made = await admin.post('/api/v1/users/me/tokens', {
  name: 'Superuser',
  expires_at: new Date(Date.now() + 86_400_000).toISOString(),
});
const program = service.client();
program.accessToken = made.body.data.token;

const isForSessions = (route: (typeof routes)[number]): boolean =>
  /^\/api\/v1\/auth(\/|$)/.test(route.url) ||
  (/^\/api\/v1\/users\/me(\/|$)/.test(route.url) && isUnsafe(route));

test('a token of a superuser is refused on every one of them', async () => {
  const found = routes.filter(isForSessions);
  for (const part of ['/api/v1/auth/sessions', '/api/v1/auth/change_password', '/api/v1/users/me/tokens'])
    assert.ok(
      found.some(({ url }) => url === part),
      part,
    );
  for (const { method, path } of found)
    assertRefused(await program.request(method, path, { json: {} }), 403, 'user_session_required');
});

test('every other operation takes it, unless it asks for a fresh proof or for a session', async () => {
  const refused = new Set<string>();
  for (const route of routes.filter((one) => !isForSessions(one))) {
    const { method, path, url } = route;
    const answer = await program.request(method, path, isUnsafe(route) ? { json: {} } : {});
    assert.notEqual(answer.status, 401, `${method} ${url}: ${answer.text}`);
    assert.notEqual(answer.body?.code, 'user_required', `${method} ${url}`);
    if (answer.body?.code === 'user_session_required') refused.add(`${method} ${url}`);
  }
  for (const fresh of [
    'POST /api/v1/users/:user_id/factors/reset',
    'PUT /api/v1/permissions/:permission_id/authentication',
    'PUT /api/v1/roles/:role_id/authentication',
  ])
    assert.ok(refused.delete(fresh), fresh);
  for (const one of refused)
    assert.match(one, /users\/(me|:user_id)\//, `${one} takes no personal access token`);
  for (const url of ['/api/v1/users/me', '/api/v1/users/me/tokens', '/api/v1/users/me/attributes'])
    assert.equal((await program.get(url)).status, 200, url);
});
