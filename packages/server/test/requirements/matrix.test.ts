// What a restricted session may call, and what a password may use: every route of the running service, as the routes declare it.
// It must not name a route but those that stay open.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefusedBy, isUnsafe, refusedBody, routesOf } from '@castellan/testing/http/fixture';
import {
  addStrong,
  ageProofs,
  requireOfPermission,
  requireOfRole,
} from '@castellan/testing/second-factors/requirements';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService(
  { after },
  { CONCURRENT_SESSION_LIMIT: '0', SELF_DELETION_DAYS: '14' },
);
const twin = await service.another();
const ENROL = 'second_factor_enrolment_required';
const guarded = (await routesOf(service)).filter(
  // Requirements bind people: the feed is for service accounts alone.
  ({ url, config }) =>
    url.startsWith('/api/') && config.access !== 'public' && config.access !== 'access.watch',
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

/** Somebody with an app whose token proves no more than the password, as on a trusted device. */
const unproved = await addStrong(service);
await service.sql('update session_tokens set acr = null, amr = null, auth_time = null where user_id = $1', [
  unproved.id,
]);
await service.sql('update users set is_superuser = true where id = $1', [unproved.id]);
await requireOfRole(service, unproved.role, 'aal2');
/** Their role asks for a passkey; they have an app, and have proved it. */
const tooWeak = await addStrong(service);
await requireOfRole(service, tooWeak.role, 'phr');

test('exactly the operations that lead out of it stay open to a restricted session', () => {
  const declared = guarded.filter(({ config }) => config.openTo?.includes('second_factor'));
  assert.deepEqual(declared, guarded.filter(isOpen));
  assert.ok(declared.length >= open.length + 6);
});

/** Asserts that the route asks for another proof, in the words of RFC 9470. */
function assertAsksFor(
  route: Route,
  answer: Answer,
  { acr, maxAge }: { acr: 'aal1' | 'aal2' | 'phr'; maxAge: number | null },
): void {
  assertRefusedBy(route, answer, 403, 'step_up_required');
  const challenge = answer.headers.get('www-authenticate') ?? '';
  assert.match(challenge, /^Bearer error="insufficient_user_authentication"/);
  const levels = { aal1: 'aal1 aal2 phr', aal2: 'aal2 phr', phr: 'phr' }[acr];
  assert.ok(challenge.includes(`acr_values="${levels}"`), challenge);
  assert.equal(/max_age="(\d+)"/.exec(challenge)?.[1], maxAge === null ? undefined : String(maxAge));
  if (!route.config.errorShape) assert.deepEqual(answer.body.step_up, { required_acr: acr, max_age: maxAge });
}

for (const route of guarded.filter((one) => !isOpen(one)))
  test(`${route.method} ${route.url}: refused to a session below what its account requires, superusers included`, async () => {
    for (const at of [service, twin]) {
      assertRefusedBy(route, await call(restricted.at(at.url), route), 403, ENROL);
      assertAsksFor(route, await call(unproved.client.at(at.url), route), { acr: 'aal2', maxAge: null });
      assertRefusedBy(route, await call(tooWeak.client.at(at.url), route), 403, ENROL);
    }
  });

test('a requirement that is only announced closes no operation, at either instance', async () => {
  const announced = await addRole(service, 'role.read');
  await requireOfRole(service, announced, 'phr', "now() + interval '1 hour'");
  const client = await signIn(service, await addPerson(service, { roles: [announced], superuser: true }));
  // Those that stay open end the session.
  for (const route of guarded.filter((one) => !isOpen(one)))
    for (const at of [service, twin]) {
      const { status, text } = await call(client.at(at.url), route);
      assert.ok(status !== 401 && status !== 403, `${route.method} ${route.url}: ${text}`);
    }
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
    const machine = service.client();
    machine.accessToken = (await addServiceAccount(service, { permissions: [permission] })).key;
    await requireOfPermission(service, permission, 'aal2');
    for (const route of routes) {
      for (const one of [client, superuser, client.at(twin.url)])
        assertAsksFor(route, await call(one, route), { acr: 'aal2', maxAge: null });
      const { status, text } = await call(strong.client, route);
      assert.ok(status !== 401 && status !== 403 && status < 500, text);
      // Requirements bind people: a machine has no second factor.
      const { body } = await call(machine, route);
      assert.notEqual(body?.code, 'step_up_required');
    }
    await requireOfPermission(service, permission, null);
    for (const route of routes) assert.notEqual((await call(client, route)).status, 403);
  });

test('a requirement refuses an app where it asks for a passkey, and any proof that is too old, on every route', async () => {
  for (const [permission, routes] of byPermission) {
    const { client, person } = await signedInWith(service, permission);
    const strong = await addStrong(service, permission);
    await requireOfPermission(service, permission, 'phr');
    for (const route of routes)
      assertAsksFor(route, await call(strong.client, route), { acr: 'phr', maxAge: null });
    await requireOfPermission(service, permission, 'aal1', 60);
    const passes = async (one: TestClient, route: Route) => {
      const { status, text } = await call(one, route);
      assert.ok(status !== 401 && status !== 403 && status < 500, `${route.url}: ${text}`);
    };
    for (const route of routes) for (const one of [client, strong.client]) await passes(one, route);
    for (const one of [person, strong]) await ageProofs(service, one, 90);
    for (const route of routes)
      for (const one of [client, strong.client])
        assertAsksFor(route, await call(one, route), { acr: 'aal1', maxAge: 60 });
    await requireOfPermission(service, permission, null);
  }
});

test('nobody is sent to prove more for what they may not do anyway, and nothing precedes the CSRF token', async () => {
  const nobody = await signIn(service, await addPerson(service));
  for (const [permission, routes] of byPermission) {
    await requireOfPermission(service, permission, 'aal2');
    for (const route of routes.filter(({ config }) => !config.orSelf)) {
      assertRefusedBy(route, await call(nobody, route), 403, 'permission_denied');
      if (!isUnsafe(route) || route.config.csrf === false) continue;
      const { headers, ...body } = refusedBody(route);
      const without = { ...body, headers: { ...headers, 'x-csrf-token': 'x' } };
      const answer = await restricted.request(route.method, route.path, without);
      assertRefusedBy(route, answer, 403, 'csrf_invalid');
    }
    await requireOfPermission(service, permission, null);
  }
});
