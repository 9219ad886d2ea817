// Moves in the two trees that get in each other's way, at two instances at once.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { assertSound } from '../invariants.ts';
import { race } from '../sessions/at-once.ts';
import { makePermissionGroup, makeRole, makeRoleGroup } from './fixture.ts';
import { assertAmong, openTwoInstances, rounds, statusesOf } from './two-instances.ts';

const { service, admin, at } = await openTwoInstances({ after });

afterEach(() => assertSound(service));

for (const [what, path, make] of [
  ['role group', '/api/v1/role-groups', makeRoleGroup],
  ['permission group', '/api/v1/permission-groups', makePermissionGroup],
] as const) {
  test(`${what}s: of two moves that would make a circle together exactly one is done`, async () => {
    await rounds(async (round) => {
      const [a, b] = [await make(admin), await make(admin)];
      const low = await make(admin, { parent_id: b.id });
      const answers = await race(
        round,
        () => at(round).put(`${path}/${a.id}`, { parent_id: low.id }),
        () => at(round + 1).put(`${path}/${b.id}`, { parent_id: a.id }),
      );
      assert.deepEqual(statusesOf(answers), [200, 409], answers.map(({ text }) => text).join());
    });
  });

  test(`${what}s: of a ring of 16 moves one is left out, however they meet`, async () => {
    for (let round = 0; round < 4; round += 1) {
      const ring = await Promise.all(Array.from({ length: 16 }, () => make(admin)));
      const answers = await Promise.all(
        ring.map(({ id }, index) =>
          at(index).put(`${path}/${id}`, { parent_id: ring[(index + 1) % ring.length].id }),
        ),
      );
      assert.deepEqual(statusesOf(answers), [...Array(15).fill(200), 409]);
    }
  });

  test(`${what}s: a group does not get deeper than 32 levels by moves that meet`, async () => {
    const chains = await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const chain = [await make(admin)];
        while (chain.length < 12) chain.push(await make(admin, { parent_id: chain.at(-1).id }));
        return chain;
      }),
    );
    const answers = await Promise.all(
      chains
        .slice(1)
        .map((chain, index) =>
          at(index).put(`${path}/${chain[0].id}`, { parent_id: chains[index]?.at(-1).id }),
        ),
    );
    assert.ok(answers.some(({ status }) => status === 200));
    assertAmong(answers, [200, 400]);
  });

  test(`${what}s: a parent is either deleted or gets a child, never both`, async () => {
    await rounds(async (round) => {
      const [parent, group] = [await make(admin), await make(admin)];
      const [deleted, moved] = await race(
        round,
        () => at(round).delete(`${path}/${parent.id}`),
        () => at(round + 1).put(`${path}/${group.id}`, { parent_id: parent.id }),
      );
      assertAmong([deleted], [204, 409]);
      assert.equal(moved.status, deleted.status === 204 ? 404 : 200, moved.text);
    });
  });
}

test('a role comes into one of two groups that are moved under each other meanwhile, or the move is refused', async () => {
  await rounds(async (round) => {
    const [upper, lower] = [await makeRoleGroup(admin), await makeRoleGroup(admin)];
    const role = await makeRole(admin, { role_group_id: upper.id });
    const answers = await race(
      round,
      () => at(round).put(`/api/v1/role-groups/${lower.id}`, { parent_id: upper.id }),
      () => at(round + 1).post(`/api/v1/role-groups/${lower.id}/roles`, [role.id]),
    );
    assert.deepEqual(statusesOf(answers), [200, 409]);
  });
});
