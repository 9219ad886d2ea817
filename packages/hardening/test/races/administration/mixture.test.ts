// Sends every kind of administrative change at random and at once, to a few records that they share.
// It must not judge single answers beyond what holds in any order.
import assert from 'node:assert/strict';
import type { TestClient } from '@castellan/testing/client';
import { signIn } from '@castellan/testing/harness';
import {
  idsOf,
  makePermission,
  makePermissionGroup,
  makeRole,
  makeRoleGroup,
  roleId,
} from '@castellan/testing/records/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addPerson } from '@castellan/testing/users/people';
import { openPair, type Pair } from '../../fixture.ts';
import {
  assertAgreed,
  assertAmong,
  assertInOrder,
  countDeadlocks,
  post,
  put,
  type RequestSpec,
  remove,
  sendAtOnce,
  times,
} from './pair.ts';

const scenario = scenariosOf('races');

type Actor = { id: string; as: TestClient };
type Pool = Record<'users' | 'roles' | 'groups' | 'permissions' | 'permissionGroups', string[]>;

/** Records of each kind in a round. */
const FEW = 6;

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
const some = <T>(list: readonly T[], most = 3): T[] =>
  list.toSorted(() => Math.random() - 0.5).slice(0, Math.floor(Math.random() * (most + 1)));
// Few names, so that they collide.
const name = () => `name-${Math.floor(Math.random() * 12)}`;

const changes: ((pool: Pool) => RequestSpec)[] = [
  ({ users }) => put(`users/${pick(users)}`, { first_name: 'Ada', last_name: 'King' }),
  ({ users }) => put(`users/${pick(users)}`, { email: `${name()}@example.com` }),
  ({ users, roles }) => put(`users/${pick(users)}`, { role_id: some(roles) }),
  ({ users, roles }) => post(`users/${pick(users)}/roles`, { role_ids: some(roles) }),
  ({ users, roles }) => remove(`users/${pick(users)}/roles`, { role_ids: [pick(roles)] }),
  ({ roles }) => put(`roles/${roles.at(-1)}`, { description: name() }),
  ({ users }) => put(`users/${pick(users)}`, { is_superuser: Math.random() < 0.5 }),
  ({ users }) => put(`users/${pick(users)}`, { is_active: Math.random() < 0.5 }),
  ({ users }) => remove(`users/${pick(users)}`),
  ({ users, roles }) =>
    put('users/bulk-update', {
      user_ids: some(users, 6),
      updates: { first_name: name(), role_id: some(roles) },
    }),
  ({ users }) =>
    put('users/bulk-update', { users: some(users, 4).map((id) => ({ id, email: `${name()}@example.com` })) }),
  ({ users }) =>
    put('users/bulk-update', { user_ids: some(users, 6), updates: { is_active: Math.random() < 0.7 } }),
  ({ groups, permissions }) =>
    post('roles', {
      name: name(),
      permission_ids: some(permissions),
      role_group_id: pick([null, ...groups]),
    }),
  ({ roles }) => put(`roles/${pick(roles)}`, { name: name() }),
  ({ roles, groups }) => put(`roles/${pick(roles)}`, { role_group_id: pick([null, ...groups]) }),
  ({ roles, groups, permissions }) =>
    put(`roles/${pick(roles)}`, {
      description: name(),
      permission_ids: some(permissions),
      role_group_id: pick([null, ...groups]),
    }),
  ({ roles, permissions }) => post(`roles/${pick(roles)}/permissions`, some(permissions, 4)),
  ({ roles, permissions }) => remove(`roles/${pick(roles)}/permissions`, some(permissions, 4)),
  ({ roles }) => remove(`roles/${pick(roles)}`),
  ({ groups }) => post('role-groups', { name: name(), parent_id: pick([null, ...groups]) }),
  ({ groups }) => put(`role-groups/${pick(groups)}`, { parent_id: pick([null, ...groups]) }),
  ({ groups }) => put(`role-groups/${pick(groups)}`, { name: name() }),
  ({ groups }) => remove(`role-groups/${pick(groups)}`),
  ({ groups }) => post('role-groups/bulk', [{ name: name() }, { name: name(), parent_id: pick(groups) }]),
  ({ groups }) => remove('role-groups/bulk', some(groups, 3).concat(pick(groups))),
  ({ groups }) => post(`role-groups/${pick(groups)}/clone`, { name: name() }),
  ({ groups, roles }) => post(`role-groups/${pick(groups)}/roles`, some(roles, 4)),
  ({ groups, roles }) => remove(`role-groups/${pick(groups)}/roles`, some(roles, 4)),
  () => post('role-groups/sync-roles'),
  ({ permissionGroups }) => post('permissions', { name: name(), group_id: pick(permissionGroups) }),
  ({ permissions }) => remove(`permissions/${pick(permissions)}`),
  ({ permissionGroups }) =>
    post('permission-groups', { name: name(), parent_id: pick([null, ...permissionGroups]) }),
  ({ permissionGroups }) => put(`permission-groups/${pick(permissionGroups)}`, { name: name() }),
  ({ permissionGroups }) =>
    put(`permission-groups/${pick(permissionGroups)}`, { parent_id: pick([null, ...permissionGroups]) }),
  ({ permissionGroups }) => remove(`permission-groups/${pick(permissionGroups)}`),
];

