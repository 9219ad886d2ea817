// Creating and deleting many role groups at once: all of them or none.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ABSENT_ID, assertRefused } from '@castellan/testing/http/fixture';
import {
  changesOf,
  idsOf,
  makeRole,
  makeRoleGroup,
  namesOf,
  newName,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';

const { service, admin } = await startServiceWithAdmin({ after });
const bulk = '/api/v1/role-groups/bulk';

const countGroups = async (): Promise<number> => (await service.sql('select from role_groups')).length;

for (const [shape, body] of [
  ['a bare array', (groups: object[]) => groups],
  ['an object', (groups: object[]) => ({ groups })],
] as const)
  test(`groups are created by ${shape}, in its order, below existing groups and below earlier ones`, async () => {
    const root = await makeRoleGroup(admin);
    const [a, b, c, d] = [newName('a'), newName('B'), newName('c'), newName('d')] as const;
    const answer = await admin.post(
      bulk,
      body([
        { name: d, description: 'last by name' },
        { name: b, parent_id: root.id.toUpperCase() },
        { name: c, parent: ` ${b.toLowerCase()} ` },
        { name: a, parent_id: null },
      ]),
    );
    assert.equal(answer.status, 201, answer.text);
    const { data, message } = answer.body;
    assert.match(message, /4/);
    assert.deepEqual(namesOf(data), [d, b, c, a]);
    assert.equal(data[0].description, 'last by name');
    assert.equal(data[1].parent_id, root.id);
    assert.equal(data[2].parent_id, data[1].id);
    assert.deepEqual(data[1].children, [], 'parent_id describes the tree');
    assert.equal(data[3].parent_id, null);
    for (const { id, name, created_by_id } of data) {
      const [change] = await changesOf(service, id);
      assert.equal(change?.action, 'role_group_created');
      assert.equal(change?.actor_id, created_by_id);
      assert.equal(change?.details.after.name, name);
    }
  });

const taken = await makeRoleGroup(admin);
const chain: object[] = Array.from({ length: 33 }, (_, index) =>
  index === 0 ? { name: 'chain-0' } : { name: `chain-${index}`, parent: `chain-${index - 1}` },
);
const refusals: [string, object[], number, string, RegExp | string][] = [
  ['a taken name', [{ name: 'x' }, { name: taken.name }], 409, 'name_taken', 'groups.1.name'],
  ['a taken name in another case', [{ name: taken.name.toUpperCase() }], 409, 'name_taken', 'groups.0.name'],
  ['a name twice', [{ name: 'Äx' }, { name: 'y' }, { name: 'äX' }], 409, 'name_taken', 'groups.2.name'],
  [
    'an unknown parent',
    [{ name: 'x' }, { name: 'y', parent_id: ABSENT_ID }],
    404,
    'role_group_not_found',
    'groups.1.parent_id',
  ],
  [
    'a parent that comes later',
    [{ name: 'x', parent: 'y' }, { name: 'y' }],
    422,
    'validation_failed',
    'groups.0.parent',
  ],
  ['itself as parent', [{ name: 'x', parent: 'x' }], 422, 'validation_failed', 'groups.0.parent'],
  [
    'parent and parent_id together',
    [{ name: 'x' }, { name: 'y', parent: 'x', parent_id: taken.id }],
    422,
    'validation_failed',
    'groups.1.parent',
  ],
  ['an invalid name', [{ name: 'x' }, { name: '<b>' }], 422, 'validation_failed', 'groups.1.name'],
  ['a name of 251', [{ name: 'x'.repeat(251) }], 422, 'validation_failed', 'groups.0.name'],
  [
    'an invalid description',
    [{ name: 'x' }, { name: 'y', description: 'x'.repeat(1_001) }],
    422,
    'validation_failed',
    'groups.1.description',
  ],
  ['33 levels', chain, 400, 'hierarchy_too_deep', 'groups.32.parent'],
  ['no name', [{ name: 'x' }, {}], 422, 'validation_failed', /1\.name$/],
  [
    'a parent that is not a UUID',
    [{ name: 'x' }, { name: 'y', parent_id: 'x' }],
    400,
    'invalid_id',
    /1\.parent_id$/,
  ],
];
for (const [what, items, status, code, field] of refusals)
  test(`${what} refuses all groups and names the item`, async () => {
    const before = await countGroups();
    for (const body of [items, { groups: items }]) {
      const answer = await admin.post(bulk, body);
      assertRefused(answer, status, code);
      if (typeof field === 'string') assert.equal(answer.body.errors[0].field, field);
      else assert.match(answer.body.errors[0].field, field);
    }
    assert.equal(await countGroups(), before);
  });

test('an empty list and other types are 422; 1,001 items are refused with the limit', async () => {
  for (const body of [[], { groups: [] }, {}, 'x', 7, { groups: {} }])
    assertRefused(await admin.post(bulk, body), 422, 'validation_failed');
  const many = await admin.post(
    bulk,
    Array.from({ length: 1_001 }, (_, index) => ({ name: `many-${index}` })),
  );
  assertRefused(many, 422, 'validation_failed');
  assert.match(many.body.detail, /1000/);
});

test('1,000 groups are created and deleted at once', async () => {
  const made = await admin.post(
    bulk,
    Array.from({ length: 1_000 }, (_, index) => ({
      name: `thousand-${index}`,
      ...(index % 10 ? { parent: `thousand-${index - 1}` } : {}),
    })),
  );
  assert.equal(made.status, 201, made.text.slice(0, 500));
  assert.equal(made.body.data.length, 1_000);
  const deleted = await admin.delete(bulk, idsOf(made.body.data));
  assert.deepEqual(deleted.body.data, { deleted: 1_000 });
});

for (const [shape, body] of [
  ['a bare array', (ids: string[]) => ids],
  ['an object', (ids: string[]) => ({ group_ids: ids })],
] as const)
  test(`groups are deleted by ${shape}, parents with their children, each counted once`, async () => {
    const root = await makeRoleGroup(admin);
    const child = await makeRoleGroup(admin, { parent_id: root.id });
    const other = await makeRoleGroup(admin);
    const ids = [root.id, child.id.toUpperCase(), other.id, root.id.toUpperCase()];
    const answer = await admin.delete(bulk, body(ids));
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.body.data, { deleted: 3 });
    assert.equal(typeof answer.body.message, 'string');
    for (const group of [root, child, other]) {
      const last = (await changesOf(service, group.id)).at(-1);
      assert.equal(last?.action, 'role_group_deleted');
      assert.equal(last?.details.before.parent_id, group.parent_id);
    }
  });

