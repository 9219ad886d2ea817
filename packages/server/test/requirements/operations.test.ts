// Setting what roles and permissions require: who may, what is refused, the preview, the list, versions and the audit log.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { makePermission } from '@castellan/testing/records/fixture';
import { enrol } from '@castellan/testing/second-factors/app';
import { addStrong, ageProofs, requireOfPermission } from '@castellan/testing/second-factors/requirements';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, eventsOf, roleNamed, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService(
  { after },
  {
    CONCURRENT_SESSION_LIMIT: '0',
    PUBLIC_URL: 'http://localhost:8000',
  },
);
const admin = await signIn(service, ADMIN);
await enrol(admin);

const ofRole = (id: string): string => `/api/v1/roles/${id}/authentication`;
const ofPermission = (id: string): string => `/api/v1/permissions/${id}/authentication`;
const inDays = (days: number): number => Date.now() + days * 86_400_000;

async function permissionId(name: string): Promise<string> {
  const [row] = await service.sql<{ id: string }>('select id from permissions where name = $1', [name]);
  return row?.id ?? assert.fail(name);
}

function robotWith(key: string): TestClient {
  const client = service.client();
  client.accessToken = key;
  return client;
}

test('a role gets a requirement with 14 days of grace, which its record, lists and the audit log show', async () => {
  const role = await addRole(service, 'role.read');
  const before = await admin.get(`/api/v1/roles/${role}`);
  assert.ok(!('authentication' in before.body.data));
  const answer = await admin.put(ofRole(role), { required_acr: 'aal2' });
  assert.equal(answer.status, 200, answer.text);
  const { required_acr, enforced_from } = answer.body.data.authentication;
  assert.equal(required_acr, 'aal2');
  assert.ok(Math.abs(Date.parse(enforced_from) - inDays(14)) < 3_600_000, enforced_from);
  assert.notEqual(answer.headers.get('etag'), before.headers.get('etag'));
  const read = await admin.get(`/api/v1/roles/${role}`);
  assert.deepEqual(read.body.data, answer.body.data);
  assert.equal(read.headers.get('etag'), answer.headers.get('etag'));
  for (const path of [`?name_pattern=Role ${role}`, `/summaries?name_pattern=Role ${role}`, '/list']) {
    const { body } = await admin.get(`/api/v1/roles${path}`);
    const shown = body.data.find(({ id }: { id: string }) => id === role);
    assert.deepEqual(shown.authentication, answer.body.data.authentication, path);
    for (const one of body.data)
      if (one.id !== role) assert.ok(!('authentication' in one) || one.authentication);
  }
  const [event] = await eventsOf(service, answer);
  assert.equal(event?.action, 'role_authentication_changed');
  assert.equal(event?.resource_id, role);
  assert.deepEqual(event?.details.before, { required_acr: null, enforced_from: null });
  assert.deepEqual(event?.details.after, { required_acr: 'aal2', enforced_from });
});

test('the date is kept, moved, or now; and lifting the requirement removes both', async () => {
  const role = await addRole(service, 'role.read');
  const from = new Date(inDays(3)).toISOString();
  const set = await admin.put(ofRole(role), { required_acr: 'aal2', enforced_from: from });
  assert.equal(set.body.data.authentication.enforced_from, from);
  const kept = await admin.put(ofRole(role), { required_acr: 'aal2' });
  assert.equal(kept.body.data.authentication.enforced_from, from);
  assert.deepEqual(await eventsOf(service, kept), [], 'nothing changed');
  assert.equal(kept.headers.get('etag'), set.headers.get('etag'));
  const now = await admin.put(ofRole(role), { required_acr: 'aal2', enforced_from: '2001-01-01T00:00:00Z' });
  assert.ok(Math.abs(Date.parse(now.body.data.authentication.enforced_from) - Date.now()) < 3_600_000);
  const lifted = await admin.put(ofRole(role), { required_acr: null });
  assert.ok(!('authentication' in lifted.body.data));
});

test('a permission gets a requirement, and its ETag follows the value', async () => {
  const { id, name } = await makePermission(admin);
  const before = await admin.get(`/api/v1/permissions/${id}`);
  assert.equal(before.headers.get('etag'), null);
  const answer = await admin.put(
    ofPermission(id),
    { required_acr: 'aal2', max_auth_age: 600 },
    { headers: { 'if-match': '"0"' } },
  );
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.body.data.authentication, { required_acr: 'aal2', max_auth_age: 600 });
  const { headers, body } = await admin.get(`/api/v1/permissions/${id}`);
  assert.deepEqual([headers.get('etag'), body.data], [answer.headers.get('etag'), answer.body.data]);
  const stale = await admin.put(
    ofPermission(id),
    { required_acr: null, max_auth_age: null },
    { headers: { 'if-match': '"0"' } },
  );
  assert.deepEqual([stale.status, stale.body.code], [412, 'precondition_failed']);
  assert.deepEqual(stale.body.current, answer.body.data);
  const [event] = await eventsOf(service, answer);
  assert.equal(event?.action, 'permission_authentication_changed');
  assert.deepEqual(event?.details.before, { required_acr: null, max_auth_age: null });
  assert.deepEqual(event?.details.after, { required_acr: 'aal2', max_auth_age: 600 });
  const young = await admin.put(ofPermission(id), { required_acr: null, max_auth_age: 300 });
  assert.deepEqual(young.body.data.authentication, { required_acr: 'aal1', max_auth_age: 300 });
  const list = await admin.get('/api/v1/permissions?size=100&is_builtin=false');
  const shown = list.body.data.find((one: { name: string }) => one.name === name);
  assert.deepEqual(shown.authentication, { required_acr: 'aal1', max_auth_age: 300 });
});