async function poolOf({ service }: Pair, others: readonly Actor[]): Promise<Pool> {
  const ids = async (table: string, where = 'true'): Promise<string[]> =>
    idsOf(
      await service.sql<{ id: string }>(
        `select id from ${table} where ${where} order by random() limit ${FEW}`,
      ),
    );
  return {
    users: [...(await ids('users', 'not is_superuser')), ...idsOf(others)],
    // Includes a system role.
    roles: [...(await ids('roles', 'not is_system')), await roleId(service, 'Admin')],
    groups: await ids('role_groups'),
    permissions: await ids('permissions', 'created_by_id is not null'),
    permissionGroups: await ids('permission_groups', 'created_by_id is not null'),
  };
}

/** Adds records until every change finds some. */
async function fill({ service, admin }: Pair): Promise<void> {
  const makers = [
    ['users', FEW, () => addPerson(service)],
    ['roles', FEW, () => makeRole(admin)],
    ['role_groups', FEW, () => makeRoleGroup(admin)],
    ['permission_groups', 16, () => makePermissionGroup(admin)],
    // 26 of them are seeded.
    ['permissions', 34, () => makePermission(admin)],
  ] as const;
  for (const [table, wanted, make] of makers) {
    const [row] = await service.sql<{ count: number }>(`select count(*)::int from ${table}`);
    for (let count = row?.count ?? 0; count < wanted; count += 1) await make();
  }
}

scenario(
  'changes of every kind, sent at once to the same few records, keep all rules of the database',
  async (tally, t) => {
    const pair = await openPair({ after: (hook) => t.after(hook) });
    for (let round = 0; round < rounds(2, 90); round += 1) {
      await fill(pair);
      // Two administrators who can be demoted, deactivated or deleted by the others' requests.
      const others = await times(2, async () => {
        const person = await addPerson(pair.service, { superuser: true });
        return { id: person.id, as: await signIn(pair.service, person) };
      }).reduce(async (all, one) => [...(await all), await one], Promise.resolve([] as Actor[]));
      const pool = await poolOf(pair, others);
      const requests = times(50, (index): RequestSpec => {
        const as = [pair.admin, ...others.map((one) => one.as)][index % 3] as TestClient;
        return { ...pick(changes)(pool), as };
      });
      const answers = await sendAtOnce(pair, tally, round, requests);
      assertAmong(answers, [200, 201, 204, 400, 401, 403, 404, 409, 422]);
      await assertInOrder(pair, tally);
      await assertAgreed(pair, tally, [
        ...pool.users.map((id) => `users/${id}`),
        ...pool.roles.map((id) => `roles/${id}`),
        ...pool.groups.map((id) => `role-groups/${id}`),
        ...pool.permissionGroups.map((id) => `permission-groups/${id}`),
      ]);
    }
    assert.equal(await countDeadlocks(pair), 0);
    tally.held();
  },
);
