// Concurrent moves in the trees of role groups and permission groups, at two instances: no cycle, no tree that is too
// deep, no group below a deleted one. Of the contents it judges only a role that a move would put into a group and its
// ancestor.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import {
  idsOf,
  makePermissionGroup,
  makeRole,
  makeRoleGroup,
  newName,
} from '@castellan/testing/records/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { openPair } from '../../fixture.ts';
import {
  assertAgreed,
  assertAmong,
  assertInOrder,
  post,
  put,
  remove,
  sendAtOnce,
  statusesOf,
  times,
} from './pair.ts';

const scenario = scenariosOf('races');
const pair = await openPair({ after });
const { service, admin } = pair;

for (const [what, path, table, make] of [
  ['role group', 'role-groups', 'role_groups', makeRoleGroup],
  ['permission group', 'permission-groups', 'permission_groups', makePermissionGroup],
] as const) {
  const makeMany = async (count: number): Promise<string[]> =>
    idsOf(await Promise.all(times(count, () => make(admin))));
  const move = (id: string | undefined, parent: string | undefined) =>
    put(`${path}/${id}`, { parent_id: parent });

  scenario(`${what}s: of two moves that together would make a cycle, exactly one is done`, async (tally) => {
    for (let round = 0; round < rounds(1, 40); round += 1) {
      // Eight pairs at once, so that they also compete for each other's locks.
      const pairs = await Promise.all(
        times(8, async () => {
          const [a, b] = await makeMany(2);
          return { a, b, low: (await make(admin, { parent_id: b })).id as string };
        }),
      );
      const requests = pairs.flatMap(({ a, b, low }) => [move(a, low), move(b, a)]);
      const answers = await sendAtOnce(pair, tally, round, requests);
      for (const index of pairs.keys())
        assert.deepEqual(statusesOf(answers.slice(2 * index, 2 * index + 2)), [200, 409]);
      tally.held(pairs.length);
      await assertAgreed(pair, tally, [`${path}/${pairs[0]?.a}`, `${path}/${pairs[0]?.b}`]);
    }
    await assertInOrder(pair, tally);
  });

  scenario(
    `${what}s: of 16 moves that together would make a cycle, exactly one is refused`,
    async (tally) => {
      for (let round = 0; round < rounds(1, 30); round += 1) {
        const ring = await makeMany(16);
        const requests = ring.map((id, index) => move(id, ring[(index + 1) % ring.length]));
        const answers = await sendAtOnce(pair, tally, round, requests);
        assert.deepEqual(statusesOf(answers), [...times(15, () => 200), 409]);
        tally.held();
      }
      await assertInOrder(pair, tally);
    },
  );

  scenario(`${what}s: after 16 moves of one group it is where the last one put it`, async (tally) => {
    const [root = '', ...parents] = await makeMany(17);
    for (let round = 0; round < rounds(1, 15); round += 1) {
      const answers = await sendAtOnce(
        pair,
        tally,
        round,
        parents.map((parent) => move(root, parent)),
      );
      assertAmong(answers, [200]);
      const etags = answers.map(({ headers }) => Number(headers.get('etag')?.slice(1, -1)));
      assert.equal(new Set(etags).size, 16, 'each change has a version of its own');
      const last = parents[etags.indexOf(Math.max(...etags))];
      const [row] = await service.sql<{ parent_id: string }>(`select parent_id from ${table} where id = $1`, [
        root,
      ]);
      assert.equal(row?.parent_id, last);
      tally.held(2);
      await assertAgreed(pair, tally, [`${path}/${root}`]);
    }
    await assertInOrder(pair, tally);
  });

  scenario(`${what}s: concurrent moves make no tree deeper than 32 levels`, async (tally) => {
    const chainOf = async (length: number): Promise<string[]> => {
      const chain = [(await make(admin)).id as string];
      while (chain.length < length) chain.push((await make(admin, { parent_id: chain.at(-1) })).id);
      return chain;
    };
    for (let round = 0; round < rounds(1, 6); round += 1) {
      // Five chains of six levels fit into 32 levels, six do not. The last group gets either a child or another chain.
      const chains = await Promise.all(times(8, () => chainOf(6)));
      const answers = await sendAtOnce(pair, tally, round, [
        ...chains.slice(1).map(([top], index) => move(top, chains[index]?.at(-1))),
        ...times(9, (index) => post(path, { name: newName(), parent_id: chains[index % 8]?.at(-1) })),
      ]);
      assertAmong(answers, [200, 201, 400]);
      assert.ok(answers.slice(0, 7).some(({ status }) => status === 200));
      assert.ok(answers.slice(0, 7).some(({ status }) => status === 400));
      tally.held(2);
    }
    await assertInOrder(pair, tally);
  });

  scenario(`${what}s: a parent is deleted, or gets children, never both`, async (tally) => {
    for (let round = 0; round < rounds(1, 60); round += 1) {
      const [parent = '', ...groups] = await makeMany(9);
      const [deleted, ...children] = (await sendAtOnce(pair, tally, round, [
        remove(`${path}/${parent}`),
        ...groups.map((id) => move(id, parent)),
        ...times(7, () => post(path, { name: newName(), parent_id: parent })),
      ])) as [Answer, ...Answer[]];
      assertAmong([deleted], [204, 409]);
      assertAmong(children, deleted.status === 204 ? [404] : [200, 201]);
      const rows = await service.sql(`select from ${table} where parent_id = $1`, [parent]);
      assert.equal(rows.length, deleted.status === 204 ? 0 : 15);
      tally.held(3);
      await assertAgreed(pair, tally, [`${path}/${parent}`, `${path}/${groups[0]}`]);
    }
    await assertInOrder(pair, tally);
  });
}