test('a role with an old version is 412', async () => {
  const role = await addRole(service, 'role.read');
  const answer = await admin.put(ofRole(role), { required_acr: 'aal2' }, { headers: { 'if-match': '"0"' } });
  assert.deepEqual([answer.status, answer.body.code], [412, 'precondition_failed']);
});

test('system roles and built-in permissions take requirements', async () => {
  const role = await roleNamed(service, 'Admin');
  assert.equal((await admin.put(ofRole(role), { required_acr: 'aal2' })).status, 200);
  assert.equal((await admin.put(ofRole(role), { required_acr: null })).status, 200);
  const id = await permissionId('session.read');
  assert.equal((await admin.put(ofPermission(id), { required_acr: 'aal2', max_auth_age: null })).status, 200);
  assert.equal((await admin.put(ofPermission(id), { required_acr: null, max_auth_age: null })).status, 200);
});

test('nobody sets what their own call does not meet, nor lifts it', async () => {
  const role = await addRole(service, 'role.read');
  const { client } = await signedInWith(service, 'authentication.update', 'role.read');
  for (const acr of ['aal2', 'phr']) {
    const refused = await client.put(ofRole(role), { required_acr: acr });
    assert.deepEqual([refused.status, refused.body.code], [403, 'step_up_required'], acr);
    assert.equal(refused.body.step_up.required_acr, acr);
  }
  assert.equal((await admin.put(ofRole(role), { required_acr: 'aal2' })).status, 200);
  const lifting = await client.put(ofRole(role), { required_acr: null });
  assert.deepEqual([lifting.status, lifting.body.code], [403, 'step_up_required']);
  const { id } = await makePermission(admin);
  const strong = await addStrong(service, 'authentication.update');
  await service.sql('insert into role_permissions (role_id, permission_id) values ($1, $2)', [
    strong.role,
    id,
  ]);
  const phr = await strong.client.put(ofPermission(id), { required_acr: 'phr', max_auth_age: null });
  assert.deepEqual([phr.status, phr.body.code], [403, 'step_up_required']);
  assert.equal(
    (await strong.client.put(ofPermission(id), { required_acr: 'aal2', max_auth_age: null })).status,
    200,
  );
});

test('only who holds every permission of the role, or the permission, sets its requirement', async () => {
  const strong = await addStrong(service, 'authentication.update');
  const role = await addRole(service, 'role.read', 'authentication.update');
  const refused = await strong.client.put(ofRole(role), { required_acr: 'aal2' });
  assert.deepEqual([refused.status, refused.body.code], [403, 'privilege_escalation']);
  const id = await permissionId('role.read');
  const other = await strong.client.put(ofPermission(id), { required_acr: 'aal2', max_auth_age: null });
  assert.deepEqual([other.status, other.body.code], [403, 'privilege_escalation']);
});

test('it needs a fresh proof', async () => {
  const strong = await addStrong(service, 'authentication.update');
  await ageProofs(service, strong, 660);
  const { status, body } = await strong.client.put(ofRole(strong.role), { required_acr: 'aal2' });
  assert.deepEqual([status, body.code, body.step_up.max_age], [403, 'step_up_required', 600]);
});

test('a service account makes a requirement stricter and never weaker', async () => {
  const account = await addServiceAccount(service, { permissions: ['authentication.update'] });
  const robot = robotWith(account.key);
  const role = await addRole(service);
  const from = new Date(inDays(5)).toISOString();
  assert.equal((await robot.put(ofRole(role), { required_acr: 'aal2', enforced_from: from })).status, 200);
  assert.equal((await robot.put(ofRole(role), { required_acr: 'phr' })).status, 200);
  const weaker = [
    { required_acr: null },
    { required_acr: 'aal2' },
    { required_acr: 'phr', enforced_from: new Date(inDays(6)).toISOString() },
  ];
  for (const body of weaker) {
    const answer = await robot.put(ofRole(role), body);
    assert.deepEqual([answer.status, answer.body.code], [403, 'user_required'], JSON.stringify(body));
  }
  const own = await permissionId('authentication.update');
  assert.equal((await robot.put(ofPermission(own), { required_acr: 'aal1', max_auth_age: 900 })).status, 200);
  assert.equal((await robot.put(ofPermission(own), { required_acr: 'aal1', max_auth_age: 600 })).status, 200);
  for (const max_auth_age of [900, null])
    assert.equal(
      (await robot.put(ofPermission(own), { required_acr: 'aal1', max_auth_age })).body.code,
      'user_required',
    );
  await requireOfPermission(service, 'authentication.update', null);
});

