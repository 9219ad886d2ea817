// The roles of a group: adding and removing them, cloning the group with them, and repairing the links.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer, Body } from '@castellan/testing/client';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import {
  changesOf,
  etagOf,
  idsOf,
  linkedIds,
  makeRole,
  makeRoleGroup,
  newName,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';

const { service, admin } = await startServiceWithAdmin({ after });
const path = '/api/v1/role-groups';

const linkedTo = (groupId: string): Promise<string[]> =>
  linkedIds(service, 'role_group_roles', ['role_group_id', 'role_id'], groupId);

/** Asserts that the answer contains these roles and that the database has the links. */
async function assertHas(answer: Answer, groupId: string, expected: string[]): Promise<void> {
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.id, groupId);
  assert.deepEqual(idsOf(answer.body.data.roles).toSorted(), expected.toSorted());
  assert.deepEqual((await linkedTo(groupId)).toSorted(), expected.toSorted());
}

for (const [shape, body] of [
  ['an object', (ids: string[]) => ({ role_ids: ids })],
  ['a bare array', (ids: string[]) => ids],
] as const)
  test(`roles are added and removed by ${shape}; repeating it changes nothing`, async () => {
    const group = await makeRoleGroup(admin);
    const [a, b] = [await makeRole(admin), await makeRole(admin)];
    const roles = `${path}/${group.id}/roles`;
    const added = await admin.post(roles, body([a.id.toUpperCase(), b.id, a.id]));
    await assertHas(added, group.id, [a.id, b.id]);
    const again = await admin.post(roles, body([a.id]));
    await assertHas(again, group.id, [a.id, b.id]);
    assert.equal(etagOf(again), etagOf(added));
    const removed = await admin.delete(roles, body([a.id.toUpperCase()]));
    await assertHas(removed, group.id, [b.id]);
    await assertHas(await admin.delete(roles, body([a.id])), group.id, [b.id]);
    const changes = (await changesOf(service, group.id)).slice(1);
    // By name, so role-10 comes before role-9.
    const both = [a.name, b.name].toSorted();
    assert.deepEqual(
      changes.map(({ action, details }) => [action, details.before, details.after]),
      [
        ['role_group_roles_changed', { roles: [] }, { roles: both }],
        ['role_group_roles_changed', { roles: both }, { roles: [b.name] }],
      ],
    );
  });

test('adding leaves role_group_id unchanged; removing a role from its own group clears it, from another group does not', async () => {
  const [own, other] = [await makeRoleGroup(admin), await makeRoleGroup(admin)];
  const role = await makeRole(admin, { role_group_id: own.id });
  const groupOfRole = async () => (await admin.get(`/api/v1/roles/${role.id}`)).body.data.role_group_id;
  await admin.post(`${path}/${other.id}/roles`, [role.id]);
  assert.equal(await groupOfRole(), own.id);
  await admin.delete(`${path}/${other.id}/roles`, [role.id]);
  assert.equal(await groupOfRole(), own.id);
  await admin.delete(`${path}/${own.id}/roles`, [role.id]);
  assert.equal(await groupOfRole(), null);
});

for (const method of ['POST', 'DELETE'] as const) {
  test(`${method} roles: unknown ids are 404 with their names, not a UUID is 400, nothing changes`, async () => {
    const group = await makeRoleGroup(admin);
    const role = await makeRole(admin, method === 'DELETE' ? { role_group_id: group.id } : {});
    const before = await linkedTo(group.id);
    const send = (ids: unknown) => admin.request(method, `${path}/${group.id}/roles`, { json: ids });
    for (const ids of [[role.id, ABSENT_ID], { role_ids: [role.id, ABSENT_ID] }]) {
      const answer = await send(ids);
      assertRefused(answer, 404, 'role_not_found');
      assert.ok(answer.body.detail.includes(ABSENT_ID));
      assert.ok(!answer.body.detail.includes(role.id));
    }
    for (const ids of [[role.id, 'x'], { role_ids: ['x'] }])
      assertRefused(await send(ids), 400, 'invalid_id');
    assertRefused(await send({}), 422, 'validation_failed');
    assertRefused(await send({ role_ids: role.id }), 422, 'validation_failed');
    const many = await send(Array.from({ length: 1_001 }, () => randomUUID()));
    assertRefused(many, 422, 'validation_failed');
    assert.match(many.body.detail, /1000/);
    assertRefused(
      await admin.request(method, `${path}/${ABSENT_ID}/roles`, { json: [role.id] }),
      404,
      'role_group_not_found',
    );
    assertRefused(await admin.request(method, `${path}/x/roles`, { json: [role.id] }), 400, 'invalid_id');
    assert.deepEqual(await linkedTo(group.id), before);
  });

  test(`${method} roles with an If-Match of an older version is 412`, async () => {
    const group = await makeRoleGroup(admin);
    const role = await makeRole(admin, method === 'DELETE' ? { role_group_id: group.id } : {});
    const old = etagOf(await admin.get(`${path}/${group.id}`));
    const touched = await admin.put(`${path}/${group.id}`, { description: 'x' });
    const send = (etag: string) =>
      admin.request(method, `${path}/${group.id}/roles`, { json: [role.id], headers: { 'if-match': etag } });
    assertRefused(await send(old), 412, 'precondition_failed');
    const taken = await send(etagOf(touched));
    assert.equal(taken.status, 200, taken.text);
    assert.notEqual(etagOf(taken), etagOf(touched));
  });
}

