// Roles, permissions and role groups that are deleted while other requests use them: they are used or deleted, never
// both. It must not judge trees: see trees.test.ts.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import {
  idsOf,
  makePermission,
  makePermissionGroup,
  makeRole,
  makeRoleGroup,
  newName,
} from '@castellan/testing/records/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addPerson } from '@castellan/testing/users/people';
import { openPair } from '../../fixture.ts';
import {
  assertAgreed,
  assertAmong,
  assertInOrder,
  post,
  put,
  type RequestSpec,
  remove,
  sendAtOnce,
  statusesOf,
  times,
  whileWriteIsHeld,
} from './pair.ts';

const scenario = scenariosOf('races');
const pair = await openPair({ after });
const { service, admin } = pair;
type Two = [string, string];
const countOf = async (table: string, column: string, id: string): Promise<number> =>
  (await service.sql(`select from ${table} where ${column} = $1`, [id])).length;

scenario('a role is deleted, or assigned to users and granted permissions, never both', async (tally) => {
  const permission = await makePermission(admin);
  const people = await Promise.all(times(9, () => addPerson(service)));
  for (let round = 0; round < rounds(2, 80); round += 1) {
    const { id } = await makeRole(admin);
    const assignments = people.map((one, index) =>
      index % 3 === 0
        ? put(`users/${one.id}`, { role_id: [id] })
        : index % 3 === 1
          ? post(`users/${one.id}/roles`, [id])
          : put('users/bulk-update', { user_ids: [one.id], updates: { role_id: [id] } }),
    );
    const grants = times(5, (index) =>
      index % 2
        ? post(`roles/${id}/permissions`, [permission.id])
        : put(`roles/${id}`, { description: 'x', permission_ids: [permission.id] }),
    );
    const uses = [[...assignments, ...grants], assignments, grants][round % 3] as typeof assignments;
    const [first, second, ...used] = await sendAtOnce(pair, tally, round, [
      remove(`roles/${id}`),
      remove(`roles/${id}`),
      ...uses,
    ]);
    const deleted = [first, second].some((one) => one?.status === 204);
    assert.deepEqual(statusesOf([first, second] as Answer[]), deleted ? [204, 404] : [409, 409]);
    assertAmong(used, [deleted ? 404 : 200]);
    assert.equal(await countOf('user_roles', 'role_id', id), deleted || round % 3 === 2 ? 0 : 9);
    assert.equal(await countOf('role_permissions', 'role_id', id), deleted || round % 3 === 1 ? 0 : 1);
    tally.held(4);
    await assertAgreed(pair, tally, [`roles/${id}`, `users/${people[0]?.id}`]);
  }
  await assertInOrder(pair, tally);
});

scenario('a role is deleted, or assigned to a user by SQL, never both', async (tally) => {
  const { id: userId } = await addPerson(service);
  const link = (id: string) =>
    service
      .sql('insert into user_roles (user_id, role_id) values ($1, $2)', [userId, id])
      .then(() => true)
      .catch(() => false);
  for (let round = 0; round < rounds(2, 20); round += 1) {
    const roles = idsOf(await Promise.all(times(16, () => makeRole(admin))));
    const [answers, links] = await Promise.all([
      sendAtOnce(
        pair,
        tally,
        round,
        roles.map((id) => remove(`roles/${id}`)),
      ),
      Promise.all(roles.map(link)),
    ]);
    for (const [index, { status, text }] of answers.entries()) {
      assert.equal(status, links[index] ? 409 : 204, text);
      assert.equal(await countOf('user_roles', 'role_id', roles[index] as string), links[index] ? 1 : 0);
      tally.held(2);
    }
  }
  await assertInOrder(pair, tally);
});

