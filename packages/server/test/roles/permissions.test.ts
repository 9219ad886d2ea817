// The permissions of a role: set at creation, replaced, removed. Who may do so is tested in who-may.test.ts.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import { changesOf, etagOf, idsOf, makeRole, namesOf } from '@castellan/testing/records/fixture';
import { type Articles, openArticles } from './articles.ts';

const articles: Articles = await openArticles({ after });
const { service, admin, group, heldBy } = articles;
const assertHolds: Articles['assertHolds'] = articles.assertHolds;
const [a, b, c, d] = articles.ids;
const roles = '/api/v1/roles';

test('a role is created with its permissions, each with its group', async () => {
  const role = await makeRole(admin, { permission_ids: [b, a, a.toUpperCase()] });
  assert.deepEqual(namesOf(role.permissions), ['articles.a', 'articles.b']);
  assert.deepEqual(role.permissions[0].group, { id: group.id, name: 'articles' });
  assert.equal(role.is_system, false);
  assert.equal(role.role_group_id, null);
});

for (const [shape, body] of [
  ['an object', (ids: string[]) => ({ permission_ids: ids })],
  ['a bare array', (ids: string[]) => ids],
] as const)
  test(`${shape} of ids replaces all permissions: id, name, permissions and message are returned`, async () => {
    const role = await makeRole(admin, { permission_ids: [a, b] });
    const answer = await admin.post(`${roles}/${role.id}/permissions`, body([b, c.toUpperCase()]));
    await assertHolds(answer, role.id, [b, c]);
    assert.deepEqual(Object.keys(answer.body.data).toSorted(), ['id', 'name', 'permissions']);
    assert.equal(answer.body.data.name, role.name);
    assert.equal(etagOf(answer), etagOf(await admin.get(`${roles}/${role.id}`)));
    const { details, action, actor_id } = (await changesOf(service, role.id)).at(-1) as never as {
      details: unknown;
      action: string;
      actor_id: string;
    };
    assert.equal(action, 'role_permissions_changed');
    assert.equal(actor_id, role.created_by_id);
    const { before, after: then } = details as { before: unknown; after: unknown };
    assert.deepEqual(before, { permissions: ['articles.a', 'articles.b'] });
    assert.deepEqual(then, { permissions: ['articles.b', 'articles.c'] });
    await assertHolds(await admin.post(`${roles}/${role.id}/permissions`, body([])), role.id, []);
  });

const removals: [string, (path: string, ids: string[]) => Promise<Answer>, string[], string[]][] = [
  [
    'a repeated query parameter',
    (path, [x, y]) => admin.delete(`${path}?permission_ids=${x}&permission_ids=${y}`),
    [a, b],
    [c],
  ],
  ['one query parameter', (path, [x]) => admin.delete(`${path}?permission_ids=${x}`), [a], [b, c]],
  ['a JSON object', (path, ids) => admin.delete(path, { permission_ids: ids }), [a, b], [c]],
  ['a JSON array', (path, ids) => admin.delete(path, ids), [a, b], [c]],
  [
    'query and body, united',
    (path, [x, y]) => admin.delete(`${path}?permission_ids=${x}`, { permission_ids: [y] }),
    [a, b],
    [c],
  ],
  [
    'the same id in query and body',
    (path, [x]) => admin.delete(`${path}?permission_ids=${x}`, [x]),
    [a],
    [b, c],
  ],
  ['a path', (path, [x]) => admin.delete(`${path}/${x}`), [a], [b, c]],
  ['a path in capitals', (path, [x]) => admin.delete(`${path}/${x?.toUpperCase()}`), [a], [b, c]],
  ['ids the role does not have', (path, ids) => admin.delete(path, ids), [d], [a, b, c]],
];
for (const [form, remove, ids, left] of removals)
  test(`permissions are removed by ${form}`, async () => {
    const role = await makeRole(admin, { permission_ids: [a, b, c] });
    const answer = await remove(`${roles}/${role.id}/permissions`, ids);
    await assertHolds(answer, role.id, left);
    assert.deepEqual(Object.keys(answer.body.data).toSorted(), ['id', 'name', 'permissions']);
  });

test('removing without naming an id is 422', async () => {
  const role = await makeRole(admin, { permission_ids: [a] });
  for (const body of [undefined, {}, [], { permission_ids: [] }]) {
    const answer = await admin.delete(`${roles}/${role.id}/permissions`, body);
    assertRefused(answer, 422, 'validation_failed');
    assert.equal(answer.body.errors[0].field, 'permission_ids');
  }
  assert.deepEqual(await heldBy(role.id), [a]);
});