test('a role cannot be linked to a group and to one above or below it: 409, and no role of the list is added', async () => {
  const top = await makeRoleGroup(admin);
  const middle = await makeRoleGroup(admin, { parent_id: top.id });
  const low = await makeRoleGroup(admin, { parent_id: middle.id });
  const beside = await makeRoleGroup(admin, { parent_id: top.id });
  for (const [own, wanted] of [
    [top, low],
    [low, top],
    [top, middle],
    [low, middle],
  ]) {
    const [role, free] = [await makeRole(admin, { role_group_id: own.id }), await makeRole(admin)];
    const refused = await admin.post(`${path}/${wanted.id}/roles`, [free.id, role.id]);
    assertRefused(refused, 409, 'circular_dependency');
    assert.ok(refused.body.detail.includes(role.name));
    assert.ok(!(await linkedTo(wanted.id)).includes(free.id));
  }
  const role = await makeRole(admin, { role_group_id: low.id });
  await assertHas(await admin.post(`${path}/${beside.id}/roles`, [role.id]), beside.id, [role.id]);
});

test("a move that would put one of a role's groups below another one is 409", async () => {
  const [upper, lower] = [await makeRoleGroup(admin), await makeRoleGroup(admin)];
  const holder = await makeRoleGroup(admin, { parent_id: lower.id });
  const role = await makeRole(admin, { role_group_id: upper.id });
  await admin.post(`${path}/${holder.id}/roles`, [role.id]);
  const refused = await admin.put(`${path}/${lower.id}`, { parent_id: upper.id });
  assertRefused(refused, 409, 'circular_dependency');
  assert.ok(refused.body.detail.includes(role.name));
  await admin.delete(`${path}/${holder.id}/roles`, [role.id]);
  assert.equal((await admin.put(`${path}/${lower.id}`, { parent_id: upper.id })).status, 200);
});

for (const field of ['name', 'new_name'])
  test(`a clone by ${field} has the original's parent, description and roles, but not its children`, async () => {
    const parent = await makeRoleGroup(admin);
    const original = await makeRoleGroup(admin, { parent_id: parent.id, description: 'the first' });
    await makeRoleGroup(admin, { parent_id: original.id });
    const [own, linked] = [await makeRole(admin, { role_group_id: original.id }), await makeRole(admin)];
    await admin.post(`${path}/${original.id}/roles`, [linked.id]);
    const name = newName('clone');
    const cloned = await admin.post(`${path}/${original.id}/clone`, { [field]: name });
    assert.equal(cloned.status, 201, cloned.text);
    const { data } = cloned.body;
    assert.equal(data.name, name);
    assert.equal(data.description, 'the first');
    assert.equal(data.parent_id, parent.id);
    assert.deepEqual(data.children, []);
    assert.deepEqual(idsOf(data.roles).toSorted(), [own.id, linked.id].toSorted());
    assert.notEqual(data.id, original.id);
    assert.equal(etagOf(cloned), etagOf(await admin.get(`${path}/${data.id}`)));
    assert.equal((await admin.get(`/api/v1/roles/${own.id}`)).body.data.role_group_id, original.id);
    assert.equal((await linkedTo(original.id)).length, 2);
    const [change] = await changesOf(service, data.id);
    assert.equal(change?.action, 'role_group_cloned');
    assert.equal(change?.details.after.cloned_from, original.id);
  });

test('a clone needs a free, valid name and an existing original', async () => {
  const group = await makeRoleGroup(admin);
  assertRefused(
    await admin.post(`${path}/${group.id}/clone`, { name: group.name.toUpperCase() }),
    409,
    'name_taken',
  );
  for (const body of [{}, { name: '' }, { name: 7 }, { name: 'x'.repeat(251) }, { new_name: '<b>' }])
    assertRefused(await admin.post(`${path}/${group.id}/clone`, body), 422, 'validation_failed');
  assertRefused(
    await admin.post(`${path}/${ABSENT_ID}/clone`, { name: newName() }),
    404,
    'role_group_not_found',
  );
  assertRefused(await admin.post(`${path}/x/clone`, { name: newName() }), 400, 'invalid_id');
});

test('sync-roles creates the links that role_group_id implies, and finds nothing the second time', async () => {
  const group = await makeRoleGroup(admin);
  const roles = [];
  for (let made = 0; made < 3; made += 1) roles.push(await makeRole(admin, { role_group_id: group.id }));
  const [{ total } = { total: 0 }] = await service.sql<{ total: number }>(
    'select count(*)::integer as total from roles where role_group_id is not null',
  );
  await service.sql('delete from role_group_roles where role_id = any($1)', [idsOf(roles).slice(1)]);
  const first = await admin.post(`${path}/sync-roles`);
  assert.equal(first.status, 200, first.text);
  assert.deepEqual(first.body.data, { created: 2, skipped: total - 2 });
  assert.equal(typeof first.body.message, 'string');
  assert.deepEqual((await linkedTo(group.id)).toSorted(), idsOf(roles).toSorted());
  const second = await admin.post(`${path}/sync-roles`);
  assert.deepEqual(second.body.data, { created: 0, skipped: total });
  const entries = await service.sql<{ details: Body }>(
    `select details from audit_logs where action = 'role_groups_synced' order by "timestamp"`,
  );
  assert.deepEqual(
    entries.map(({ details }) => details.created),
    [2],
  );
});
