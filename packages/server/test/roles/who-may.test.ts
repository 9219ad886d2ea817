// Who may change the permissions of a role: nobody for a system role, and nobody beyond the permissions they hold.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import { makeRole, permissionId, roleId, signInWith } from '@castellan/testing/records/fixture';
import { type Articles, openArticles } from './articles.ts';

const articles: Articles = await openArticles({ after });
const { service, admin, heldBy } = articles;
const assertHolds: Articles['assertHolds'] = articles.assertHolds;
const [a, b, c] = articles.ids;
const roles = '/api/v1/roles';

test('the permissions of a system role cannot be changed by any operation, not even by a superuser', async () => {
  const id = await roleId(service, 'Admin');
  const held = await heldBy(id);
  const path = `${roles}/${id}`;
  for (const answer of [
    await admin.put(path, { permission_ids: [] }),
    await admin.put(path, { permission_ids: held.slice(1) }),
    await admin.put(path, { permission_ids: [a] }),
    await admin.post(`${path}/permissions`, { permission_ids: [a] }),
    await admin.post(`${path}/permissions`, []),
    await admin.delete(`${path}/permissions`, [held[0]]),
    await admin.delete(`${path}/permissions?permission_ids=${held[0]}`),
    await admin.delete(`${path}/permissions/${held[0]}`),
  ])
    assertRefused(answer, 403, 'system_role');
  assert.deepEqual(await heldBy(id), held);
});

test('sending a system role its current permissions and name is no change and succeeds', async () => {
  const id = await roleId(service, 'Admin');
  const held = await heldBy(id);
  const reversed = held.toReversed().map((one) => one.toUpperCase());
  const path = `${roles}/${id}`;
  for (const answer of [
    await admin.put(path, { name: 'Admin', permission_ids: reversed }),
    await admin.post(`${path}/permissions`, [...reversed, ...held]),
  ])
    assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(await heldBy(id), held);
});

test('a system role keeps its name and cannot be deleted; its description may change', async () => {
  const [role] = await service.sql<{ id: string; name: string }>(
    "insert into roles (id, name, is_system) values (gen_random_uuid(), 'Robots', true) returning id, name",
  );
  const path = `${roles}/${role?.id}`;
  for (const name of ['Other', 'robots']) assertRefused(await admin.put(path, { name }), 403, 'system_role');
  assertRefused(await admin.delete(path), 403, 'system_role');
  const changed = await admin.put(path, { name: 'Robots', description: 'They work at night' });
  assert.equal(changed.status, 200, changed.text);
  assert.equal(changed.body.data.description, 'They work at night');
  assert.equal(changed.body.data.name, 'Robots');
  assert.equal(changed.body.data.is_system, true);
});

test('nobody adds a permission to a role without holding it: create, update, replace', async () => {
  const { client, roleId: own } = await signInWith(service, ['role.create', 'role.update', 'articles.a']);
  const role = await makeRole(admin, { permission_ids: [b] });
  const superior = await permissionId(service, 'users.delete');
  for (const ids of [[a, c], [superior], [b, superior]])
    for (const answer of [
      await client.post(roles, { name: `role ${randomUUID()}`, permission_ids: ids }),
      await client.put(`${roles}/${role.id}`, { name: `role ${randomUUID()}`, permission_ids: ids }),
      await client.post(`${roles}/${role.id}/permissions`, { permission_ids: ids }),
      await client.post(`${roles}/${role.id}/permissions`, ids),
      await client.post(`${roles}/${own}/permissions`, ids),
      await client.put(`${roles}/${own}`, { permission_ids: ids }),
    ])
      assertRefused(answer, 403, 'privilege_escalation');
  assert.deepEqual(await heldBy(role.id), [b]);
  assert.equal((await admin.get(`${roles}/${role.id}`)).body.data.name, role.name);
  assert.equal((await heldBy(own)).length, 3);
});

test('existing permissions of a role may stay or go, and permissions of the caller may be added', async () => {
  const { client } = await signInWith(service, ['role.update', 'articles.a']);
  const role = await makeRole(admin, { permission_ids: [b, c] });
  const path = `${roles}/${role.id}`;
  await assertHolds(await client.put(path, { permission_ids: [b, c], description: 'x' }), role.id, [b, c]);
  await assertHolds(await client.post(`${path}/permissions`, [a, b, c]), role.id, [a, b, c]);
  await assertHolds(await client.delete(`${path}/permissions/${b}`), role.id, [a, c]);
  assertRefused(await client.post(`${path}/permissions`, [a, b, c]), 403, 'privilege_escalation');
});

test('a permission gained or lost through a role takes effect at the next request on every instance', async () => {
  const twin = await service.another();
  const { client, roleId: own } = await signInWith(service, ['role.read']);
  assert.equal((await client.at(twin.url).get(roles)).status, 200);
  await admin.delete(`${roles}/${own}/permissions/${await permissionId(service, 'role.read')}`);
  for (const url of [twin.url, service.url]) assert.equal((await client.at(url).get(roles)).status, 403);
  await admin.at(twin.url).post(`${roles}/${own}/permissions`, [await permissionId(service, 'role.read')]);
  for (const url of [service.url, twin.url]) assert.equal((await client.at(url).get(roles)).status, 200);
});