scenario('a permission group is deleted, or gets permissions, never both', async (tally) => {
  for (let round = 0; round < rounds(1, 60); round += 1) {
    const { id } = await makePermissionGroup(admin);
    const [deleted, ...made] = (await sendAtOnce(pair, tally, round, [
      remove(`permission-groups/${id}`),
      ...times(15, () => post('permissions', { name: newName(), group_id: id })),
    ])) as [Answer, ...Answer[]];
    assertAmong([deleted], [204, 409]);
    assertAmong(made, [deleted.status === 204 ? 404 : 201]);
    tally.held(2);
    await assertAgreed(pair, tally, [`permission-groups/${id}`]);
  }
  await assertInOrder(pair, tally);
});

scenario(
  'a role is added to a group, or the group moved below one that has the role, never both',
  async (tally) => {
    for (let round = 0; round < rounds(1, 60); round += 1) {
      const [upper, lower] = idsOf(await Promise.all(times(2, () => makeRoleGroup(admin))));
      const roles = idsOf(await Promise.all(times(8, () => makeRole(admin, { role_group_id: upper }))));
      const [moved, ...added] = (await sendAtOnce(pair, tally, round, [
        put(`role-groups/${lower}`, { parent_id: upper }),
        ...roles.map((id) => post(`role-groups/${lower}/roles`, [id])),
      ])) as [Answer, ...Answer[]];
      assertAmong([moved], [200, 409]);
      assertAmong(added, [moved.status === 200 ? 409 : 200]);
      tally.held(2);
      await assertAgreed(pair, tally, [`role-groups/${upper}`, `role-groups/${lower}`]);
    }
    await assertInOrder(pair, tally);
  },
);

scenario(
  'role groups created and deleted in bulk during copies and repairs are complete or absent',
  async (tally) => {
    const original = await makeRoleGroup(admin);
    for (const role of idsOf(await Promise.all(times(3, () => makeRole(admin)))))
      assertAmong([await admin.post(`/api/v1/role-groups/${original.id}/roles`, [role])], [200]);
    for (let round = 0; round < rounds(1, 50); round += 1) {
      const [root, ...old] = idsOf(await Promise.all(times(5, () => makeRoleGroup(admin))));
      await Promise.all(old.map((id) => admin.put(`/api/v1/role-groups/${id}`, { parent_id: root })));
      const whole = [root, ...old];
      const names = times(4, () => newName('bulk'));
      const answers = await sendAtOnce(pair, tally, round, [
        remove('role-groups/bulk', whole),
        remove('role-groups/bulk', whole.toReversed()),
        ...times(4, () =>
          post(
            'role-groups/bulk',
            names.map((name, index) => (index ? { name, parent: names[0] } : { name })),
          ),
        ),
        ...times(2, () =>
          post('role-groups/bulk', [{ name: newName() }, { name: newName(), parent_id: root }]),
        ),
        ...times(3, () => post(`role-groups/${original.id}/clone`, { name: newName('clone') })),
        post(`role-groups/${root}/clone`, { name: newName('clone') }),
        ...times(4, () => post('role-groups/sync-roles')),
      ]);
      const left = await service.sql('select from role_groups where id = any($1)', [whole]);
      const deletions = answers.slice(0, 2);
      const below = answers.slice(6, 8);
      // The groups stay if the two children were created first; otherwise all of them are deleted.
      const gone = deletions.some(({ status }) => status === 200);
      assert.deepEqual(statusesOf(deletions), gone ? [200, 404] : [409, 409]);
      assertAmong(below, [gone ? 404 : 201]);
      assert.equal(left.length, gone ? 0 : 5);
      assert.deepEqual(statusesOf(answers.slice(2, 6)), [201, 409, 409, 409]);
      const made = await service.sql<{ parent: string | null }>(
        'select p.name as parent from role_groups g left join role_groups p on p.id = g.parent_id where g.name = any($1)',
        [names],
      );
      assert.deepEqual(made.map(({ parent }) => parent).sort(), [names[0], names[0], names[0], null]);
      assertAmong(answers.slice(8, 11), [201]);
      for (const { body } of answers.slice(8, 11)) assert.equal(body.data.roles.length, 3);
      assertAmong(answers.slice(12), [200]);
      tally.held(6);
      await assertAgreed(pair, tally, [`role-groups/${original.id}`, `role-groups/${root}`]);
    }
    await assertInOrder(pair, tally);
  },
);
