// Pairs of changes that need each other's locks: they queue in one order, so that PostgreSQL has to break none up.
// It must not look at who wins. (A deadlock costs a second, and after the fourth attempt the caller's answer.)
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { signIn } from '../../harness.ts';
import {
  idsOf,
  makePermission,
  makePermissionGroup,
  makeRole,
  makeRoleGroup,
  newName,
  roleId,
} from '../../records/fixture.ts';
import { addPerson } from '../../users/people.ts';
import { rounds, scenariosOf, type Tally } from '../scenario.ts';
import {
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

/** Volleys of what `make` makes, on a service of their own; none of them may cost a deadlock. */
async function withoutDeadlock(
  t: TestContext,
  tally: Tally,
  count: number,
  make: (office: Office, round: number) => Promise<Deed[]>,
): Promise<void> {
  const office = await openOffice({ after: (hook) => t.after(hook) });
  for (let round = 0; round < count; round += 1) {
    const answers = await fire(office, tally, round, await make(office, round));
    assertAmong(answers, [200, 201, 204, 401, 403, 404, 409]);
  }
  await assertInOrder(office, tally);
  assert.equal(await countDeadlocks(office), 0);
  tally.held();
}

scenario('a system role that is changed waits for no permission that it gets meanwhile', (tally, t) =>
  withoutDeadlock(t, tally, rounds(4, 30), async ({ service, admin }, round) => {
    const [role, group] = [await roleId(service, 'Admin'), await makePermissionGroup(admin)];
    return times(32, (index) =>
      index % 2
        ? put(`roles/${role}`, { description: `${round} ${index}` })
        : post('permissions', { group_id: group.id, name: newName() }),
    );
  }),
);

scenario(
  'names and addresses that change hands crosswise, one at a time and in bulk, wait for each other in turn',
  (tally, t) =>
    withoutDeadlock(t, tally, rounds(6, 40), async ({ service, admin }, round) => {
      const email = (index: number) => `crosswise-${round}-${index % 4}@example.com`;
      const people = await Promise.all(times(4, (index) => addPerson(service, { email: email(index) })));
      const names = times(4, () => newName());
      const roles = idsOf(await Promise.all(names.map((name) => makeRole(admin, { name }))));
      return times(48, (index): Deed => {
        const step = index + 1 + (index >> 2);
        if (index % 3 === 0) return put(`roles/${roles[index % 4]}`, { name: names[step % 4] });
        const own = { email: email(step) };
        if (index % 3 === 1) return put(`users/${people[index % 4]?.id}`, own);
        const other = { id: people[(index + 1) % 4]?.id, email: email(step + 1) };
        return put('users/bulk-update', { users: [{ id: people[index % 4]?.id, ...own }, other] });
      });
    }),
);

scenario(
  'a permission group that is renamed to a name just in use waits for no permission made there',
  (tally, t) =>
    withoutDeadlock(t, tally, rounds(4, 30), async ({ admin }) => {
      const [from, to] = [await makePermissionGroup(admin), await makePermissionGroup(admin)];
      const actions = times(8, () => newName());
      for (const name of actions) await makePermission(admin, { group_id: from.id, name });
      return times(32, (index) =>
        index % 2
          ? put(`permission-groups/${from.id}`, { name: to.name })
          : post('permissions', { group_id: to.id, name: actions[(index >> 1) % 8] }),
      );
    }),
);

scenario('somebody is deleted while he and others change what he made', (tally, t) =>
  withoutDeadlock(t, tally, rounds(4, 30), async ({ service }) => {
    const author = await addPerson(service, { superuser: true });
    const as = await signIn(service, author);
    const groups = idsOf([await makeRoleGroup(as), await makeRoleGroup(as)]);
    const { id: permissionGroup } = await makePermissionGroup(as);
    const permissions = idsOf(
      await Promise.all(times(4, () => makePermission(as, { group_id: permissionGroup }))),
    );
    const roles = idsOf(await Promise.all(times(8, () => makeRole(as))));
    const people = idsOf(await Promise.all(times(4, () => addPerson(service))));
    const changes: ((index: number) => Deed)[] = [
      (index) => ({ ...post(`role-groups/${groups[index % 2]}/clone`, { name: newName() }), as }),
      (index) => ({ ...post('role-groups', { name: newName(), parent_id: groups[index % 2] }), as }),
      () => ({ ...post('permissions', { name: newName(), group_id: permissionGroup }), as }),
      () => ({ ...post('permission-groups', { name: newName(), parent_id: permissionGroup }), as }),
      (index) => ({ ...post('roles', { name: newName(), role_group_id: groups[index % 2] }), as }),
      (index) => post(`users/${people[index % 4]}/roles`, roles.slice(index % 4)),
      (index) => put(`roles/${roles[index % 8]}`, { role_group_id: groups[index % 2] }),
      (index) => post(`role-groups/${groups[index % 2]}/roles`, roles.toReversed()),
      (index) => put(`roles/${roles[index % 8]}`, { permission_ids: permissions.slice(index % 4) }),
      (index) => remove(`permissions/${permissions[index % 4]}`),
      () => put(`permission-groups/${permissionGroup}`, { name: newName() }),
    ];
    return times(45, (index) =>
      index % 15 === 7
        ? remove(`users/${author.id}`)
        : (changes[index % changes.length] as (typeof changes)[0])(index),
    );
  }),
);
