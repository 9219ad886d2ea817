// Pairs of changes that need each other's row locks: they take them in one order, so that no deadlock occurs. A
// deadlock costs a second; after the fourth the caller gets an error. It must not look at who wins.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { signIn } from '@castellan/testing/harness';
import {
  idsOf,
  makePermission,
  makePermissionGroup,
  makeRole,
  makeRoleGroup,
  newName,
  roleId,
} from '@castellan/testing/records/fixture';
import { rounds, scenariosOf, type Tally } from '@castellan/testing/scenario';
import { addPerson } from '@castellan/testing/users/people';
import { openPair, type Pair } from '../../fixture.ts';
import {
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

/**
 * Sends `count` volleys of the requests that `make` returns to two new instances. Throws if PostgreSQL counted a
 * deadlock.
 */
async function withoutDeadlock(
  t: TestContext,
  tally: Tally,
  count: number,
  make: (pair: Pair, round: number) => Promise<RequestSpec[]>,
): Promise<void> {
  const pair = await openPair({ after: (hook) => t.after(hook) });
  for (let round = 0; round < count; round += 1) {
    const answers = await sendAtOnce(pair, tally, round, await make(pair, round));
    assertAmong(answers, [200, 201, 204, 401, 403, 404, 409]);
  }
  await assertInOrder(pair, tally);
  assert.equal(await countDeadlocks(pair), 0);
  tally.held();
}

scenario('a change of a system role does not deadlock with the creation of permissions', (tally, t) =>
  withoutDeadlock(t, tally, rounds(2, 30), async ({ service, admin }, round) => {
    const [role, group] = [await roleId(service, 'Admin'), await makePermissionGroup(admin)];
    return times(32, (index) =>
      index % 2
        ? put(`roles/${role}`, { description: `${round} ${index}` })
        : post('permissions', { group_id: group.id, name: newName() }),
    );
  }),
);

scenario(
  'names and emails that are exchanged crosswise, one at a time and in bulk, cause no deadlock',
  (tally, t) =>
    withoutDeadlock(t, tally, rounds(2, 40), async ({ service, admin }, round) => {
      const email = (index: number) => `crosswise-${round}-${index % 4}@example.com`;
      const people = await Promise.all(times(4, (index) => addPerson(service, { email: email(index) })));
      const names = times(4, () => newName());
      const roles = idsOf(await Promise.all(names.map((name) => makeRole(admin, { name }))));
      return times(48, (index): RequestSpec => {
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
  'the renaming of a permission group to a name in use does not deadlock with new permissions there',
  (tally, t) =>
    withoutDeadlock(t, tally, rounds(2, 30), async ({ admin }) => {
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

scenario(
  'the deletion of a user does not deadlock with changes of the records that the user created',
  (tally, t) =>
    withoutDeadlock(t, tally, rounds(2, 30), async ({ service }) => {
      const author = await addPerson(service, { superuser: true });
      const as = await signIn(service, author);
      const groups = idsOf([await makeRoleGroup(as), await makeRoleGroup(as)]);
      const { id: permissionGroup } = await makePermissionGroup(as);
      const permissions = idsOf(
        await Promise.all(times(4, () => makePermission(as, { group_id: permissionGroup }))),
      );
      const roles = idsOf(await Promise.all(times(8, () => makeRole(as))));
      const people = idsOf(await Promise.all(times(4, () => addPerson(service))));
      const changes: ((index: number) => RequestSpec)[] = [
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
