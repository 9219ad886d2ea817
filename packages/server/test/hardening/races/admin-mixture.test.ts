// Every change that administration knows, at random and all at once, on a handful of records that all of them share.
// It must not judge single answers beyond what holds of each of them in any order.
import assert from 'node:assert/strict';
import type { TestClient } from '../../client.ts';
import { signIn } from '../../harness.ts';
import {
  idsOf,
  makePermission,
  makePermissionGroup,
  makeRole,
  makeRoleGroup,
  roleId,
} from '../../records/fixture.ts';
import { addPerson } from '../../users/people.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import {
  assertAgreed,
  assertAmong,
  assertInOrder,
  countDeadlocks,
  type Deed,
  fire,
  type Office,
  openOffice,
  post,
  put,
  remove,
  times,
} from './admin-office.ts';

const scenario = scenariosOf('races');

type Actor = { id: string; as: TestClient };
type Pool = Record<'users' | 'roles' | 'groups' | 'permissions' | 'permissionGroups', string[]>;

/** Records of each kind that a round is about. */
const FEW = 6;

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T;
const some = <T>(list: readonly T[], most = 3): T[] =>
  list.toSorted(() => Math.random() - 0.5).slice(0, Math.floor(Math.random() * (most + 1)));
// Few names, so that they meet.
const name = () => `name-${Math.floor(Math.random() * 12)}`;

const changes: ((pool: Pool) => Deed)[] = [
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

async function poolOf({ service }: Office, others: readonly Actor[]): Promise<Pool> {
  const ids = async (table: string, where = 'true'): Promise<string[]> =>
    idsOf(
      await service.sql<{ id: string }>(
        `select id from ${table} where ${where} order by random() limit ${FEW}`,
      ),
    );
  return {
    users: [...(await ids('users', 'not is_superuser')), ...idsOf(others)],
    // The system role takes part.
    roles: [...(await ids('roles', 'not is_system')), await roleId(service, 'Admin')],
    groups: await ids('role_groups'),
    permissions: await ids('permissions', 'created_by_id is not null'),
    permissionGroups: await ids('permission_groups', 'created_by_id is not null'),
  };
}

/** So many that every change finds something to meet on. */
async function fill({ service, admin }: Office): Promise<void> {
  const makers = [
    ['users', FEW, () => addPerson(service)],
    ['roles', FEW, () => makeRole(admin)],
    ['role_groups', FEW, () => makeRoleGroup(admin)],
    ['permission_groups', 16, () => makePermissionGroup(admin)],
    // The seeded ones are 26.
    ['permissions', 34, () => makePermission(admin)],
  ] as const;
  for (const [table, wanted, make] of makers) {
    const [row] = await service.sql<{ count: number }>(`select count(*)::int from ${table}`);
    for (let count = row?.count ?? 0; count < wanted; count += 1) await make();
  }
}

scenario(
  'changes of every kind, by several at once on the same few records, leave all rules standing',
  async (tally, t) => {
    const office = await openOffice({ after: (hook) => t.after(hook) });
    for (let round = 0; round < rounds(8, 90); round += 1) {
      await fill(office);
      // Two who can be demoted, closed or deleted amid their own work.
      const others = await times(2, async () => {
        const person = await addPerson(office.service, { superuser: true });
        return { id: person.id, as: await signIn(office.service, person) };
      }).reduce(async (all, one) => [...(await all), await one], Promise.resolve([] as Actor[]));
      const pool = await poolOf(office, others);
      const deeds = times(50, (index): Deed => {
        const as = [office.admin, ...others.map((one) => one.as)][index % 3] as TestClient;
        return { ...pick(changes)(pool), as };
      });
      const answers = await fire(office, tally, round, deeds);
      assertAmong(answers, [200, 201, 204, 400, 401, 403, 404, 409, 422]);
      await assertInOrder(office, tally);
      await assertAgreed(office, tally, [
        ...pool.users.map((id) => `users/${id}`),
        ...pool.roles.map((id) => `roles/${id}`),
        ...pool.groups.map((id) => `role-groups/${id}`),
        ...pool.permissionGroups.map((id) => `permission-groups/${id}`),
      ]);
    }
    assert.equal(await countDeadlocks(office), 0);
    tally.held();
  },
);
