// What stays the user's own while somebody acts as them: one rule of methods and paths, tried at every operation that is there.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused, isUnsafe, routesOf } from '@castellan/testing/http/fixture';
import { actingClient } from '@castellan/testing/sessions/acting';
import { addPerson, addRole, isSignedIn, roleNamed } from '@castellan/testing/users/people';
import { isForTheUserAlone } from '../../src/platform/http/own-account.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const user = await addPerson(service, { roles: [await roleNamed(service, 'Admin')] });
const acting = await actingClient(service, admin, user);

/** Operations of a signed-in person about themselves that change nothing and tell no more than their record. */
const open = new Set([
  'POST /api/v1/auth/logout',
  'GET /api/v1/users/me',
  'GET /api/v1/users/me/effective-permissions',
  'GET /api/v1/users/me/attributes',
  'GET /api/v1/users/me/applications',
  'GET /api/v1/users/me/identities',
  'GET /api/v1/users/me/tokens',
]);
const isPersonal = ({ url, access }: { url: string; access: string }): boolean =>
  access !== 'public' &&
  (url.startsWith('/api/v1/auth/') ||
    url === '/api/v1/users/me' ||
    url.startsWith('/api/v1/users/me/') ||
    access === 'user' ||
    access.startsWith('self.'));
const operations = (await routesOf(service))
  .filter(({ method }) => !['HEAD', 'OPTIONS'].includes(method))
  .map(({ method, url, config }) => ({ method, url, access: config.access ?? 'authenticated' }));
const personal = operations.filter(isPersonal);

test('everything about signing in and every write about oneself is 403 acting_as, before the body is judged', async () => {
  const refused = personal.filter(({ method, url }) => !open.has(`${method} ${url}`));
  assert.ok(refused.length > 15);
  for (const { method, url } of refused) {
    const path = url.replaceAll(/:\w+/g, '00000000-0000-4000-8000-000000000000');
    const answer = await acting.request(method, path, method === 'GET' ? {} : { json: {} });
    assert.deepEqual(
      [answer.status, answer.body.code],
      [403, 'acting_as'],
      `${method} ${url}: ${answer.text}`,
    );
  }
  assert.ok(await isSignedIn(acting));
});

test('every other operation is judged by the permissions of the user', () => {
  const rest = operations.filter(({ access }) => access !== 'public' && access !== 'users.act_as');
  for (const one of rest)
    if (!isPersonal(one) || open.has(`${one.method} ${one.url}`))
      assert.equal(isForTheUserAlone(one), false, `${one.method} ${one.url}`);
});

test('an operation that is added later is covered', () => {
  for (const [method, url, access] of [
    ['POST', '/api/v1/users/me/email', 'user'],
    ['GET', '/api/v1/users/me/export', 'user'],
    ['DELETE', '/api/v1/users/me', 'user'],
    ['POST', '/api/v1/users/me/tokens', 'user'],
    ['PATCH', '/api/v1/users/me/attributes', 'self.update_profile'],
    ['GET', '/api/v1/auth/anything', 'user'],
    ['PUT', '/api/v1/somewhere-else', 'user'],
    ['POST', '/api/v1/users/:user_id/act-as', 'users.act_as'],
  ] as const)
    assert.ok(isForTheUserAlone({ method, url, access }), `${method} ${url}`);
});

test('operations of administrators do not reach the account of the user either', async () => {
  const other = await addPerson(service);
  const role = await addRole(service);
  const own = `/api/v1/users/${user.id}`;
  for (const [method, path, json] of [
    ['PUT', own, { email: 'taken-over@example.com' }],
    ['PUT', own.toUpperCase().replace('/API/V1/USERS', '/api/v1/users'), { first_name: 'Eve' }],
    ['PUT', '/api/v1/users/bulk-update', { user_ids: [other.id, user.id], updates: { first_name: 'Eve' } }],
    ['POST', `${own}/roles`, { role_ids: [role] }],
    ['DELETE', `${own}/sessions`, undefined],
    ['POST', `${own}/unlock`, undefined],
    ['POST', '/api/v1/access/changes', { changes: [{ user_id: user.id, add_role_ids: [role] }] }],
  ] as const)
    assertRefused(await acting.request(method, path, json === undefined ? {} : { json }), 403, 'acting_as');
  const changed = await acting.put(`/api/v1/users/${other.id}`, { first_name: 'Grace' });
  assert.equal(changed.status, 200, changed.text);
});

test('operations of administrators do not reach the account of who acts, whom they refuse more', async () => {
  const self = await addPerson(service, { roles: [await roleNamed(service, 'Admin')] });
  const client = await signIn(service, self);
  const peer = await actingClient(service, client, user);
  const own = `/api/v1/users/${self.id}`;
  for (const [method, path, json] of [
    ['PUT', own, { password: 'Another-Quartz-82-Lime' }],
    ['PUT', own, { email: newEmail('own') }],
    ['PUT', '/api/v1/users/bulk-update', { user_ids: [self.id], updates: { first_name: 'Eve' } }],
    ['POST', `${own}/factors/reset`, {}],
    ['POST', `${own}/erase`, undefined],
    ['DELETE', `${own}/sessions`, undefined],
    ['DELETE', own, undefined],
  ] as const)
    assertRefused(await peer.request(method, path, json === undefined ? {} : { json }), 403, 'acting_as');
  assert.ok(await isSignedIn(client));
});

test('operations that refuse the account of the user declare the refusal', async () => {
  const onUsers = (await routesOf(service)).filter(
    (route) => isUnsafe(route) && route.url.startsWith('/api/v1/users/:user_id'),
  );
  const refusing = [];
  for (const { method, url, config } of onUsers) {
    const path = url.replace(':user_id', user.id).replaceAll(/:\w+/g, '00000000-0000-4000-8000-000000000000');
    const answer = await acting.request(method, path, { json: {} });
    if (answer.body?.code !== 'acting_as') continue;
    refusing.push(url);
    const isDeclared = config.access === 'users.act_as' || config.errors?.includes('acting_as');
    assert.ok(isDeclared, `${method} ${url}`);
  }
  assert.ok(refusing.length > 10, refusing.join());
});

test('the token refreshes nothing, and opens no application', async () => {
  const token = acting.accessToken ?? '';
  for (const path of ['/api/v1/auth/refresh', '/api/v1/auth/new_access_token']) {
    const answer = await service.client().post(path, { refresh_token: token });
    assert.equal(answer.status, 401, answer.text);
  }
  const info = await service.client().get('/api/v1/oauth/userinfo', {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(info.status, 401);
  assert.deepEqual(
    [...acting.cookies.keys()].filter((name) => !name.includes('csrf')),
    [],
  );
});
