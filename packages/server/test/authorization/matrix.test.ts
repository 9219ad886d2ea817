// Who may call what: every kind of caller against every route of the running service, from what the routes declare.
// It must not name a route: one that is added is in the matrix at once.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { allPermissions } from '@castellan/contract/permissions';
import type { TestClient } from '../client.ts';
import { ADMIN, signIn, startTestService } from '../harness.ts';
import { assertRefused, isUnsafe, routesOf } from '../http/fixture.ts';
import { addPerson, signedInWith } from '../users/people.ts';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const routes = (await routesOf(service)).filter(({ url }) => url.startsWith('/api/'));
const guarded = routes.filter(({ config }) => config.access !== 'public');
const permissionRoutes = guarded.filter(({ config }) => config.access !== 'authenticated');

const nobody = await signIn(service, await addPerson(service));
/** Signed in with one permission, or with all but one. */
const holders = new Map<string, { only: TestClient; others: TestClient }>();
for (const permission of new Set(permissionRoutes.map(({ config }) => config.access as string))) {
  const [only, others] = await Promise.all([
    signedInWith(service, permission),
    signedInWith(service, ...allPermissions.filter((one) => one !== permission)),
  ]);
  holders.set(permission, { only: only.client, others: others.client });
}

type Route = (typeof routes)[number];
// A body that no operation can read: whoever gets as far as the body is past the guard, and changes nothing.
const call = (client: TestClient, { method, path }: Route, headers: Record<string, string | null> = {}) =>
  client.request(method, path, {
    ...(method === 'GET' ? {} : { raw: '{' }),
    headers: { ...(method === 'GET' ? {} : { 'content-type': 'application/json' }), ...headers },
  });

function assertLetIn(answer: { status: number; text: string; body?: { code?: string } }): void {
  assert.ok(answer.status !== 401 && answer.status !== 403 && answer.status < 500, answer.text);
}

async function endedSession(): Promise<string> {
  const client = await signIn(service, await addPerson(service));
  const token = client.accessToken as string;
  await client.post('/api/v1/auth/logout');
  return token;
}
const revoked = await endedSession();

test('every operation but the public ones is in the matrix, and every permission guards something', () => {
  assert.ok(guarded.length >= 50);
  assert.deepEqual([...holders.keys()].sort(), [...allPermissions].sort());
});

for (const route of guarded) {
  const name = `${route.method} ${route.url}`;

  test(`${name}: 401 without a token, with a malformed one, with one of an ended session`, async () => {
    const client = service.client();
    assertRefused(await call(client, route), 401, 'token_missing');
    for (const authorization of ['Bearer', 'Basic YTpi', 'Bearer a.b.c', `Bearer ${nobody.accessToken}x`]) {
      const answer = await call(client, route, { authorization });
      assert.equal(answer.status, 401, `${authorization}: ${answer.text}`);
    }
    const answer = await call(client, route, { authorization: `Bearer ${revoked}` });
    assertRefused(answer, 401, 'token_revoked');
    assert.match(answer.body.detail, /revoked/);
  });

  if (isUnsafe(route))
    test(`${name}: without a CSRF token 403 before anything else, whoever calls`, async () => {
      const admin = await superuser();
      for (const client of [service.client(), nobody, admin])
        for (const token of [null, 'x'])
          assertRefused(await call(client, route, { 'x-csrf-token': token }), 403, 'csrf_invalid');
    });
}

// One for the whole file: no call of the matrix gets as far as ending a session but those without a body.
let administrator: TestClient | undefined;
async function superuser(): Promise<TestClient> {
  administrator ??= await signIn(service, ADMIN);
  return administrator;
}

for (const route of permissionRoutes) {
  const permission = route.config.access as string;
  test(`${route.method} ${route.url}: for holders of ${permission} and superusers, and for nobody else`, async () => {
    const { only, others } = holders.get(permission) as { only: TestClient; others: TestClient };
    for (const client of [nobody, others]) assertRefused(await call(client, route), 403, 'permission_denied');
    assertLetIn(await call(only, route));
    assertLetIn(await call(await superuser(), route));
  });
}

for (const route of guarded.filter(({ config }) => config.access === 'authenticated'))
  test(`${route.method} ${route.url}: for everybody who is signed in, unless it is for administrators`, async () => {
    // Each time anew, because some of these routes end the session that asks.
    const somebody = await signIn(service, await addPerson(service));
    const answer = await call(somebody, route);
    if (route.config.errors?.includes('admin_required')) assertRefused(answer, 403, 'admin_required');
    else assertLetIn(answer);
    assertLetIn(await call(await signIn(service, ADMIN), route));
  });

test('every route with a permission: taken from the role or given to it, it counts at the next request, at every instance', async () => {
  for (const [permission, route] of new Map(permissionRoutes.map((one) => [one.config.access, one]))) {
    const { client, person } = await signedInWith(service, permission as string);
    const role = '(select role_id from user_roles where user_id = $1)';
    const named = '(select id from permissions where name = $2)';
    for (const at of [client, client.at(twin.url)]) assertLetIn(await call(at, route));
    await service.sql(`delete from role_permissions where role_id = ${role} and permission_id = ${named}`, [
      person.id,
      permission,
    ]);
    for (const at of [client.at(twin.url), client])
      assertRefused(await call(at, route), 403, 'permission_denied');
    await service.sql(`insert into role_permissions (role_id, permission_id) values (${role}, ${named})`, [
      person.id,
      permission,
    ]);
    for (const at of [client.at(twin.url), client]) assertLetIn(await call(at, route));
  }
});

test('a role taken from a user, and a superuser demoted, count at the next request, at every instance', async () => {
  const route = permissionRoutes.find(({ config }) => config.access === 'role.read') as Route;
  const { client, person } = await signedInWith(service, 'role.read');
  const boss = await addPerson(service, { superuser: true });
  const bossClient = await signIn(service, boss);
  for (const one of [client, bossClient]) assertLetIn(await call(one, route));
  await service.sql('delete from user_roles where user_id = $1', [person.id]);
  await service.sql('update users set is_superuser = false where id = $1', [boss.id]);
  for (const one of [client, bossClient])
    for (const at of [one.at(twin.url), one]) assertRefused(await call(at, route), 403, 'permission_denied');
});
