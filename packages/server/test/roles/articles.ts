// Four permissions of one group to give to roles and take away, and what a role holds of them.
// It must not change a role.
import assert from 'node:assert/strict';
import type { Answer, Body } from '../client.ts';
import type { Hooks } from '../harness.ts';
import {
  idsOf,
  linkedIds,
  makePermission,
  makePermissionGroup,
  type Office,
  openOffice,
} from '../records/fixture.ts';

export type Articles = Office & {
  group: Body;
  /** Of `articles.a` to `articles.d`. */
  ids: [a: string, b: string, c: string, d: string];
  /** Ids of the permissions that the database has for a role. */
  heldBy(roleId: string): Promise<string[]>;
  /** The answer tells these permissions, and the database has them. */
  assertHolds(answer: Answer, roleId: string, expected: string[]): Promise<void>;
};

export async function openArticles(hooks: Hooks): Promise<Articles> {
  const office = await openOffice(hooks);
  const group = await makePermissionGroup(office.admin, { name: 'articles' });
  const permissions = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) => makePermission(office.admin, { group_id: group.id, name })),
  );
  const heldBy = (roleId: string): Promise<string[]> =>
    linkedIds(office.service, 'role_permissions', ['role_id', 'permission_id'], roleId);
  return {
    ...office,
    group,
    ids: idsOf(permissions) as Articles['ids'],
    heldBy,
    async assertHolds(answer, roleId, expected) {
      assert.equal(answer.status, 200, answer.text);
      assert.equal(typeof answer.body.message, 'string');
      assert.deepEqual(idsOf(answer.body.data.permissions).toSorted(), expected.toSorted());
      assert.deepEqual((await heldBy(roleId)).toSorted(), expected.toSorted());
    },
  };
}
