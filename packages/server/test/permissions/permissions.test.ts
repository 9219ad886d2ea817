// Permissions: named after their group, and deleted only when nobody needs them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn } from '../harness.ts';
import { ABSENT_ID, assertRefused } from '../http/fixture.ts';
import {
  changesOf,
  idsOf,
  makePermission,
  makePermissionGroup,
  makeRole,
  namesOf,
  newName,
  openOffice,
  permissionId,
  roleId,
} from '../records/fixture.ts';
import { addUser } from '../sessions/accounts.ts';

const { service, admin } = await openOffice({ after });
const path = '/api/v1/permissions';

test('group_id filters the list; a group without permissions has none; one that is no UUID is 400', async () => {
  const group = await makePermissionGroup(admin);
  const made = [];
  for (const name of ['b', 'a', 'C']) made.push(await makePermission(admin, { group_id: group.id, name }));
  for (const id of [group.id, group.id.toUpperCase()]) {
    const { status, body } = await admin.get(`${path}?group_id=${id}&size=2`);
    assert.equal(status, 200);
    assert.deepEqual(namesOf(body.data), [`${group.name}.a`, `${group.name}.b`]);
    assert.deepEqual(body.pagination, { page: 1, limit: 2, total: 3, pages: 2 });
  }
  const none = await admin.get(`${path}?group_id=${ABSENT_ID}`);
  assert.equal(none.status, 200);
  assert.deepEqual(none.body, {
    data: [],
    pagination: { page: 1, limit: 50, total: 0, pages: 0 },
    message: none.body.message,
  });
  assertRefused(await admin.get(`${path}?group_id=x`), 400, 'invalid_id');
});

test('a permission carries its group, by id and by name; the group may be named in capitals', async () => {
  const group = await makePermissionGroup(admin);
  const made = await makePermission(admin, { group_id: group.id.toUpperCase(), name: 'publish' });
  assert.equal(made.name, `${group.name}.publish`);
  assert.equal(made.group_id, group.id);
  assert.deepEqual(made.group, { id: group.id, name: group.name });
});

test('an action has no white space and no dot at either end; dots inside are fine', async () => {
  const group = await makePermissionGroup(admin);
  for (const name of ['.a', 'a.', '.', 'a b', 'a\u00a0b', 'a\u3000b']) {
    const answer = await admin.post(path, { name, group_id: group.id });
    assertRefused(answer, 422, 'validation_failed');
    assert.equal(answer.body.errors[0].field, 'name');
  }
  for (const name of ['a.b', 'a-b', 'a:b', 'ä', '*'])
    assert.equal((await makePermission(admin, { group_id: group.id, name })).name, `${group.name}.${name}`);
});

test('with the group before it a name has 100 characters at most', async () => {
  const group = await makePermissionGroup(admin, { name: '😀'.repeat(60) });
  const longest = await makePermission(admin, { group_id: group.id, name: 'x'.repeat(39) });
  assert.equal([...longest.name].length, 100);
  const refused = await admin.post(path, { name: 'x'.repeat(40), group_id: group.id });
  assertRefused(refused, 422, 'validation_failed');
  assert.match(refused.body.detail, /100 characters/);
});

test('no permission without a group: missing 422, unknown 404, no UUID 400', async () => {
  assertRefused(await admin.post(path, { name: 'x' }), 422, 'validation_failed');
  assertRefused(await admin.post(path, { name: 'x', group_id: null }), 422, 'validation_failed');
  assertRefused(await admin.post(path, { name: 'x', group_id: 'x' }), 400, 'invalid_id');
  assertRefused(
    await admin.post(path, { name: 'x', group_id: ABSENT_ID }),
    404,
    'permission_group_not_found',
  );
});

test('two groups cannot make one name by different cuts', async () => {
  const prefix = newName();
  const long = await makePermissionGroup(admin, { name: `${prefix}.y` });
  const short = await makePermissionGroup(admin, { name: prefix });
  await makePermission(admin, { group_id: long.id, name: 'z' });
  assertRefused(await admin.post(path, { name: 'y.Z', group_id: short.id }), 409, 'name_taken');
});

test('DELETE answers 200 with the record that is gone', async () => {
  const permission = await makePermission(admin, { description: 'short-lived' });
  const deleted = await admin.delete(`${path}/${permission.id}`);
  assert.equal(deleted.status, 200, deleted.text);
  assert.deepEqual(deleted.body.data, permission);
  assert.equal(typeof deleted.body.message, 'string');
  assertRefused(await admin.get(`${path}/${permission.id}`), 404, 'permission_not_found');
  assertRefused(await admin.delete(`${path}/${permission.id}`), 404, 'permission_not_found');
  const { action, details } = (await changesOf(service, permission.id)).at(-1) as {
    action: string;
    details: { before: { name: string }; after: null };
  };
  assert.equal(action, 'permission_deleted');
  assert.equal(details.before.name, permission.name);
  assert.equal(details.after, null);
});

test('a permission that a role has is not deleted: 409 naming the role', async () => {
  const permission = await makePermission(admin);
  const role = await makeRole(admin, { permission_ids: [permission.id] });
  const refused = await admin.delete(`${path}/${permission.id}`);
  assertRefused(refused, 409, 'permission_in_use');
  assert.ok(refused.body.detail.includes(role.name));
  assert.deepEqual(idsOf((await admin.get(`/api/v1/roles/${role.id}`)).body.data.permissions), [
    permission.id,
  ]);
  await admin.delete(`/api/v1/roles/${role.id}/permissions/${permission.id}`);
  assert.equal((await admin.delete(`${path}/${permission.id}`)).status, 200);
});

test('system roles hold a new permission at once, so that an administrator can hand it out', async () => {
  const user = await addUser(service);
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [
    user.id,
    await roleId(service, 'Admin'),
  ]);
  const administrator = await signIn(service, user);
  const permission = await makePermission(administrator);
  const role = await makeRole(administrator, { permission_ids: [permission.id] });
  assert.deepEqual(idsOf(role.permissions), [permission.id]);
});

test('a permission that only system roles have can be deleted, with their links', async () => {
  const permission = await makePermission(admin);
  assert.equal((await admin.delete(`${path}/${permission.id}`)).status, 200);
});

test('a permission that the service itself checks cannot be deleted, whoever has it', async () => {
  await service.sql(
    `delete from role_permissions where permission_id = (select id from permissions where name = 'audit_log.read')`,
  );
  for (const name of ['users.delete', 'self.update_profile', 'audit_log.read'])
    assertRefused(
      await admin.delete(`${path}/${await permissionId(service, name)}`),
      409,
      'permission_in_use',
    );
});

test('there is no update of a permission', async () => {
  const { id } = await makePermission(admin);
  const answer = await admin.put(`${path}/${id}`, { description: 'x' });
  assertRefused(answer, 405, 'method_not_allowed');
});
