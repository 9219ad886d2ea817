// Who may call what: every kind of caller against every route of the running service, as the routes declare it.
// It must not name a route, so that a new one is tested at once.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { allPermissions } from '@castellan/contract/permissions';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import {
  assertRefused,
  assertRefusedBy,
  isUnsafe,
  refusedBody,
  routesOf,
} from '@castellan/testing/http/fixture';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { clientToken } from '@castellan/testing/service-accounts/token-services';
import { addPerson, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService(
  { after },
  { CONCURRENT_SESSION_LIMIT: '0', SELF_DELETION_DAYS: '14' },
);
const twin = await service.another();
const routes = (await routesOf(service)).filter(({ url }) => url.startsWith('/api/'));
type Route = (typeof routes)[number];
const guarded = routes.filter(({ config }) => config.access !== 'public');
const isForEverybody = ({ config }: Route): boolean =>
  config.access === 'authenticated' || config.access === 'user';
const permissionRoutes = guarded.filter((route) => !isForEverybody(route));

const nobody = await signIn(service, await addPerson(service));
/** Clients with only this permission, and with all but this one. */
const holders = new Map<string, { only: TestClient; others: TestClient }>();
for (const permission of new Set(permissionRoutes.map(({ config }) => config.access as string))) {
  const [only, others] = await Promise.all([
    signedInWith(service, permission),
    signedInWith(service, ...allPermissions.filter((one) => one !== permission)),
  ]);
  holders.set(permission, { only: only.client, others: others.client });
}

// A caller who passes the guard changes nothing.
function call(
  client: TestClient,
  route: Route,
  headers: Record<string, string | null> = {},
): Promise<Answer> {
  const body = refusedBody(route);
  const csrf = route.config.csrf === false ? { 'x-csrf-token': null } : {};
  return client.request(route.method, route.path, {
    ...body,
    headers: { ...body.headers, ...csrf, ...headers },
  });
}

function assertPassedGuard(answer: { status: number; text: string; body?: { code?: string } }): void {
  assert.ok(answer.status !== 401 && answer.status !== 403 && answer.status < 500, answer.text);
}

/** A person who passes the guard is refused at operations for service accounts alone. */
function assertPersonPassed(route: Route, answer: Answer): void {
  if (route.config.errors?.includes('service_account_required'))
    assertRefused(answer, 403, 'service_account_required');
  else assertPassedGuard(answer);
}

async function endedSession(): Promise<string> {
  const client = await signIn(service, await addPerson(service));
  const token = client.accessToken as string;
  await client.post('/api/v1/auth/logout');
  return token;
}
const revoked = await endedSession();

test('every operation except the public ones is in the matrix, and every permission guards an operation', () => {
  assert.ok(guarded.length >= 50);
  // Where everybody may ask about themselves, test/access asks about others.
  const forOthers = guarded.flatMap(({ config }) => config.othersNeed ?? []);
  assert.deepEqual([...new Set([...holders.keys(), ...forOthers])].sort(), [...allPermissions].sort());
});

for (const route of guarded) {
  const name = `${route.method} ${route.url}`;

  test(`${name}: 401 without a token, with a malformed one, with one of an ended session`, async () => {
    const client = service.client();
    assertRefusedBy(route, await call(client, route), 401, 'token_missing');
    for (const authorization of ['Bearer', 'Basic YTpi', 'Bearer a.b.c', `Bearer ${nobody.accessToken}x`]) {
      const answer = await call(client, route, { authorization });
      assert.equal(answer.status, 401, `${authorization}: ${answer.text}`);
    }
    const answer = await call(client, route, { authorization: `Bearer ${revoked}` });
    assertRefusedBy(route, answer, 401, 'token_revoked');
    if (!route.config.errorShape) assert.match(answer.body.detail, /revoked/);
  });

  if (isUnsafe(route) && route.config.csrf !== false)
    test(`${name}: 403 without a CSRF token before anything else, for every caller`, async () => {
      const admin = await superuser();
      for (const client of [service.client(), nobody, admin])
        for (const token of [null, 'x'])
          assertRefused(await call(client, route, { 'x-csrf-token': token }), 403, 'csrf_invalid');
    });
}

// One for the whole file: only calls without a body can end its session.
let administrator: TestClient | undefined;
async function superuser(): Promise<TestClient> {
  administrator ??= await signIn(service, ADMIN);
  return administrator;
}

for (const route of permissionRoutes) {
  const permission = route.config.access as string;
  test(`${route.method} ${route.url}: only for holders of ${permission} and superusers`, async () => {
    const { only, others } = holders.get(permission) as { only: TestClient; others: TestClient };
    for (const client of [nobody, others])
      for (const accept of ['application/json', 'application/problem+json']) {
        const answer = await call(client, route, { accept });
        assertRefusedBy(route, answer, 403, 'permission_denied');
        if (!route.config.errorShape) assert.equal(answer.body.required_permission, permission);
      }
    assertPersonPassed(route, await call(only, route));
    assertPersonPassed(route, await call(await superuser(), route));
  });
}

/** Returns a client that sends the API key, without cookies or a CSRF token. */
function robotWith(key: string): TestClient {
  const client = service.client();
  client.accessToken = key;
  return client;
}
const withoutCsrf = { 'x-csrf-token': null };
const strong = await addServiceAccount(service, { permissions: allPermissions });
const weak = await addServiceAccount(service);
const isPersonal = ({ config }: Route): boolean =>
  config.access === 'user' || config.access?.startsWith('self.') === true;

for (const route of guarded) {
  const access = route.config.access as string;
  const name = `${route.method} ${route.url}`;

  if (isPersonal(route)) {
    test(`${name}: 403 for every API key and client token`, async () => {
      for (const key of [strong.key, weak.key, await clientToken(service, strong)])
        assertRefused(await call(robotWith(key), route, withoutCsrf), 403, 'user_required');
    });
    continue;
  }
  if (isForEverybody(route)) continue;

  test(`${name}: only for API keys and client tokens that hold ${access} and are not narrowed to less, at every instance`, async () => {
    const others = allPermissions.filter((one) => one !== access);
    const account = await addServiceAccount(service, { permissions: others });
    const [only, less] = [
      await addApiKey(service, strong.id, { narrowedTo: [access] }),
      await addApiKey(service, strong.id, { narrowedTo: others }),
    ];
    const tokens = await Promise.all(
      [only, less].map(({ key }) => clientToken(service, { id: strong.id, key })),
    );
    const [tokenOfOnly = '', tokenOfLess = ''] = tokens;
    for (const key of [weak.key, account.key, less.key, tokenOfLess])
      for (const at of [robotWith(key), robotWith(key).at(twin.url)]) {
        const answer = await call(at, route, withoutCsrf);
        assertRefusedBy(route, answer, 403, 'permission_denied');
        if (!route.config.errorShape) assert.equal(answer.body.required_permission, access);
      }
    for (const key of [strong.key, only.key, tokenOfOnly])
      for (const at of [robotWith(key), robotWith(key).at(twin.url)])
        assertPassedGuard(await call(at, route, withoutCsrf));
  });
}

for (const route of permissionRoutes) {
  const { access, orSelf } = route.config;
  if (!orSelf) continue;
  test(`${route.method} ${route.url}: without ${access} for callers about themselves, and nobody else`, async () => {
    const person = await addPerson(service);
    const callers = {
      user: { id: person.id, client: await signIn(service, person) },
      service_account: { id: weak.id, client: robotWith(weak.key) },
    };
    for (const [type, { client }] of Object.entries(callers))
      for (const { id } of Object.values(callers))
        for (const given of [id, id.toUpperCase(), `${id}0`]) {
          const path = route.url.replace(`:${orSelf.param}`, given);
          const answer = await call(client, { ...route, path });
          if (type === orSelf.type && given.toLowerCase() === callers[orSelf.type].id)
            assertPassedGuard(answer);
          else assertRefused(answer, 403, 'permission_denied');
        }
  });
}

for (const route of guarded.filter(isForEverybody))
  test(`${route.method} ${route.url}: for every signed-in user, unless it is for administrators`, async () => {
    // A new session each time, because some of these routes end the session of the caller.
    const somebody = await signIn(service, await addPerson(service));
    const answer = await call(somebody, route);
    if (route.config.errors?.includes('admin_required')) assertRefused(answer, 403, 'admin_required');
    else assertPassedGuard(answer);
    assertPassedGuard(await call(await signIn(service, ADMIN), route));
  });

test('a permission removed from a role or added to it counts at the next request of every route, at every instance', async () => {
  for (const [permission, route] of new Map(permissionRoutes.map((one) => [one.config.access, one]))) {
    const { client, person } = await signedInWith(service, permission as string);
    const role = '(select role_id from user_roles where user_id = $1)';
    const named = '(select id from permissions where name = $2)';
    for (const at of [client, client.at(twin.url)]) assertPersonPassed(route, await call(at, route));
    await service.sql(`delete from role_permissions where role_id = ${role} and permission_id = ${named}`, [
      person.id,
      permission,
    ]);
    for (const at of [client.at(twin.url), client])
      assertRefusedBy(route, await call(at, route), 403, 'permission_denied');
    await service.sql(`insert into role_permissions (role_id, permission_id) values (${role}, ${named})`, [
      person.id,
      permission,
    ]);
    for (const at of [client.at(twin.url), client]) assertPersonPassed(route, await call(at, route));
  }
});

test('a role taken from a user, and the demotion of a superuser, count at the next request, at every instance', async () => {
  const route = permissionRoutes.find(({ config }) => config.access === 'role.read') as Route;
  const { client, person } = await signedInWith(service, 'role.read');
  const boss = await addPerson(service, { superuser: true });
  const bossClient = await signIn(service, boss);
  for (const one of [client, bossClient]) assertPassedGuard(await call(one, route));
  await service.sql('delete from user_roles where user_id = $1', [person.id]);
  await service.sql('update users set is_superuser = false where id = $1', [boss.id]);
  for (const one of [client, bossClient])
    for (const at of [one.at(twin.url), one]) assertRefused(await call(at, route), 403, 'permission_denied');
});
