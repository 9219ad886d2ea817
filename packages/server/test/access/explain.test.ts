// Explanations: the decision, its reason and sources, and after a denial the roles that would change it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import { makePermission, makeRole, makeRoleGroup } from '@castellan/testing/records/fixture';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { countStatements } from '@castellan/testing/statements';
import { addPerson, addRole, eventsOf, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const twin = await service.another();
const admin = await signIn(service, ADMIN);

const ask = (client: TestClient, type: string, id: string, permission: string) =>
  client.post('/api/v1/access/explain', { subject: { type, id }, permission });

async function explained(type: string, id: string, permission: string, client = admin) {
  const answer = await ask(client, type, id, permission);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data;
}

function robotWith(key: string): TestClient {
  const client = service.client();
  client.accessToken = key;
  return client;
}

/** Creates a permission that no role holds, not even the role Admin. */
async function newPermission(): Promise<{ id: string; name: string }> {
  const { id, name } = await makePermission(admin);
  await service.sql('delete from role_permissions where permission_id = $1', [id]);
  return { id, name };
}

test('a grant names its roles with their role groups, and no nearest roles', async () => {
  const company = await makeRoleGroup(admin);
  const team = await makeRoleGroup(admin, { parent_id: company.id });
  const permission = await makePermission(admin);
  const role = await makeRole(admin, { permission_ids: [permission.id], role_group_id: team.id });
  const ada = await addPerson(service, { roles: [role.id, await addRole(service, 'role.read')] });
  const source = {
    role: { id: role.id, name: role.name, is_system: false },
    role_groups: [[company.name, team.name]],
  };
  const expected = {
    decision: true,
    reason: 'granted',
    permission: permission.name,
    subject: { type: 'user', id: ada.id, name: 'Ada Lovelace' },
    sources: [source],
    notices: [],
    nearest: [],
  };
  assert.deepEqual(await explained('user', ada.id, permission.name), expected);
  assert.deepEqual(
    await explained('user', ` ${ada.email.toUpperCase()} `, permission.name.toUpperCase()),
    expected,
  );
  const asRole = await explained('role', role.name.toUpperCase(), permission.name);
  assert.deepEqual(asRole, {
    ...expected,
    subject: { type: 'role', id: role.id, name: role.name },
  });
  const account = await addServiceAccount(service, { roles: [role.id] });
  for (const id of [account.id, account.name])
    assert.deepEqual(await explained('service_account', id, permission.name), {
      ...expected,
      subject: { type: 'service_account', id: account.id, name: account.name },
    });
  assert.deepEqual(await explained('user', ada.id, permission.name, admin.at(twin.url)), expected);
});

test('every reason of a denial, in its order', async () => {
  const permission = await newPermission();
  const role = await addRole(service, permission.name);
  const subjects = {
    unknown_subject: ['user', 'nobody@example.com'],
    inactive: ['user', (await addPerson(service, { active: false, roles: [role] })).id],
    not_granted: ['user', (await addPerson(service)).id],
  } as const;
  for (const [reason, [type, id]] of Object.entries(subjects)) {
    const data = await explained(type, id, permission.name);
    assert.deepEqual([data.decision, data.reason], [false, reason]);
    assert.deepEqual(
      data.sources.map((source: { role: { id: string } }) => source.role.id),
      reason === 'inactive' ? [role] : [],
    );
    const unknown = await explained(type, id, 'no.such');
    assert.deepEqual(
      [unknown.decision, unknown.reason, unknown.permission, unknown.nearest],
      [false, reason === 'unknown_subject' ? 'unknown_subject' : 'unknown_permission', 'no.such', []],
    );
  }
  for (const [type, id] of [
    ['group', ABSENT_ID],
    ['', ''],
    ['user', ABSENT_ID],
    ['role', 'no such role'],
    ['constructor', 'x'],
  ] as const) {
    const data = await explained(type, id, permission.name);
    assert.deepEqual([data.decision, data.reason], [false, 'unknown_subject']);
    assert.deepEqual(data.subject, { type, id, name: null });
  }
  const boss = await addPerson(service, { superuser: true, roles: [role] });
  const granted = await explained('user', boss.id, permission.name);
  assert.deepEqual([granted.decision, granted.reason, granted.sources.length], [true, 'superuser', 1]);
  const missing = await explained('user', boss.id, 'no.such');
  assert.deepEqual([missing.decision, missing.reason], [false, 'unknown_permission']);
  const former = await addPerson(service, { superuser: true, active: false });
  assert.equal((await explained('user', former.id, permission.name)).reason, 'inactive');
});

test('the nearest roles add the fewest other permissions, and tell how many have them', async () => {
  const wanted = await newPermission();
  const more = await Promise.all(Array.from({ length: 12 }, () => newPermission()));
  const names = more.map(({ name }) => name);
  const held = await addRole(service, ...names.slice(0, 4));
  const ada = await addPerson(service, { roles: [held] });
  // Role n holds the wanted permission and n others, of which Ada has the first four.
  const roles: string[] = [];
  for (let count = 0; count <= 12; count += 1)
    roles.push(await addRole(service, wanted.name, ...names.slice(0, count)));
  await addPerson(service, { roles: [roles[2] as string] });
  await addPerson(service, { roles: [roles[2] as string], active: false });
  await addServiceAccount(service, { roles: [roles[2] as string] });

  const data = await explained('user', ada.id, wanted.name);
  assert.deepEqual([data.decision, data.reason, data.sources], [false, 'not_granted', []]);
  const near = roles.slice(0, 5).toSorted();
  const expected = [...near, ...roles.slice(5, 10)].map((id) => {
    const at = roles.indexOf(id);
    return {
      role: { id, name: `Role ${id}` },
      holders: at === 2 ? 3 : 0,
      adds: names.slice(4, Math.max(4, at)).sort(),
    };
  });
  assert.deepEqual(data.nearest, expected);
  const stranger = await explained('user', 'nobody@example.com', wanted.name);
  assert.deepEqual(stranger.nearest[1].adds, [names[0]]);
});

test('everybody may ask about themselves without a permission, and sees no nearest roles', async () => {
  const permission = await newPermission();
  const role = await addRole(service, permission.name);
  const { client, person } = await signedInWith(service, 'role.read');
  const account = await addServiceAccount(service, { permissions: ['role.read'] });
  const own = [
    [client, 'user', person.id],
    [client, 'user', person.id.toUpperCase()],
    [client, 'user', person.email],
    [robotWith(account.key), 'service_account', account.id],
    [robotWith(account.key), 'service_account', account.name],
  ] as const;
  for (const [asking, type, id] of own) {
    assert.equal((await explained(type, id, 'role.read', asking)).decision, true);
    const denied = await explained(type, id, permission.name, asking);
    assert.deepEqual([denied.decision, denied.nearest], [false, []]);
  }
  const { client: explainer, person: oneself } = await signedInWith(service, 'access.explain');
  const nearest = (await explained('user', oneself.id, permission.name, explainer)).nearest;
  assert.deepEqual(
    nearest.map((one: { role: { id: string } }) => one.role.id),
    [role],
  );
});

test('a question about anybody else needs access.explain, whether or not there is such a subject', async () => {
  const { client, person } = await signedInWith(service, 'users.read', 'role.read', 'service_account.read');
  const other = await addPerson(service);
  const account = await addServiceAccount(service, { permissions: ['role.read'] });
  for (const [type, id] of [
    ['user', other.id],
    ['user', other.email],
    ['user', ABSENT_ID],
    ['user', 'nobody@example.com'],
    ['service_account', account.id],
    ['service_account', person.id],
    ['role', 'Admin'],
    ['group', person.id],
  ] as const) {
    const answer = await ask(client, type, id, 'role.read');
    assertRefused(answer, 403, 'permission_denied');
    assert.equal(answer.body.required_permission, 'access.explain');
    const [event] = await eventsOf(service, answer);
    assert.deepEqual([event?.action, event?.details.permission], ['permission_denied', 'access.explain']);
  }
  assertRefused(await ask(robotWith(account.key), 'user', account.id, 'role.read'), 403, 'permission_denied');
  const explainer = await addServiceAccount(service, { permissions: ['access.explain'] });
  assert.equal((await explained('user', other.id, 'role.read', robotWith(explainer.key))).decision, false);
  const narrowed = await addApiKey(service, explainer.id, { narrowedTo: ['role.read'] });
  assertRefused(await ask(robotWith(narrowed.key), 'user', other.id, 'x.y'), 403, 'permission_denied');
});

test('a narrowed key that asks about its account is told what the key may do', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read', 'users.read'] });
  const { key } = await addApiKey(service, account.id, { narrowedTo: ['users.read', 'role.delete'] });
  const about = (permission: string, client: TestClient) =>
    explained('service_account', account.id, permission, client);
  for (const [permission, whole, narrowed] of [
    ['users.read', true, true],
    ['role.read', true, false],
    ['role.delete', false, false],
  ] as const) {
    assert.equal((await about(permission, robotWith(account.key))).decision, whole);
    assert.equal((await about(permission, admin)).decision, whole);
    const asKey = await about(permission, robotWith(key));
    assert.deepEqual([asKey.decision, asKey.sources.length], [narrowed, narrowed ? 1 : 0]);
  }
});

