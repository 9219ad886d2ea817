// Permission groups: a tree without cycles, whose names are the prefixes of their permissions' names.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Body, TestClient } from '@castellan/testing/client';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import {
  changesOf,
  etagOf,
  idsOf,
  makePermission,
  makePermissionGroup,
  namesOf,
  newName,
  signInWith,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';

const { service, admin } = await startServiceWithAdmin({ after });
const path = '/api/v1/permission-groups';

const read = async (id: string): Promise<Body> => (await admin.get(`${path}/${id}`)).body.data;

test('a group is returned with its permissions and its whole subtree', async () => {
  const root = await makePermissionGroup(admin);
  const child = await makePermissionGroup(admin, { parent_id: root.id });
  const grandchild = await makePermissionGroup(admin, { parent_id: child.id.toUpperCase() });
  const permission = await makePermission(admin, { group_id: grandchild.id });
  const group = await read(root.id);
  assert.deepEqual(idsOf(group.groups), [child.id]);
  assert.deepEqual(idsOf(group.groups[0].groups), [grandchild.id]);
  assert.deepEqual(group.groups[0].groups[0].permissions, [permission]);
  assert.deepEqual(group.groups[0].groups[0].groups, []);
  assert.equal(group.parent_id, null);
  assert.equal(group.groups[0].parent_id, root.id);
});

test('the list pages over root groups, each with its whole subtree', async () => {
  const root = await makePermissionGroup(admin, { name: newName('0-root') });
  const child = await makePermissionGroup(admin, { parent_id: root.id });
  const { body } = await admin.get(`${path}?size=100`);
  const listed = body.data.find(({ id }: { id: string }) => id === root.id);
  assert.deepEqual(idsOf(listed.groups), [child.id]);
  assert.ok(!idsOf(body.data).includes(child.id));
});

test('permission_group_id is an alias of parent_id, and both are returned', async () => {
  const root = await makePermissionGroup(admin);
  const child = await makePermissionGroup(admin, { permission_group_id: root.id });
  assert.equal(child.parent_id, root.id);
  assert.equal(child.permission_group_id, root.id);
  const both = { parent_id: root.id, permission_group_id: root.id.toUpperCase() };
  assert.equal((await makePermissionGroup(admin, both)).parent_id, root.id);
  const freed = await admin.put(`${path}/${child.id}`, { permission_group_id: null });
  assert.equal(freed.body.data.parent_id, null);
  assert.equal(freed.body.data.permission_group_id, null);
  for (const body of [
    { parent_id: root.id, permission_group_id: child.id },
    { parent_id: null, permission_group_id: root.id },
  ])
    assertRefused(await admin.put(`${path}/${child.id}`, body), 422, 'validation_failed');
});

test('an unknown parent is 404, one that is not a UUID is 400', async () => {
  for (const field of ['parent_id', 'permission_group_id']) {
    const name = newName();
    assertRefused(await admin.post(path, { name, [field]: ABSENT_ID }), 404, 'permission_group_not_found');
    assertRefused(await admin.post(path, { name, [field]: 'x' }), 400, 'invalid_id');
    const { id } = await makePermissionGroup(admin, { name });
    assertRefused(
      await admin.put(`${path}/${id}`, { [field]: ABSENT_ID }),
      404,
      'permission_group_not_found',
    );
  }
});

test('renaming a group renames its permissions and nothing else', async () => {
  const group = await makePermissionGroup(admin);
  const child = await makePermissionGroup(admin, { parent_id: group.id });
  const [own, below] = [
    await makePermission(admin, { group_id: group.id, name: 'read.all' }),
    await makePermission(admin, { group_id: child.id, name: 'read' }),
  ];
  const name = `${newName('renamed')} 100%_\\1`;
  const answer = await admin.put(`${path}/${group.id}`, { name });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(namesOf(answer.body.data.permissions), [`${name}.read.all`]);
  const read = (await admin.get(`/api/v1/permissions/${own.id}`)).body.data;
  assert.equal(read.name, `${name}.read.all`);
  assert.equal(read.group.name, name);
  assert.equal((await admin.get(`/api/v1/permissions/${below.id}`)).body.data.name, below.name);
  const { action, details } = (await changesOf(service, group.id)).at(-1) as {
    action: string;
    details: Body;
  };
  assert.equal(action, 'permission_group_updated');
  assert.deepEqual(details.before, { name: group.name });
  assert.deepEqual(details.after, { name });
});

test('a rename that gives a permission the old name of another one of the group succeeds', async () => {
  const name = newName();
  const group = await makePermissionGroup(admin, { name });
  // In both orders of creation, because the rows are renamed one after another.
  for (const action of [`${name}.${name}.c`, `${name}.c`, 'c', 'd', `${name}.d`, `${name}.${name}.d`])
    await makePermission(admin, { group_id: group.id, name: action });
  for (const renamed of [`${name}.${name}`, name, name.toUpperCase()]) {
    const answer = await admin.put(`${path}/${group.id}`, { name: renamed });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      new Set(namesOf(answer.body.data.permissions)),
      new Set(
        ['c', `${name}.c`, `${name}.${name}.c`, 'd', `${name}.d`, `${name}.${name}.d`].map(
          (action) => `${renamed}.${action}`,
        ),
      ),
    );
  }
});

