// What holds for both trees, role groups and permission groups: no cycles, at most 32 levels.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Body } from '@castellan/testing/client';
import { assertRefused } from '@castellan/testing/http/fixture';
import {
  makePermissionGroup,
  makeRoleGroup,
  newName,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';

const { admin } = await startServiceWithAdmin({ after });

for (const [what, path, make, children] of [
  ['role group', '/api/v1/role-groups', makeRoleGroup, 'children'],
  ['permission group', '/api/v1/permission-groups', makePermissionGroup, 'groups'],
] as const) {
  const read = async (id: string): Promise<Body> => (await admin.get(`${path}/${id}`)).body.data;

  test(`a ${what} below itself or below a descendant is 409, and nothing changes`, async () => {
    const root = await make(admin);
    const child = await make(admin, { parent_id: root.id });
    const grandchild = await make(admin, { parent_id: child.id });
    for (const parent_id of [root.id, root.id.toUpperCase(), child.id, grandchild.id]) {
      const answer = await admin.put(`${path}/${root.id}`, { parent_id, name: newName() });
      assertRefused(answer, 409, 'circular_dependency');
    }
    assert.deepEqual(await read(root.id), { ...(await read(root.id)), name: root.name, parent_id: null });
  });

  test(`${what}s nest 32 levels but not 33, by creation and by moving a subtree`, async () => {
    const chain = [await make(admin)];
    while (chain.length < 32) chain.push(await make(admin, { parent_id: chain.at(-1).id }));
    const [root, second, last] = [chain[0], chain[1], chain.at(-1)];
    const deeper = await admin.post(path, { name: newName(), parent_id: last.id });
    assertRefused(deeper, 400, 'hierarchy_too_deep');
    const other = await make(admin);
    const whole = await admin.put(`${path}/${root.id}`, { parent_id: other.id });
    assertRefused(whole, 400, 'hierarchy_too_deep');
    assert.equal((await admin.put(`${path}/${second.id}`, { parent_id: other.id })).status, 200);
    let group = await read(other.id);
    let levels = 1;
    for (; group[children].length > 0; levels += 1) group = group[children][0];
    assert.equal(levels, 32);
    assert.equal(group.id, last.id);
  });
}
