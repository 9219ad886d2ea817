// Role groups as a tree: reading, moving and deleting them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Body } from '@castellan/testing/client';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import {
  changesOf,
  idsOf,
  makeRole,
  makeRoleGroup,
  newName,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';

const { service, admin } = await startServiceWithAdmin({ after });
const path = '/api/v1/role-groups';

const read = async (id: string, query = ''): Promise<Body> => {
  const { status, body, text } = await admin.get(`${path}/${id}${query}`);
  assert.equal(status, 200, text);
  return body.data;
};

test('the list pages over root groups, each with its whole subtree and the direct roles of every group', async () => {
  const root = await makeRoleGroup(admin, { name: newName('0-root') });
  const second = await makeRoleGroup(admin, { name: newName('B'), parent_id: root.id });
  const first = await makeRoleGroup(admin, { name: newName('a'), parent_id: root.id });
  const low = await makeRoleGroup(admin, { parent_id: second.id });
  const role = await makeRole(admin, { role_group_id: low.id, description: 'deep' });
  const { body } = await admin.get(`${path}?size=100`);
  const listed = body.data.find(({ id }: { id: string }) => id === root.id);
  assert.deepEqual(idsOf(listed.children), [first.id, second.id]);
  const [leaf] = listed.children[1].children;
  assert.equal(leaf.id, low.id);
  assert.equal(leaf.parent_id, second.id);
  assert.deepEqual(leaf.children, []);
  const { permissions: _permissions, ...shown } = role;
  assert.deepEqual(leaf.roles, [shown]);
  assert.ok(!idsOf(body.data).includes(low.id));
  const roots = await service.sql('select from role_groups where parent_id is null');
  assert.equal(body.pagination.total, roots.length);
});

test('roles of nested groups are returned only with include_nested_roles=true', async () => {
  const root = await makeRoleGroup(admin);
  const child = await makeRoleGroup(admin, { parent_id: root.id });
  const [own, nested] = [
    await makeRole(admin, { role_group_id: root.id }),
    await makeRole(admin, { role_group_id: child.id }),
  ];
  for (const query of ['', '?include_nested_roles=false']) {
    const group = await read(root.id, query);
    assert.deepEqual(idsOf(group.roles), [own.id]);
    assert.deepEqual(idsOf(group.children), [child.id]);
    assert.deepEqual(group.children[0].roles, []);
  }
  const group = await read(root.id, '?include_nested_roles=true');
  assert.deepEqual(idsOf(group.roles), [own.id]);
  assert.deepEqual(idsOf(group.children[0].roles), [nested.id]);
  assertRefused(await admin.get(`${path}/${root.id}?include_nested_roles=perhaps`), 422, 'validation_failed');
});

test('a group is created below another one, also by an id in upper case; an unknown parent is 404, not a UUID 400', async () => {
  const root = await makeRoleGroup(admin);
  assert.equal((await makeRoleGroup(admin, { parent_id: root.id.toUpperCase() })).parent_id, root.id);
  assert.equal((await makeRoleGroup(admin, { parent_id: null })).parent_id, null);
  const name = newName();
  assertRefused(await admin.post(path, { name, parent_id: ABSENT_ID }), 404, 'role_group_not_found');
  assertRefused(await admin.post(path, { name, parent_id: 'x' }), 400, 'invalid_id');
  const { id } = await makeRoleGroup(admin, { name });
  assertRefused(await admin.put(`${path}/${id}`, { parent_id: ABSENT_ID }), 404, 'role_group_not_found');
});

test('a move takes the subtree along, null makes a root, and the log has the old and the new parent', async () => {
  const [from, to] = [await makeRoleGroup(admin), await makeRoleGroup(admin)];
  const group = await makeRoleGroup(admin, { parent_id: from.id });
  const child = await makeRoleGroup(admin, { parent_id: group.id });
  const moved = await admin.put(`${path}/${group.id}`, { parent_id: to.id });
  assert.equal(moved.status, 200, moved.text);
  assert.equal(moved.body.data.parent_id, to.id);
  assert.deepEqual(idsOf(moved.body.data.children), [child.id]);
  assert.deepEqual((await read(from.id)).children, []);
  const { action, details } = (await changesOf(service, group.id)).at(-1) as {
    action: string;
    details: Body;
  };
  assert.equal(action, 'role_group_moved');
  assert.deepEqual(details.before, { parent_id: from.id });
  assert.deepEqual(details.after, { parent_id: to.id });
  assert.equal((await admin.put(`${path}/${group.id}`, { parent_id: null })).body.data.parent_id, null);
});

test('a group with children or roles is not deleted (409 with the counts); an empty one is (204)', async () => {
  const root = await makeRoleGroup(admin);
  const child = await makeRoleGroup(admin, { parent_id: root.id });
  const refused = await admin.delete(`${path}/${root.id}`);
  assertRefused(refused, 409, 'group_in_use');
  assert.match(refused.body.detail, /1 child/);
  const role = await makeRole(admin, { role_group_id: child.id });
  const occupied = await admin.delete(`${path}/${child.id}`);
  assertRefused(occupied, 409, 'group_in_use');
  assert.match(occupied.body.detail, /1 role/);
  await admin.put(`/api/v1/roles/${role.id}`, { role_group_id: null });
  for (const { id } of [child, root]) {
    const deleted = await admin.delete(`${path}/${id}`);
    assert.equal(deleted.status, 204, deleted.text);
    assert.equal(deleted.text, '');
    assertRefused(await admin.delete(`${path}/${id}`), 404, 'role_group_not_found');
    assert.equal((await changesOf(service, id)).at(-1)?.action, 'role_group_deleted');
  }
});