test('a rename to the name of a permission elsewhere is 409, one that makes names too long is 422', async () => {
  const name = newName();
  const dotted = await makePermissionGroup(admin, { name: `${name}.y` });
  const plain = await makePermissionGroup(admin, { name: `${name}-other` });
  await makePermission(admin, { group_id: dotted.id, name: 'z' });
  const permission = await makePermission(admin, { group_id: plain.id, name: 'y.z' });
  assertRefused(await admin.put(`${path}/${plain.id}`, { name }), 409, 'name_taken');
  assertRefused(await admin.put(`${path}/${plain.id}`, { name: 'x'.repeat(97) }), 422, 'validation_failed');
  assert.equal((await admin.put(`${path}/${plain.id}`, { name: 'x'.repeat(96) })).status, 200);
  const { body } = await admin.get(`/api/v1/permissions/${permission.id}`);
  assert.equal(body.data.name.length, 100);
});

test('only a holder of every permission may rename one, because products ask by name', async () => {
  const group = await makePermissionGroup(admin);
  const held = await makePermission(admin, { group_id: group.id, name: 'refund' });
  const everything = (await admin.get('/api/v1/users/me')).body.data.permissions as string[];
  const other = await makePermission(admin, {
    group_id: (await makePermissionGroup(admin)).id,
    name: 'other',
  });
  const rename = (client: TestClient, id = group.id) => client.put(`${path}/${id}`, { name: newName() });
  for (const permissions of [['permission_group.update', held.name], everything]) {
    const { client } = await signInWith(service, permissions);
    assertRefused(await rename(client), 403, 'privilege_escalation');
    const described = await client.put(`${path}/${group.id}`, { description: `of ${permissions.length}` });
    assert.equal(described.status, 200, described.text);
    const empty = await makePermissionGroup(admin);
    assert.equal((await rename(client, empty.id)).status, 200);
  }
  const { client } = await signInWith(service, [...everything, other.name]);
  assert.equal((await rename(client)).status, 200);
  assert.equal((await rename(admin)).status, 200);
});

test('after a rename, permissions count under their new names at the next request, at every instance', async () => {
  const twin = await service.another();
  const group = await makePermissionGroup(admin);
  const permission = await makePermission(admin, { group_id: group.id, name: 'act' });
  const { client } = await signInWith(service, [permission.name]);
  const name = newName('renamed');
  await admin.put(`${path}/${group.id}`, { name });
  for (const url of [twin.url, service.url]) {
    const me = await client.at(url).get('/api/v1/users/me');
    assert.deepEqual(me.body.data.permissions, [`${name}.act`]);
  }
});

test('a group with built-in permissions keeps its name; it can be moved and described', async () => {
  const { body } = await admin.get(`${path}?size=100`);
  const group = body.data.find(({ name }: { name: string }) => name === 'users');
  for (const name of ['people', 'Users'])
    assertRefused(await admin.put(`${path}/${group.id}`, { name }), 409, 'conflict');
  const parent = await makePermissionGroup(admin);
  const moved = await admin.put(`${path}/${group.id}`, {
    name: 'users',
    description: 'People',
    parent_id: parent.id,
  });
  assert.equal(moved.status, 200, moved.text);
  assert.ok(namesOf(moved.body.data.permissions).includes('users.delete'));
  assert.equal((await changesOf(service, group.id)).at(-1)?.action, 'permission_group_moved');
});

test('a name with a dot at either end is 422', async () => {
  for (const name of ['.a', 'a.', '.'])
    assertRefused(await admin.post(path, { name }), 422, 'validation_failed');
});

test('a group with child groups or permissions is not deleted (409 with the counts); an empty one is (204)', async () => {
  const group = await makePermissionGroup(admin);
  const child = await makePermissionGroup(admin, { parent_id: group.id });
  const refused = await admin.delete(`${path}/${group.id}`);
  assertRefused(refused, 409, 'group_in_use');
  assert.match(refused.body.detail, /1 child/);
  const permission = await makePermission(admin, { group_id: child.id });
  const occupied = await admin.delete(`${path}/${child.id}`);
  assertRefused(occupied, 409, 'group_in_use');
  assert.match(occupied.body.detail, /1 permission/);
  await admin.delete(`/api/v1/permissions/${permission.id}`);
  for (const { id } of [child, group]) {
    const deleted = await admin.delete(`${path}/${id}`);
    assert.equal(deleted.status, 204);
    assert.equal(deleted.text, '');
    assertRefused(await admin.delete(`${path}/${id}`), 404, 'permission_group_not_found');
    assert.equal((await changesOf(service, id)).at(-1)?.action, 'permission_group_deleted');
  }
});

test('a move with an If-Match of an older version is 412', async () => {
  const [group, parent] = [await makePermissionGroup(admin), await makePermissionGroup(admin)];
  const old = etagOf(await admin.get(`${path}/${group.id}`));
  await admin.put(`${path}/${group.id}`, { description: 'x' });
  const move = { parent_id: parent.id };
  assertRefused(
    await admin.put(`${path}/${group.id}`, move, { headers: { 'if-match': old } }),
    412,
    'precondition_failed',
  );
  assert.equal((await read(group.id)).parent_id, null);
});
