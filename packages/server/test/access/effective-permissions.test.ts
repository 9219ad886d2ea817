// Effective permissions: each with the roles and role groups that it comes from, for oneself and for others.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { allPermissions } from '@castellan/contract/permissions';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import { makePermission, makeRole, makeRoleGroup, newName } from '@castellan/testing/records/fixture';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { countStatements } from '@castellan/testing/statements';
import { addPerson, addRole, eventsOf, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const twin = await service.another();
const admin = await signIn(service, ADMIN);

const ofUser = (id: string) => `/api/v1/users/${id}/effective-permissions`;
const ofAccount = (id: string) => `/api/v1/service-accounts/${id}/effective-permissions`;
const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });

type Source = { role: { id: string; name: string; is_system: boolean }; role_groups: string[][] };
type Listed = { name: string; sources: Source[]; superuser?: boolean };
const namesIn = ({ permissions }: { permissions: Listed[] }) => permissions.map(({ name }) => name);

test('each permission has its description, its group, its roles, and the paths of their role groups', async () => {
  const company = await makeRoleGroup(admin, { name: newName('Company') });
  const branch = await makeRoleGroup(admin, { name: newName('Branch'), parent_id: company.id });
  const team = await makeRoleGroup(admin, { name: newName('Team'), parent_id: branch.id });
  const other = await makeRoleGroup(admin, { name: newName('Other') });
  const permission = await makePermission(admin, { description: 'What it is for' });
  const second = await makePermission(admin);
  const editor = await makeRole(admin, {
    name: newName('B-editor'),
    permission_ids: [permission.id, second.id],
    role_group_id: team.id,
  });
  await admin.post(`/api/v1/role-groups/${other.id}/roles`, { role_ids: [editor.id] });
  const author = await makeRole(admin, { name: newName('A-author'), permission_ids: [permission.id] });
  const idle = await makeRole(admin);
  const ada = await addPerson(service, { roles: [editor.id, author.id, idle.id] });

  const answer = await admin.get(ofUser(ada.id));
  assert.equal(answer.status, 200, answer.text);
  const source = (role: typeof editor, role_groups: string[][]) => ({
    role: { id: role.id, name: role.name, is_system: false },
    role_groups,
  });
  const paths = [[company.name, branch.name, team.name], [other.name]];
  const listed = (one: typeof permission, sources: object[]) => ({
    name: one.name,
    description: one.description,
    group: one.group,
    sources,
  });
  assert.deepEqual(answer.body.data, {
    subject: { type: 'user', id: ada.id, name: 'Ada Lovelace' },
    is_superuser: false,
    blocked: null,
    notices: [],
    permissions: [
      listed(permission, [source(author, []), source(editor, paths)]),
      listed(second, [source(editor, paths)]),
    ].sort((a, b) => (a.name < b.name ? -1 : 1)),
  });
  assert.deepEqual(await eventsOf(service, answer), []);
  const there = await admin.at(twin.url).get(ofUser(ada.id.toUpperCase()));
  assert.deepEqual(there.body.data, answer.body.data);
});

test('a superuser holds every permission, beside the sources that they would have anyway', async () => {
  const role = await addRole(service, 'role.read');
  const boss = await addPerson(service, { superuser: true, roles: [role] });
  const { data } = (await admin.get(ofUser(boss.id))).body;
  assert.equal(data.is_superuser, true);
  const all = await service.sql<{ name: string }>('select name from permissions');
  assert.deepEqual(namesIn(data), all.map(({ name }) => name).sort());
  for (const { name, superuser, sources } of data.permissions as Listed[]) {
    assert.equal(superuser, true);
    assert.deepEqual(
      sources.map((source) => source.role.id),
      name === 'role.read' ? [role] : [],
    );
  }
});

test('an inactive user and an inactive service account show what they would have', async () => {
  const role = await addRole(service, 'role.read');
  const user = await addPerson(service, { active: false, verified: false, roles: [role] });
  const account = await addServiceAccount(service, { active: false, roles: [role] });
  for (const path of [ofUser(user.id), ofAccount(account.id)]) {
    const { data } = (await admin.get(path)).body;
    assert.equal(data.blocked, 'inactive');
    assert.deepEqual(namesIn(data), ['role.read']);
  }
});

test('a lock and an unverified email are notices and take nothing away', async () => {
  const role = await addRole(service, 'role.read');
  const user = await addPerson(service, { verified: false, roles: [role] });
  const notices = async () => (await admin.get(ofUser(user.id))).body.data.notices;
  assert.deepEqual(await notices(), ['unverified']);
  await service.sql(
    `insert into login_attempts (email, failures, locked_until) values ($1, 5, now() + interval '1 hour')`,
    [user.email],
  );
  assert.deepEqual(await notices(), ['locked', 'unverified']);
  const { data } = (await admin.get(ofUser(user.id))).body;
  assert.deepEqual([data.blocked, namesIn(data)], [null, ['role.read']]);
  await service.sql(`update login_attempts set locked_until = now() - interval '1 second' where email = $1`, [
    user.email,
  ]);
  assert.deepEqual(await notices(), ['unverified']);
});