/** Every request that names permissions of a role. */
const namings: [string, (roleId: string, ids: string[]) => Promise<Answer>][] = [
  ['create', (_id, ids) => admin.post(roles, { name: `role ${randomUUID()}`, permission_ids: ids })],
  ['update', (id, ids) => admin.put(`${roles}/${id}`, { permission_ids: ids })],
  ['replace', (id, ids) => admin.post(`${roles}/${id}/permissions`, { permission_ids: ids })],
  ['replace by array', (id, ids) => admin.post(`${roles}/${id}/permissions`, ids)],
  ['remove by body', (id, ids) => admin.delete(`${roles}/${id}/permissions`, { permission_ids: ids })],
  ['remove by array', (id, ids) => admin.delete(`${roles}/${id}/permissions`, ids)],
  [
    'remove by query',
    (id, ids) =>
      admin.delete(`${roles}/${id}/permissions?${ids.map((one) => `permission_ids=${one}`).join('&')}`),
  ],
];
for (const [how, send] of namings) {
  test(`${how}: an unknown id is 404 with the id, and nothing changes`, async () => {
    const role = await makeRole(admin, { permission_ids: [a, b] });
    const before = etagOf(await admin.get(`${roles}/${role.id}`));
    const answer = await send(role.id, [a, ABSENT_ID]);
    assertRefused(answer, 404, 'permission_not_found');
    assert.ok(answer.body.detail.includes(ABSENT_ID));
    assert.ok(!answer.body.detail.includes(a));
    assert.deepEqual((await heldBy(role.id)).toSorted(), [a, b].toSorted());
    assert.equal(etagOf(await admin.get(`${roles}/${role.id}`)), before);
  });

  test(`${how}: an id that is not a UUID is 400`, async () => {
    const role = await makeRole(admin, { permission_ids: [a] });
    for (const id of ['x', '1', `${a}0`]) assertRefused(await send(role.id, [a, id]), 400, 'invalid_id');
    assert.deepEqual(await heldBy(role.id), [a]);
  });

  if (how !== 'remove by query')
    test(`${how}: 1,001 ids are refused with the limit; 1,000 are processed`, async () => {
      const role = await makeRole(admin, { permission_ids: [a] });
      const ids = Array.from({ length: 1_001 }, () => randomUUID());
      const refused = await send(role.id, ids);
      assertRefused(refused, 422, 'validation_failed');
      assert.match(refused.body.detail, /1000/);
      assertRefused(await send(role.id, ids.slice(1)), 404, 'permission_not_found');
    });

  test(`${how}: ids that are not a list of strings are 422`, async () => {
    const role = await makeRole(admin, { permission_ids: [a] });
    if (!how.includes('query'))
      assertRefused(await send(role.id, [7 as never, null as never]), 422, 'validation_failed');
    if (!how.includes('array') && !how.includes('query'))
      assertRefused(await send(role.id, 'x' as never), 422, 'validation_failed');
    assert.deepEqual(await heldBy(role.id), [a]);
  });
}

test('a query of more than 1,000 ids is refused, whichever limit applies first', async () => {
  const role = await makeRole(admin, { permission_ids: [a] });
  const query = Array.from({ length: 1_001 }, () => `permission_ids=${randomUUID()}`).join('&');
  const { status } = await admin.delete(`${roles}/${role.id}/permissions?${query}`);
  assert.ok([414, 422, 431].includes(status), String(status));
});

test('an unknown permission in the path is 404, one that is not a UUID is 400', async () => {
  const role = await makeRole(admin, { permission_ids: [a] });
  assertRefused(
    await admin.delete(`${roles}/${role.id}/permissions/${ABSENT_ID}`),
    404,
    'permission_not_found',
  );
  assertRefused(await admin.delete(`${roles}/${role.id}/permissions/x`), 400, 'invalid_id');
  assertRefused(await admin.delete(`${roles}/x/permissions/${a}`), 400, 'invalid_id');
});

test('permissions of an unknown role are 404 on every path', async () => {
  for (const answer of [
    await admin.post(`${roles}/${ABSENT_ID}/permissions`, [a]),
    await admin.delete(`${roles}/${ABSENT_ID}/permissions`, [a]),
    await admin.delete(`${roles}/${ABSENT_ID}/permissions/${a}`),
  ])
    assertRefused(answer, 404, 'role_not_found');
});

test('changes of permissions increment the version, and If-Match protects them', async () => {
  const role = await makeRole(admin, { permission_ids: [a, b] });
  const old = etagOf(await admin.get(`${roles}/${role.id}`));
  const path = `${roles}/${role.id}/permissions`;
  const guard = (etag: string) => ({ headers: { 'if-match': etag } });
  const replaced = await admin.post(path, [a, c], guard(old));
  await assertHolds(replaced, role.id, [a, c]);
  assert.notEqual(etagOf(replaced), old);
  for (const answer of [
    await admin.post(path, [b], guard(old)),
    await admin.delete(path, [a], guard(old)),
    await admin.delete(`${path}/${a}`, undefined, guard(old)),
  ]) {
    assertRefused(answer, 412, 'precondition_failed');
    assert.deepEqual(idsOf(answer.body.current.permissions).toSorted(), [a, c].toSorted());
  }
  await assertHolds(await admin.delete(`${path}/${a}`, undefined, guard(etagOf(replaced))), role.id, [c]);
});
