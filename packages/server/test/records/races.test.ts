// Requests that get in each other's way, at two instances at once: one of them wins, nothing breaks, nobody sees a 5xx.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { Answer } from '../client.ts';
import { assertSound } from '../invariants.ts';
import { addUser } from '../sessions/accounts.ts';
import { race } from '../sessions/at-once.ts';
import { idsOf, makePermission, makePermissionGroup, makeRole, makeRoleGroup, newName } from './fixture.ts';
import { assertAmong, openTwoInstances, rounds } from './two-instances.ts';

const { service, admin, at } = await openTwoInstances({ after });

afterEach(() => assertSound(service));

test('a role is either assigned to a user or deleted, never both', async () => {
  const user = await addUser(service);
  await rounds(async (round) => {
    const { id } = await makeRole(admin);
    const assign = () =>
      service
        .sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, id])
        .then(() => true)
        .catch(() => false);
    const [deleted, assigned] = await race(round, () => at(round).delete(`/api/v1/roles/${id}`), assign);
    assertAmong([deleted], [204, 409]);
    assert.equal(assigned, deleted.status === 409);
    assert.equal(
      (await service.sql('select from user_roles where role_id = $1', [id])).length,
      assigned ? 1 : 0,
    );
  });
});

test('a role either gets permissions or is deleted, never both', async () => {
  const permission = await makePermission(admin);
  await rounds(async (round) => {
    const { id } = await makeRole(admin);
    const answers = await race(
      round,
      () => at(round).delete(`/api/v1/roles/${id}`),
      () => at(round + 1).post(`/api/v1/roles/${id}/permissions`, [permission.id]),
    );
    const [deleted, replaced] = answers;
    assertAmong([deleted], [204, 409]);
    assert.equal(replaced.status, deleted.status === 204 ? 404 : 200, replaced.text);
  });
});

test('a permission is either put on roles or deleted, never both', async () => {
  await rounds(async (round) => {
    const permission = await makePermission(admin);
    const roles = [
      await makeRole(admin),
      await makeRole(admin),
      await makeRole(admin),
      await makeRole(admin),
    ];
    const [deleted, replaced] = await race(
      round,
      () => at(round).delete(`/api/v1/permissions/${permission.id}`),
      () =>
        Promise.all([
          ...roles
            .slice(0, 2)
            .map(({ id }, index) => at(index).post(`/api/v1/roles/${id}/permissions`, [permission.id])),
          ...roles
            .slice(2)
            .map(({ id }, index) =>
              at(index).put(`/api/v1/roles/${id}`, { description: 'x', permission_ids: [permission.id] }),
            ),
          at(round).post('/api/v1/roles', { name: newName(), permission_ids: [permission.id] }),
        ]),
    );
    assertAmong([deleted], [200, 409]);
    assertAmong(replaced, deleted.status === 200 ? [404] : [200, 201, 404]);
    const held = await service.sql(
      'select from role_permissions rp join roles r on r.id = rp.role_id where permission_id = $1 and not is_system',
      [permission.id],
    );
    assert.equal(held.length, replaced.filter(({ status }) => status < 300).length);
  });
});

test('a role group is either linked to roles or deleted, never both', async () => {
  await rounds(async (round) => {
    const group = await makeRoleGroup(admin);
    const roles = [await makeRole(admin), await makeRole(admin)] as const;
    const path = `/api/v1/role-groups/${group.id}`;
    const [deleted, linked] = await race(
      round,
      () =>
        at(round).delete(
          round % 4 < 2 ? path : '/api/v1/role-groups/bulk',
          round % 4 < 2 ? undefined : [group.id],
        ),
      () =>
        Promise.all([
          at(round).post(`${path}/roles`, [roles[0].id]),
          at(round + 1).put(`/api/v1/roles/${roles[1].id}`, { role_group_id: group.id }),
          at(round).post('/api/v1/roles', { name: newName(), role_group_id: group.id }),
          at(round + 1).post('/api/v1/role-groups', { name: newName(), parent_id: group.id }),
        ]),
    );
    assertAmong([deleted], [200, 204, 409]);
    assertAmong(linked, deleted.status === 409 ? [200, 201] : [404]);
  });
});

test('a role that is deleted while its group is cloned, synchronized or changed stops none of them', async () => {
  const group = await makeRoleGroup(admin);
  await rounds(async (round) => {
    const roles = await Promise.all([1, 2, 3].map(() => makeRole(admin, { role_group_id: group.id })));
    const path = `/api/v1/role-groups/${group.id}`;
    const [deleted, others] = await race(
      round,
      () => Promise.all(roles.map(({ id }, index) => at(index).delete(`/api/v1/roles/${id}`))),
      () =>
        Promise.all([
          at(round).post(`${path}/clone`, { name: newName('clone') }),
          at(round + 1).post('/api/v1/role-groups/sync-roles'),
          at(round).post(`${path}/roles`, idsOf(roles)),
          at(round + 1).delete(`${path}/roles`, idsOf(roles)),
        ]),
    );
    assertAmong(deleted, [204]);
    assertAmong(others.slice(0, 2), [200, 201]);
    assertAmong(others.slice(2), [200, 404]);
  });
});

test('permissions made, renamed with their group and deleted at once keep their names in step', async () => {
  await rounds(async (round) => {
    const group = await makePermissionGroup(admin);
    const permission = await makePermission(admin, { group_id: group.id });
    const answers = await Promise.all([
      ...[1, 2, 3, 4].map((index) =>
        at(index).post('/api/v1/permissions', { name: newName('made'), group_id: group.id }),
      ),
      ...[1, 2, 3].map((index) =>
        at(index).put(`/api/v1/permission-groups/${group.id}`, { name: newName('renamed') }),
      ),
      at(round).delete(`/api/v1/permissions/${permission.id}`),
      at(round).post('/api/v1/roles', { name: newName(), permission_ids: [permission.id] }),
    ]);
    assertAmong(answers, [200, 201, 404, 409]);
    assertAmong(answers.slice(0, 7), [200, 201]);
    await assertSound(service);
  });
});

test('50 changes of every kind to one role and its group end without a 5xx', async () => {
  const group = await makeRoleGroup(admin);
  const permissions = idsOf(await Promise.all([1, 2, 3].map(() => makePermission(admin))));
  const role = await makeRole(admin);
  const changes: ((index: number) => Promise<Answer>)[] = [
    (index) => at(index).put(`/api/v1/roles/${role.id}`, { name: newName(), permission_ids: permissions }),
    (index) => at(index).post(`/api/v1/roles/${role.id}/permissions`, permissions.slice(index % 3)),
    (index) => at(index).delete(`/api/v1/roles/${role.id}/permissions`, permissions.toReversed()),
    (index) => at(index).put(`/api/v1/roles/${role.id}`, { role_group_id: index % 4 ? group.id : null }),
    (index) => at(index).post(`/api/v1/role-groups/${group.id}/roles`, [role.id]),
    (index) => at(index).delete(`/api/v1/role-groups/${group.id}/roles`, [role.id]),
    (index) => at(index).post(`/api/v1/role-groups/${group.id}/clone`, { name: newName() }),
    (index) => at(index).put(`/api/v1/role-groups/${group.id}`, { description: String(index) }),
    (index) => at(index).post('/api/v1/role-groups/sync-roles'),
    (index) => at(index).get('/api/v1/users/me'),
  ];
  for (let round = 0; round < 3; round += 1) {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => changes[index % changes.length]?.(index) as Promise<Answer>),
    );
    assertAmong(answers, [200, 201]);
    await assertSound(service);
  }
});