test('a group with a child outside the list, or with a role, keeps all of them: 409 with its name', async () => {
  const [free, root, holder] = [
    await makeRoleGroup(admin),
    await makeRoleGroup(admin),
    await makeRoleGroup(admin),
  ];
  await makeRoleGroup(admin, { parent_id: root.id });
  await makeRole(admin, { role_group_id: holder.id });
  const before = await countGroups();
  for (const occupied of [root, holder]) {
    const answer = await admin.delete(bulk, [free.id, occupied.id]);
    assertRefused(answer, 409, 'group_in_use');
    assert.ok(answer.body.errors[0].message.includes(occupied.id));
  }
  assert.equal(await countGroups(), before);
});

test('an unknown id is 404 with the id, one that is not a UUID 400, 1,001 are refused; nothing is deleted', async () => {
  const { id } = await makeRoleGroup(admin);
  const before = await countGroups();
  const unknown = await admin.delete(bulk, [id, ABSENT_ID]);
  assertRefused(unknown, 404, 'role_group_not_found');
  assert.ok(unknown.body.detail.includes(ABSENT_ID));
  assertRefused(await admin.delete(bulk, { group_ids: [id, 'x'] }), 400, 'invalid_id');
  const many = await admin.delete(
    bulk,
    Array.from({ length: 1_001 }, () => randomUUID()),
  );
  assertRefused(many, 422, 'validation_failed');
  assert.match(many.body.detail, /1000/);
  assert.equal(await countGroups(), before);
});
