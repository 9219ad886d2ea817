// Permissions: named after their group, and deleted only if no role needs them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn } from '@castellan/testing/harness';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import {
  changesOf,
  idsOf,
  makePermission,
  makePermissionGroup,
  makeRole,
  namesOf,
  newName,
  permissionId,
  roleId,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';
import { addUser } from '@castellan/testing/sessions/accounts';

const { service, admin } = await startServiceWithAdmin({ after });
const path = '/api/v1/permissions';

test('group_id filters the list; a group without permissions has none; one that is not a UUID is 400', async () => {
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

test("a permission contains its group, by id and by name; the group's id may be sent in upper case", async () => {
  const group = await makePermissionGroup(admin);
  const made = await makePermission(admin, { group_id: group.id.toUpperCase(), name: 'publish' });
  assert.equal(made.name, `${group.name}.publish`);
  assert.equal(made.group_id, group.id);
  assert.deepEqual(made.group, { id: group.id, name: group.name });
});

test('an action has no white space and no dot at either end; dots inside are allowed', async () => {
  const group = await makePermissionGroup(admin);
  for (const name of ['.a', 'a.', '.', 'a b', 'a\u00a0b', 'a\u3000b']) {
    const answer = await admin.post(path, { name, group_id: group.id });
    assertRefused(answer, 422, 'validation_failed');
    assert.equal(answer.body.errors[0].field, 'name');
  }
  for (const name of ['a.b', 'a-b', 'a:b', 'ä', '*'])
    assert.equal((await makePermission(admin, { group_id: group.id, name })).name, `${group.name}.${name}`);
});

test("with its group's name a permission's name has at most 100 characters", async () => {
  const group = await makePermissionGroup(admin, { name: '😀'.repeat(60) });
  const longest = await makePermission(admin, { group_id: group.id, name: 'x'.repeat(39) });
  assert.equal([...longest.name].length, 100);
  const refused = await admin.post(path, { name: 'x'.repeat(40), group_id: group.id });
  assertRefused(refused, 422, 'validation_failed');
  assert.match(refused.body.detail, /100 characters/);
});

test('a permission needs a group: missing is 422, unknown 404, not a UUID 400', async () => {
  assertRefused(await admin.post(path, { name: 'x' }), 422, 'validation_failed');
  assertRefused(await admin.post(path, { name: 'x', group_id: null }), 422, 'validation_failed');
  assertRefused(await admin.post(path, { name: 'x', group_id: 'x' }), 400, 'invalid_id');
  assertRefused(
    await admin.post(path, { name: 'x', group_id: ABSENT_ID }),
    404,
    'permission_group_not_found',
  );
});

test('two groups cannot create the same name by splitting it differently', async () => {
  const prefix = newName();
  const long = await makePermissionGroup(admin, { name: `${prefix}.y` });
  const short = await makePermissionGroup(admin, { name: prefix });
  await makePermission(admin, { group_id: long.id, name: 'z' });
  assertRefused(await admin.post(path, { name: 'y.Z', group_id: short.id }), 409, 'name_taken');
});

test('DELETE answers 200 with the deleted record', async () => {
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

test("a permission that a role has is not deleted: 409 with the role's name", async () => {
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

test('system roles get a new permission at once, so that an administrator can grant it', async () => {
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

test('a built-in permission cannot be deleted, whatever roles have it', async () => {
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

test('permissions cannot be updated', async () => {
  const { id } = await makePermission(admin);
  const answer = await admin.put(`${path}/${id}`, { description: 'x' });
  assertRefused(answer, 405, 'method_not_allowed');
});
