// PUT and DELETE of a role, beyond what holds for every record: its group, and what prevents a deletion.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { GroupRole } from '@castellan/contract/role-groups';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import {
  changesOf,
  idsOf,
  linkedIds,
  makePermission,
  makeRole,
  makeRoleGroup,
  newName,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';
import { addUser } from '@castellan/testing/sessions/accounts';

const { service, admin } = await startServiceWithAdmin({ after });
const roles = '/api/v1/roles';

const groupsOf = (id: string): Promise<string[]> =>
  linkedIds(service, 'role_group_roles', ['role_id', 'role_group_id'], id);

const ownGroup = async (roleId: string): Promise<string | null> =>
  (await admin.get(`${roles}/${roleId}`)).body.data.role_group_id;

test('a role created in a group is linked to it, also by an id in upper case', async () => {
  const group = await makeRoleGroup(admin);
  for (const role_group_id of [group.id, group.id.toUpperCase()]) {
    const role = await makeRole(admin, { role_group_id });
    assert.equal(role.role_group_id, group.id);
    assert.deepEqual(await groupsOf(role.id), [group.id]);
  }
  const { body } = await admin.get(`/api/v1/role-groups/${group.id}`);
  assert.equal(body.data.roles.length, 2);
  assert.deepEqual(Object.keys(body.data.roles[0]).toSorted(), Object.keys(GroupRole.properties).toSorted());
});

test('a role in an unknown group is 404 and not created; one that is not a UUID is 400', async () => {
  const name = newName();
  assertRefused(await admin.post(roles, { name, role_group_id: ABSENT_ID }), 404, 'role_group_not_found');
  assertRefused(await admin.post(roles, { name, role_group_id: 'x' }), 400, 'invalid_id');
  const role = await makeRole(admin, { name });
  assertRefused(
    await admin.put(`${roles}/${role.id}`, { role_group_id: ABSENT_ID }),
    404,
    'role_group_not_found',
  );
  assertRefused(await admin.put(`${roles}/${role.id}`, { role_group_id: 'x' }), 400, 'invalid_id');
  assert.deepEqual(await groupsOf(role.id), []);
});

test('changing role_group_id moves the link, null removes it, other links stay', async () => {
  const [first, second, other] = [
    await makeRoleGroup(admin),
    await makeRoleGroup(admin),
    await makeRoleGroup(admin),
  ];
  const role = await makeRole(admin, { role_group_id: first.id });
  await admin.post(`/api/v1/role-groups/${other.id}/roles`, [role.id]);
  const moved = await admin.put(`${roles}/${role.id}`, { role_group_id: second.id });
  assert.equal(moved.status, 200, moved.text);
  assert.equal(moved.body.data.role_group_id, second.id);
  assert.deepEqual((await groupsOf(role.id)).toSorted(), [second.id, other.id].toSorted());
  await admin.put(`${roles}/${role.id}`, { description: 'group not named' });
  assert.equal(await ownGroup(role.id), second.id);
  assert.equal(
    (await admin.put(`${roles}/${role.id}`, { role_group_id: null })).body.data.role_group_id,
    null,
  );
  assert.deepEqual(await groupsOf(role.id), [other.id]);
  const { details } = (await changesOf(service, role.id)).at(-1) as {
    details: { before: object; after: object };
  };
  assert.deepEqual(details.before, { role_group_id: second.id });
  assert.deepEqual(details.after, { role_group_id: null });
});

test('naming the current group of a role restores a lost link', async () => {
  const group = await makeRoleGroup(admin);
  const role = await makeRole(admin, { role_group_id: group.id });
  await service.sql('delete from role_group_roles where role_id = $1', [role.id]);
  await admin.put(`${roles}/${role.id}`, { role_group_id: group.id });
  assert.deepEqual(await groupsOf(role.id), [group.id]);
});

test('an update cannot put a role into a group above or below one of its groups: 409, nothing changes', async () => {
  const top = await makeRoleGroup(admin);
  const middle = await makeRoleGroup(admin, { parent_id: top.id });
  const low = await makeRoleGroup(admin, { parent_id: middle.id });
  for (const [own, wanted] of [
    [top.id, low.id],
    [low.id, top.id],
  ]) {
    const role = await makeRole(admin);
    await admin.post(`/api/v1/role-groups/${own}/roles`, [role.id]);
    const answer = await admin.put(`${roles}/${role.id}`, { role_group_id: wanted, name: newName() });
    assertRefused(answer, 409, 'circular_dependency');
    assert.deepEqual(await groupsOf(role.id), [own]);
    assert.equal((await admin.get(`${roles}/${role.id}`)).body.data.name, role.name);
  }
  const role = await makeRole(admin, { role_group_id: top.id });
  assert.equal((await admin.put(`${roles}/${role.id}`, { role_group_id: low.id })).status, 200);
  assert.deepEqual(await groupsOf(role.id), [low.id]);
});

test('an update of every field at once returns the role as stored', async () => {
  const group = await makeRoleGroup(admin);
  const permission = await makePermission(admin);
  const role = await makeRole(admin);
  const name = newName();
  const fields = { name, description: 'all', role_group_id: group.id, permission_ids: [permission.id] };
  const { status, body } = await admin.put(`${roles}/${role.id}`, fields);
  assert.equal(status, 200);
  assert.deepEqual(body.data, (await admin.get(`${roles}/${role.id}`)).body.data);
  assert.equal(body.data.name, name);
  assert.equal(body.data.role_group_id, group.id);
  assert.deepEqual(idsOf(body.data.permissions), [permission.id]);
});

test('a role with permissions or users is not deleted (409 with the counts); otherwise 204, and its links are removed', async () => {
  const permission = await makePermission(admin);
  const group = await makeRoleGroup(admin);
  const role = await makeRole(admin, { permission_ids: [permission.id], role_group_id: group.id });
  const withPermission = await admin.delete(`${roles}/${role.id}`);
  assertRefused(withPermission, 409, 'role_in_use');
  assert.match(withPermission.body.detail, /1 permission/);

  await admin.delete(`${roles}/${role.id}/permissions/${permission.id}`);
  const user = await addUser(service);
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, role.id]);
  const withUser = await admin.delete(`${roles}/${role.id}`);
  assertRefused(withUser, 409, 'role_in_use');
  assert.match(withUser.body.detail, /1 user/);

  await service.sql('delete from user_roles where role_id = $1', [role.id]);
  const deleted = await admin.delete(`${roles}/${role.id}`);
  assert.equal(deleted.status, 204);
  assert.equal(deleted.text, '');
  assert.deepEqual(await groupsOf(role.id), []);
  assertRefused(await admin.delete(`${roles}/${role.id}`), 404, 'role_not_found');
  const { action, details } = (await changesOf(service, role.id)).at(-1) as {
    action: string;
    details: { before: { name: string }; after: null };
  };
  assert.equal(action, 'role_deleted');
  assert.equal(details.before.name, role.name);
  assert.equal(details.after, null);
  assert.equal((await admin.delete(`/api/v1/role-groups/${group.id}`)).status, 204);
});