test('users read their own list without a permission, by me or by their id, and nobody else’s', async () => {
  const { client, person } = await signedInWith(service, 'permission.read');
  const other = await addPerson(service);
  const mine = await client.get(ofUser('me'));
  assert.equal(mine.status, 200, mine.text);
  assert.equal(mine.body.data.subject.id, person.id);
  assert.deepEqual(namesIn(mine.body.data), ['permission.read']);
  for (const id of [person.id, person.id.toUpperCase()])
    assert.deepEqual((await client.get(ofUser(id))).body.data, mine.body.data);
  for (const id of [other.id, ABSENT_ID, 'x']) {
    const answer = await client.get(ofUser(id));
    assertRefused(answer, 403, 'permission_denied');
    assert.equal(answer.body.required_permission, 'users.read');
  }
  // The id of a user is not that of a service account.
  assertRefused(await client.get(ofAccount(person.id)), 403, 'permission_denied');
});

test('a missing user or service account is 404 for those who may ask', async () => {
  const { client } = await signedInWith(service, 'users.read', 'service_account.read');
  assertRefused(await client.get(ofUser(ABSENT_ID)), 404, 'user_not_found');
  assertRefused(await client.get(ofAccount(ABSENT_ID)), 404, 'service_account_not_found');
  assertRefused(await client.get(ofUser('x')), 400, 'invalid_id');
  const account = await addServiceAccount(service);
  assertRefused(await client.get(ofUser(account.id)), 404, 'user_not_found');
});

test('a service account reads its own list, and with a narrowed key what this key may do', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read', 'users.read'] });
  const narrowed = await addApiKey(service, account.id, { narrowedTo: ['users.read', 'role.delete'] });
  const empty = await addApiKey(service, account.id, { narrowedTo: [] });
  const client = service.client();
  const asked = async (key: string, id = account.id) => client.get(ofAccount(id), withKey(key));
  const whole = await asked(account.key);
  assert.equal(whole.status, 200, whole.text);
  assert.deepEqual(whole.body.data.subject, { type: 'service_account', id: account.id, name: account.name });
  assert.deepEqual(namesIn(whole.body.data), ['role.read', 'users.read']);
  assert.deepEqual(namesIn((await asked(narrowed.key)).body.data), ['users.read']);
  assert.deepEqual(namesIn((await asked(empty.key)).body.data), []);
  // Others see what the account holds.
  assert.deepEqual(namesIn((await admin.get(ofAccount(account.id))).body.data), ['role.read', 'users.read']);
  const other = await addServiceAccount(service, { permissions: ['role.read'] });
  assertRefused(await asked(account.key, other.id), 403, 'permission_denied');
  assertRefused(await client.get(ofUser('me'), withKey(account.key)), 403, 'user_required');
  assertRefused(
    await client.get(ofUser((await addPerson(service)).id), withKey(empty.key)),
    403,
    'permission_denied',
  );
});

test('a change of a role, a deactivation and a demotion count at the next question, at every instance', async () => {
  const role = await addRole(service, 'role.read');
  const user = await addPerson(service, { roles: [role] });
  const seen = async () =>
    Promise.all([admin, admin.at(twin.url)].map(async (at) => (await at.get(ofUser(user.id))).body.data));
  await seen();
  await service.sql(
    `insert into role_permissions (role_id, permission_id) select $1, id from permissions where name = 'users.read'`,
    [role],
  );
  for (const data of await seen()) assert.deepEqual(namesIn(data), ['role.read', 'users.read']);
  await service.sql('update users set is_superuser = true, is_active = false where id = $1', [user.id]);
  for (const data of await seen()) {
    assert.deepEqual([data.is_superuser, data.blocked], [true, 'inactive']);
    assert.ok(allPermissions.every((name) => namesIn(data).includes(name)));
  }
  await service.sql('delete from user_roles where user_id = $1', [user.id]);
  await service.sql('update users set is_superuser = false where id = $1', [user.id]);
  for (const data of await seen()) assert.deepEqual(data.permissions, []);
});

test('the statements do not depend on the numbers of roles, groups and permissions', async () => {
  const few = await addPerson(service, { roles: [await addRole(service, 'role.read')] });
  const roles: string[] = [];
  for (let count = 0; count < 12; count += 1) {
    const group = await makeRoleGroup(admin);
    const permission = await makePermission(admin);
    roles.push((await makeRole(admin, { permission_ids: [permission.id], role_group_id: group.id })).id);
  }
  const many = await addPerson(service, { roles });
  const cost = (id: string) => countStatements(service, () => admin.get(ofUser(id)));
  assert.equal(await cost(many.id), await cost(few.id));
  assert.equal((await admin.get(ofUser(many.id))).body.data.permissions.length, 12);
});