test('locked and unverified users are granted, with notices', async () => {
  const role = await addRole(service, 'role.read');
  const user = await addPerson(service, { verified: false, roles: [role] });
  await service.sql(
    `insert into login_attempts (email, failures, locked_until) values ($1, 5, now() + interval '1 hour')`,
    [user.email],
  );
  const data = await explained('user', user.id, 'role.read');
  assert.deepEqual([data.decision, data.notices], [true, ['locked', 'unverified']]);
});

test('an explanation needs no CSRF token, writes nothing, and refuses what is no question', async () => {
  const body = { subject: { type: 'user', id: 'nobody@example.com' }, permission: 'role.read' };
  const answer = await admin.request('POST', '/api/v1/access/explain', {
    json: body,
    headers: { 'x-csrf-token': null, cookie: null },
  });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(await eventsOf(service, answer), []);
  for (const wrong of [
    {},
    { subject: body.subject },
    { permission: 'role.read' },
    { ...body, permission: 1 },
    { ...body, subject: 'user' },
    { ...body, subject: { type: 'user' } },
  ])
    assertRefused(await admin.post('/api/v1/access/explain', wrong), 422, 'validation_failed');
});

test('the statements do not depend on the numbers of roles that hold the permission', async () => {
  const wanted = await newPermission();
  const role = await addRole(service, wanted.name);
  const without = await addPerson(service);
  const few = await addPerson(service, { roles: [role] });
  const denied = () => countStatements(service, () => ask(admin, 'user', without.id, wanted.name));
  const granted = (id: string) => countStatements(service, () => ask(admin, 'user', id, wanted.name));
  const [one, other] = [await denied(), await granted(few.id)];
  const roles = await Promise.all(Array.from({ length: 15 }, () => addRole(service, wanted.name)));
  const many = await addPerson(service, { roles });
  assert.equal(await denied(), one);
  assert.equal(await granted(many.id), other);
  assert.equal((await explained('user', many.id, wanted.name)).sources.length, 15);
  assert.equal((await explained('user', without.id, wanted.name)).nearest.length, 10);
});