scenario(
  'of two changes that exclude each other the one that began first is done; the other waits and is refused',
  async (tally) => {
    const user = (await addPerson(service)).id;
    const linked = async (id: string): Promise<Answer[]> => {
      const adding = service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user, id]);
      await assert.rejects(adding, { code: '23503' });
      return [];
    };
    for (let round = 0; round < rounds(2, 16); round += 1) {
      const [one, two] = (await Promise.all([makePermission(admin), makePermission(admin)]).then(
        idsOf,
      )) as Two;
      const [own, other] = (await Promise.all([makeRoleGroup(admin), makeRoleGroup(admin)]).then(
        idsOf,
      )) as Two;
      const make = () => makeRole(admin, { role_group_id: own });
      const [gone, used] = (await Promise.all([make(), make()]).then(idsOf)) as Two;
      const grants = (id: string) => [
        post(`roles/${used}/permissions`, [id]),
        put(`roles/${gone}`, { description: 'x', permission_ids: [id] }),
        post('roles', { name: newName(), permission_ids: [id] }),
      ];
      // Each is stopped after it has read what the others change, and before its own write.
      const cases: [write: string, first: RequestSpec, others: RequestSpec[], refused: number][] = [
        ['update on permission_groups', remove(`permissions/${one}`), grants(one), 404],
        ['insert on role_permissions', grants(two)[0] as RequestSpec, [remove(`permissions/${two}`)], 409],
        ['insert on user_roles', post(`users/${user}/roles`, [used]), [remove(`roles/${used}`)], 409],
        ['update on role_groups', remove(`roles/${gone}`), [post(`users/${user}/roles`, [gone])], 404],
        [
          'insert on role_group_roles',
          put(`roles/${used}`, { role_group_id: other }),
          [remove(`role-groups/${other}`)],
          409,
        ],
        [
          'delete on role_groups',
          remove(`role-groups/${own}`),
          [put(`roles/${used}`, { role_group_id: own })],
          404,
        ],
      ];
      for (const [write, first, others, refused] of cases) {
        const isRole = first.path.endsWith(gone);
        const [[done], answers] = await whileWriteIsHeld(
          pair,
          { write, waiters: others.length + Number(isRole) },
          () => sendAtOnce(pair, tally, round, [first]),
          async () =>
            (await Promise.all([sendAtOnce(pair, tally, round, others), isRole ? linked(gone) : []])).flat(),
        );
        assertAmong([done as Answer], [200, 204]);
        assertAmong(answers, [refused]);
        tally.held(1 + others.length);
      }
    }
    await assertInOrder(pair, tally);
  },
);

scenario('a permission is deleted, or added to roles, never both', async (tally) => {
  for (let round = 0; round < rounds(2, 60); round += 1) {
    const permission = await makePermission(admin);
    const roles = idsOf(await Promise.all(times(9, () => makeRole(admin))));
    const [deleted, ...puts] = (await sendAtOnce(pair, tally, round, [
      remove(`permissions/${permission.id}`),
      ...roles.map((id, index) =>
        index % 2
          ? post(`roles/${id}/permissions`, [permission.id])
          : put(`roles/${id}`, { description: 'x', permission_ids: [permission.id] }),
      ),
      ...times(6, () => post('roles', { name: newName(), permission_ids: [permission.id] })),
    ])) as [Answer, ...Answer[]];
    assertAmong([deleted], [200, 409]);
    assertAmong(puts, deleted.status === 200 ? [404] : [200, 201]);
    const held = await service.sql(
      'select from role_permissions rp join roles r on r.id = rp.role_id where permission_id = $1 and not is_system',
      [permission.id],
    );
    assert.equal(held.length, deleted.status === 200 ? 0 : 15);
    tally.held(3);
    await assertAgreed(pair, tally, [`permissions/${permission.id}`, `roles/${roles[0]}`]);
  }
  await assertInOrder(pair, tally);
});

scenario('a role group is deleted, or gets roles and child groups, never both', async (tally) => {
  for (let round = 0; round < rounds(2, 60); round += 1) {
    const { id } = await makeRoleGroup(admin);
    const roles = idsOf(await Promise.all(times(8, () => makeRole(admin))));
    const [deleted, ...linked] = (await sendAtOnce(pair, tally, round, [
      round % 4 < 2 ? remove(`role-groups/${id}`) : remove('role-groups/bulk', [id]),
      ...roles.map((role, index) =>
        index % 2 ? post(`role-groups/${id}/roles`, [role]) : put(`roles/${role}`, { role_group_id: id }),
      ),
      ...times(3, () => post('roles', { name: newName(), role_group_id: id })),
      ...times(3, () => post('role-groups', { name: newName(), parent_id: id })),
      post('role-groups/bulk', [{ name: newName(), parent_id: id }]),
    ])) as [Answer, ...Answer[]];
    assertAmong([deleted], [200, 204, 409]);
    assertAmong(linked, deleted.status === 409 ? [200, 201] : [404]);
    assert.equal(await countOf('role_group_roles', 'role_group_id', id), deleted.status === 409 ? 11 : 0);
    assert.equal(await countOf('role_groups', 'parent_id', id), deleted.status === 409 ? 4 : 0);
    tally.held(4);
    await assertAgreed(pair, tally, [`role-groups/${id}`, `roles/${roles[0]}`, `roles/${roles[1]}`]);
  }
  await assertInOrder(pair, tally);
});

