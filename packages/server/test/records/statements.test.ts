// How many SQL statements an operation costs: the same for one record as for many.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, Body } from '@castellan/testing/client';
import {
  idsOf,
  makePermission,
  makePermissionGroup,
  makeRole,
  makeRoleGroup,
  newName,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';
import { countStatements, statementsOf } from '@castellan/testing/statements';
import { cleanUp } from '../../src/cleanup.ts';

const { service, admin } = await startServiceWithAdmin({ after });
const many = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));

// Enough to show a statement per record, or per few records.
const MANY = 12;

type Operation = {
  /** Creates what the request needs, with `count` records. */
  prepare(count: number): Promise<Body>;
  send(prepared: Body): Promise<Answer>;
};

const groupTree = async (
  count: number,
  make: typeof makeRoleGroup,
  fill: (groupId: string) => Promise<unknown>,
): Promise<Body> => {
  const root = await make(admin);
  await many(count, async () => fill((await make(admin, { parent_id: root.id })).id));
  return root;
};
const roleGroupTree = (count: number) =>
  groupTree(count, makeRoleGroup, (id) => makeRole(admin, { role_group_id: id }));
const permissionGroupTree = (count: number) =>
  groupTree(count, makePermissionGroup, (id) => makePermission(admin, { group_id: id }));

const permissionsOf = async (count: number): Promise<string[]> => {
  const group = await makePermissionGroup(admin);
  return idsOf(await many(count, () => makePermission(admin, { group_id: group.id })));
};
const rolesOf = async (count: number): Promise<string[]> => idsOf(await many(count, () => makeRole(admin)));

const operations: Readonly<Record<string, Operation>> = {
  'list roles': {
    prepare: async (count) => {
      const name = newName('listed');
      const permission_ids = await permissionsOf(3);
      await many(count, () => makeRole(admin, { name: newName(name), permission_ids }));
      return name;
    },
    send: (name) => admin.get(`/api/v1/roles?name_pattern=${name}*`),
  },
  'list all roles': { prepare: rolesOf, send: () => admin.get('/api/v1/roles/list') },
  'read a role with its permissions': {
    prepare: async (count) => makeRole(admin, { permission_ids: await permissionsOf(count) }),
    send: ({ id }) => admin.get(`/api/v1/roles/${id}`),
  },
  'create a role with permissions': {
    prepare: permissionsOf,
    send: (permission_ids) => admin.post('/api/v1/roles', { name: newName(), permission_ids }),
  },
  'replace the permissions of a role': {
    prepare: async (count) => ({ role: await makeRole(admin), ids: await permissionsOf(count) }),
    send: ({ role, ids }) => admin.post(`/api/v1/roles/${role.id}/permissions`, ids),
  },
  'update a role with permissions': {
    prepare: async (count) => ({ role: await makeRole(admin), ids: await permissionsOf(count) }),
    send: ({ role, ids }) => admin.put(`/api/v1/roles/${role.id}`, { name: newName(), permission_ids: ids }),
  },
  'remove permissions from a role': {
    prepare: async (count) => makeRole(admin, { permission_ids: await permissionsOf(count) }),
    send: ({ id, permissions }) => admin.delete(`/api/v1/roles/${id}/permissions`, idsOf(permissions)),
  },
  'list permissions': {
    prepare: async (count) => {
      const group = await makePermissionGroup(admin);
      await many(count, () => makePermission(admin, { group_id: group.id }));
      return group;
    },
    send: ({ id }) => admin.get(`/api/v1/permissions?group_id=${id}`),
  },
  'list role groups': { prepare: roleGroupTree, send: () => admin.get('/api/v1/role-groups?size=100') },
  'read a role group with its subtree': {
    prepare: roleGroupTree,
    send: ({ id }) => admin.get(`/api/v1/role-groups/${id}?include_nested_roles=true`),
  },
  'move a role group with its subtree': {
    prepare: async (count) => ({ group: await roleGroupTree(count), parent: await makeRoleGroup(admin) }),
    send: ({ group, parent }) => admin.put(`/api/v1/role-groups/${group.id}`, { parent_id: parent.id }),
  },
  'create role groups in bulk': {
    prepare: async (count) => ({ count, parent: await makeRoleGroup(admin) }),
    send: ({ count, parent }) =>
      admin.post(
        '/api/v1/role-groups/bulk',
        Array.from({ length: count }, () => ({ name: newName(), parent_id: parent.id })),
      ),
  },
  'delete role groups in bulk': {
    prepare: async (count) => idsOf(await many(count, () => makeRoleGroup(admin))),
    send: (ids) => admin.delete('/api/v1/role-groups/bulk', ids),
  },
  'add roles to a group': {
    prepare: async (count) => ({ group: await makeRoleGroup(admin), roles: await rolesOf(count) }),
    send: ({ group, roles }) => admin.post(`/api/v1/role-groups/${group.id}/roles`, roles),
  },
  'remove roles from a group': {
    prepare: async (count) => {
      const group = await makeRoleGroup(admin);
      return { group, roles: idsOf(await many(count, () => makeRole(admin, { role_group_id: group.id }))) };
    },
    send: ({ group, roles }) => admin.delete(`/api/v1/role-groups/${group.id}/roles`, roles),
  },
  'clone a role group': {
    prepare: async (count) => {
      const group = await makeRoleGroup(admin);
      await many(count, () => makeRole(admin, { role_group_id: group.id }));
      return group;
    },
    send: ({ id }) => admin.post(`/api/v1/role-groups/${id}/clone`, { name: newName() }),
  },
  'synchronize roles': {
    prepare: async (count) => {
      const group = await makeRoleGroup(admin);
      await many(count, () => makeRole(admin, { role_group_id: group.id }));
      await service.sql('delete from role_group_roles where role_group_id = $1', [group.id]);
    },
    send: () => admin.post('/api/v1/role-groups/sync-roles'),
  },
  'list permission groups': {
    prepare: permissionGroupTree,
    send: () => admin.get('/api/v1/permission-groups?size=100'),
  },
  'read a permission group with its subtree': {
    prepare: permissionGroupTree,
    send: ({ id }) => admin.get(`/api/v1/permission-groups/${id}`),
  },
  'rename a permission group with its permissions': {
    prepare: async (count) => {
      const group = await makePermissionGroup(admin);
      await many(count, () => makePermission(admin, { group_id: group.id }));
      return group;
    },
    send: ({ id }) => admin.put(`/api/v1/permission-groups/${id}`, { name: newName('renamed') }),
  },
};

for (const [what, { prepare, send }] of Object.entries(operations))
  test(`${what}: ${MANY} records cost as many statements as one`, async () => {
    const counts = [];
    for (const records of [1, MANY]) {
      const prepared = await prepare(records);
      counts.push(await countStatements(service, () => send(prepared)));
    }
    assert.equal(counts[1], counts[0]);
    assert.ok(Number(counts[0]) > 0);
  });

test('the counter counts every statement of a request, and stops when it is done', async () => {
  const texts = await statementsOf(() => admin.get('/api/v1/roles'));
  assert.ok(texts.some((text) => text.includes('from roles')));
  assert.ok(texts.some((text) => text.includes('session_tokens')));
  assert.deepEqual(await statementsOf(async () => {}), []);
});

test('statements of periodic jobs are not counted', async () => {
  assert.deepEqual(await statementsOf(() => cleanUp(service.service.deps)), []);
});
