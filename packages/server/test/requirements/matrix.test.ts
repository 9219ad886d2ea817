// What a restricted session may call, and what a password may use: every route of the running service, as the routes declare it.
// It must not name a route but those that stay open.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefusedBy, refusedBody, routesOf } from '@castellan/testing/http/fixture';
import {
  addStrong,
  requireOfPermission,
  requireOfRole,
} from '@castellan/testing/second-factors/requirements';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const guarded = (await routesOf(service)).filter(
  ({ url, config }) => url.startsWith('/api/') && config.access !== 'public',
);
type Route = (typeof guarded)[number];

function call(client: TestClient, route: Route): Promise<Answer> {
  const body = refusedBody(route);
  const csrf = route.config.csrf === false ? { 'x-csrf-token': null } : {};
  return client.request(route.method, route.path, { ...body, headers: { ...body.headers, ...csrf } });
}

const open = [
  'GET /api/v1/users/me',
  'POST /api/v1/auth/logout',
  'POST /api/v1/auth/logout/all',
  'POST /api/v1/auth/change_password',
  'GET /api/v1/auth/sessions',
  'DELETE /api/v1/auth/sessions/:session_id',
];
const isOpen = ({ method, url }: Route): boolean =>
  open.includes(`${method} ${url}`) || /^\/api\/v1\/auth\/(factors|step-up|devices)(\/|$)/.test(url);

const role = await addRole(service, 'role.read');
await requireOfRole(service, role, 'aal2');
const restricted = await signIn(service, await addPerson(service, { roles: [role], superuser: true }));

test('exactly the operations that lead out of it stay open to a restricted session', () => {
  const declared = guarded.filter(({ config }) => config.openTo?.includes('second_factor'));
  assert.deepEqual(declared, guarded.filter(isOpen));
  assert.ok(declared.length >= open.length + 6);
});

for (const route of guarded.filter((one) => !isOpen(one)))
  test(`${route.method} ${route.url}: refused to a session below what its account requires, superusers included`, async () => {
    assertRefusedBy(route, await call(restricted, route), 403, 'second_factor_enrolment_required');
  });

for (const route of guarded.filter(isOpen))
  test(`${route.method} ${route.url}: open to a restricted session`, async () => {
    const client = await signIn(service, await addPerson(service, { roles: [role] }));
    const { status, body } = await call(client, route);
    assert.ok(status !== 401 && status < 500, `${status}`);
    assert.notEqual(body?.required_acr, 'aal2');
  });

const byPermission = Map.groupBy(
  guarded.filter(({ config }) => config.access !== 'authenticated' && config.access !== 'user'),
  ({ config }) => config.access as string,
);
for (const [permission, routes] of byPermission)
  test(`${permission}: a requirement of it refuses a password, superusers included, and not a second factor`, async () => {
    const { client } = await signedInWith(service, permission);
    const strong = await addStrong(service, permission);
    const superuser = await signIn(service, ADMIN);
    await requireOfPermission(service, permission, 'aal2');
    for (const route of routes) {
      for (const one of [client, superuser])
        assertRefusedBy(route, await call(one, route), 403, 'step_up_required');
      const { status, text } = await call(strong.client, route);
      assert.ok(status !== 401 && status !== 403 && status < 500, text);
    }
    await requireOfPermission(service, permission, null);
    for (const route of routes) assert.notEqual((await call(client, route)).status, 403);
  });