scenario('the deletion of a role does not make a copy, repair or change of its group fail', async (tally) => {
  const group = await makeRoleGroup(admin);
  for (let round = 0; round < rounds(2, 60); round += 1) {
    const roles = idsOf(await Promise.all(times(6, () => makeRole(admin, { role_group_id: group.id }))));
    const path = `role-groups/${group.id}`;
    const answers = await sendAtOnce(pair, tally, round, [
      ...roles.map((id) => remove(`roles/${id}`)),
      ...times(3, () => post(`${path}/clone`, { name: newName('clone') })),
      ...times(3, () => post('role-groups/sync-roles')),
      ...times(2, () => post(`${path}/roles`, roles)),
      ...times(2, () => remove(`${path}/roles`, roles.toReversed())),
    ]);
    assertAmong(answers.slice(0, 6), [204]);
    assertAmong(answers.slice(6, 12), [200, 201]);
    assertAmong(answers.slice(12), [200, 404]);
    tally.held(answers.length);
    await assertAgreed(pair, tally, [path]);
  }
  await assertInOrder(pair, tally);
});

scenario('50 changes of every kind to one role and its group are all done', async (tally) => {
  const group = await makeRoleGroup(admin);
  const permissions = idsOf(await Promise.all(times(3, () => makePermission(admin))));
  const role = await makeRole(admin);
  const changes = [
    () => put(`roles/${role.id}`, { name: newName(), permission_ids: permissions }),
    (index: number) => post(`roles/${role.id}/permissions`, permissions.slice(index % 3)),
    () => remove(`roles/${role.id}/permissions`, permissions.toReversed()),
    (index: number) => put(`roles/${role.id}`, { role_group_id: index % 4 ? group.id : null }),
    () => post(`role-groups/${group.id}/roles`, [role.id]),
    () => remove(`role-groups/${group.id}/roles`, [role.id]),
    () => post(`role-groups/${group.id}/clone`, { name: newName() }),
    (index: number) => put(`role-groups/${group.id}`, { description: String(index) }),
    () => post('role-groups/sync-roles'),
    () => ({ method: 'GET' as const, path: '/api/v1/users/me' }),
  ];
  for (let round = 0; round < rounds(2, 30); round += 1) {
    const requests = times(50, (index) => (changes[index % changes.length] as (typeof changes)[0])(index));
    assertAmong(await sendAtOnce(pair, tally, round, requests), [200, 201]);
    tally.held(requests.length);
    await assertAgreed(pair, tally, [`roles/${role.id}`, `role-groups/${group.id}`]);
    tally.held(await assertChained(role.id));
  }
  await assertInOrder(pair, tally);
});

/** Checks that the audited changes of the role's permissions form a chain that begins with none. Returns its length. */
async function assertChained(roleId: string): Promise<number> {
  const entries = await service.sql<{ before: string; after: string }>(
    `select details #>> '{before,permissions}' as before, details #>> '{after,permissions}' as after
     from audit_logs where resource_id = $1 and action = 'role_permissions_changed'`,
    [roleId],
  );
  const [now] = await service.sql<{ names: string }>(
    `select coalesce(jsonb_agg(name order by name), '[]')::text as names
     from role_permissions join permissions on id = permission_id where role_id = $1`,
    [roleId],
  );
  const begun = [...entries.map(({ before }) => before), now?.names];
  const left = ['[]', ...entries.map(({ after }) => after)];
  assert.deepEqual(begun.sort(), left.sort());
  return entries.length;
}

scenario(
  'permissions made, deleted and renamed with their group at once keep their names in step',
  async (tally) => {
    for (let round = 0; round < rounds(2, 60); round += 1) {
      const group = await makePermissionGroup(admin);
      const permission = await makePermission(admin, { group_id: group.id });
      const answers = await sendAtOnce(pair, tally, round, [
        ...times(8, () => post('permissions', { name: newName('made'), group_id: group.id })),
        ...times(6, () => put(`permission-groups/${group.id}`, { name: newName('renamed') })),
        remove(`permissions/${permission.id}`),
        post('roles', { name: newName(), permission_ids: [permission.id] }),
      ]);
      assertAmong(answers.slice(0, 14), [200, 201]);
      assertAmong(answers.slice(14), [200, 201, 404, 409]);
      assert.notEqual((answers[14] as Answer).status < 300, (answers[15] as Answer).status < 300);
      const [now] = await service.sql<{ name: string }>('select name from permission_groups where id = $1', [
        group.id,
      ]);
      const names = await service.sql<{ name: string }>('select name from permissions where group_id = $1', [
        group.id,
      ]);
      assert.ok(names.length >= 8 && names.every(({ name }) => name.startsWith(`${now?.name}.`)));
      tally.held(3);
      await assertAgreed(pair, tally, [`permission-groups/${group.id}`]);
    }
    await assertInOrder(pair, tally);
  },
);