test('wrong bodies are 422, unknown records 404, and phr where no passkeys can be is 409', async () => {
  const role = await addRole(service);
  for (const body of [
    {},
    { required_acr: 'aal1' },
    { required_acr: 'aal3' },
    { required_acr: 'aal2', enforced_from: 'tomorrow' },
    { required_acr: null, enforced_from: '2030-01-01T00:00:00Z' },
  ])
    assert.equal((await admin.put(ofRole(role), body)).status, 422, JSON.stringify(body));
  const { id } = await makePermission(admin);
  for (const body of [
    { required_acr: 'aal2' },
    { required_acr: 'mfa', max_auth_age: null },
    { required_acr: 'aal2', max_auth_age: 29 },
    { required_acr: 'aal2', max_auth_age: 86_401 },
    { required_acr: 'aal2', max_auth_age: 60.5 },
  ])
    assert.equal((await admin.put(ofPermission(id), body)).status, 422, JSON.stringify(body));
  const unknown = '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210';
  assert.equal((await admin.put(ofRole(unknown), { required_acr: 'aal2' })).body.code, 'role_not_found');
  assert.equal(
    (await admin.put(ofPermission(unknown), { required_acr: 'aal2', max_auth_age: null })).body.code,
    'permission_not_found',
  );
  const numbered = await startTestService({ after }, { PUBLIC_URL: 'http://127.0.0.1:8000' });
  const there = await signIn(numbered, ADMIN);
  const answer = await there.put(ofRole(await addRole(numbered)), { required_acr: 'phr' });
  assert.deepEqual([answer.status, answer.body.code], [409, 'passkeys_unavailable']);
});

test('the preview counts active holders and names those without a factor; nothing changes', async () => {
  const role = await addRole(service, 'role.read');
  const without = await addPerson(service, { roles: [role], firstName: 'Zoe' });
  await addPerson(service, { roles: [role], active: false });
  const strong = await addStrong(service);
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [strong.id, role]);
  const { body } = await admin.put(`${ofRole(role)}?dry_run=true`, { required_acr: 'aal2' });
  assert.deepEqual(body.data, {
    dry_run: true,
    would_be_refused: null,
    impact: {
      holders: 2,
      without_factor: 1,
      subjects: [{ type: 'user', id: without.id, name: 'Zoe Lovelace' }],
      more: 0,
    },
  });
  const { data } = (await admin.get(`/api/v1/roles/${role}`)).body;
  assert.ok(!('authentication' in data));
  const phr = await admin.put(`${ofRole(role)}?dry_run=true`, { required_acr: null });
  assert.equal(phr.body.data.impact.without_factor, 0);
  const { id } = await makePermission(admin);
  const ofPerm = await admin.put(`${ofPermission(id)}?dry_run=true`, {
    required_acr: 'aal2',
    max_auth_age: null,
  });
  const superusers = await service.sql('select from users where is_superuser and is_active');
  assert.ok(ofPerm.body.data.impact.holders >= superusers.length);
});

test('the list has the settings, roles with their holders, and permissions', async () => {
  const role = await addRole(service, 'role.read');
  await addPerson(service, { roles: [role] });
  const set = await admin.put(ofRole(role), { required_acr: 'aal2' });
  const { id, name } = await makePermission(admin);
  await admin.put(ofPermission(id), { required_acr: 'aal2', max_auth_age: 60 });
  const { client } = await signedInWith(service, 'authentication.read');
  const { status, body } = await client.get('/api/v1/authentication/requirements');
  assert.equal(status, 200);
  assert.deepEqual(body.data.settings, { required_for: 'nobody', enforced_from: null });
  const listed = body.data.roles.find((one: { role: { id: string } }) => one.role.id === role);
  assert.deepEqual(listed, {
    role: { id: role, name: `Role ${role}` },
    ...set.body.data.authentication,
    holders: 1,
    without_factor: 1,
  });
  const permission = body.data.permissions.find(
    (one: { permission: { id: string } }) => one.permission.id === id,
  );
  assert.deepEqual(permission, { permission: { id, name }, required_acr: 'aal2', max_auth_age: 60 });
});

test('people change their own address with a fresh proof only; other changes of addresses need none', async () => {
  const strong = await addStrong(service, 'users.update', 'users.read');
  await ageProofs(service, strong, 660);
  const own = await strong.client.put(`/api/v1/users/${strong.id}`, { email: `new-${strong.email}` });
  assert.deepEqual([own.status, own.body.code], [403, 'step_up_required']);
  const other = await addPerson(service);
  const changed = await strong.client.put(`/api/v1/users/${other.id}`, { email: `new-${other.email}` });
  assert.equal(changed.status, 200, changed.text);
  const { client, person } = await signedInWith(service, 'users.update', 'users.read');
  await ageProofs(service, person, 660);
  const plain = await client.put(`/api/v1/users/${person.id}`, { email: `new-${person.email}` });
  assert.deepEqual([plain.status, plain.body.code], [403, 'step_up_required']);
});
