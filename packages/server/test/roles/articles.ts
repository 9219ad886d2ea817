// Creates four permissions of one group to grant to roles, and reads which of them a role has.
// It must not change a role.
import assert from 'node:assert/strict';
import type { Answer, Body } from '@castellan/testing/client';
import type { Hooks } from '@castellan/testing/harness';
import {
  idsOf,
  linkedIds,
  makePermission,
  makePermissionGroup,
  type ServiceWithAdmin,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';

export type Articles = ServiceWithAdmin & {
  group: Body;
  /** Ids of `articles.a` to `articles.d`. */
  ids: [a: string, b: string, c: string, d: string];
  /** Returns the ids of the permissions that the database has for a role. */
  heldBy(roleId: string): Promise<string[]>;
  /** Asserts that the answer contains these permissions and that the database has them. */
  assertHolds(answer: Answer, roleId: string, expected: string[]): Promise<void>;
};

export async function openArticles(hooks: Hooks): Promise<Articles> {
  const started = await startServiceWithAdmin(hooks);
  const group = await makePermissionGroup(started.admin, { name: 'articles' });
  const permissions = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) => makePermission(started.admin, { group_id: group.id, name })),
  );
  const heldBy = (roleId: string): Promise<string[]> =>
    linkedIds(started.service, 'role_permissions', ['role_id', 'permission_id'], roleId);
  return {
    ...started,
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
