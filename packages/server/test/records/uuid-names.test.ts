// Decisions and commands take an id or a name of a record: what looks like an id must be one, so no record is named like it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import { changesOf, makeRoleGroup, newName, startServiceWithAdmin } from '@castellan/testing/records/fixture';

const { service, admin } = await startServiceWithAdmin({ after });
const kinds = ['roles', 'service-accounts', 'role-groups', 'permission-groups'] as const;
const refusal = [
  {
    field: 'name',
    code: 'uuid_name',
    message: 'must not be a UUID, because it would be read as an id',
  },
];
const id = randomUUID();
const spellings = [id, id.toUpperCase(), ` ${id}\u3000`, '00000000-0000-0000-0000-000000000000'];

for (const kind of kinds) {
  const path = `/api/v1/${kind}`;
  const table = kind.replace('-', '_');

  test(`${kind}: a name that reads as an id is refused, when created and when renamed`, async () => {
    const named = await admin.post(path, { name: newName() });
    assert.equal(named.status, 201, named.text);
    for (const name of spellings)
      for (const answer of [
        await admin.post(path, { name }),
        await admin.put(`${path}/${named.body.data.id}`, { name }),
      ]) {
        assertRefused(answer, 422, 'validation_failed');
        assert.deepEqual(answer.body.errors, refusal, name);
        assert.equal(answer.body.detail, 'name must not be a UUID, because it would be read as an id.');
      }
    assert.deepEqual((await admin.get(`${path}/${named.body.data.id}`)).body.data, named.body.data);
    for (const name of [`{${randomUUID()}}`, `urn:uuid:${randomUUID()}`, randomUUID().replaceAll('-', '')])
      assert.equal((await admin.post(path, { name })).status, 201, name);
  });

  test(`${kind}: a record that has such a name already keeps it, until it gets another one`, async () => {
    const { data } = (await admin.post(path, { name: newName() })).body;
    const name = randomUUID();
    await service.sql(`update ${table} set name = $2 where id = $1`, [data.id, name]);
    const saved = await admin.put(`${path}/${data.id}`, { name, description: 'Saved' });
    assert.equal(saved.status, 200, saved.text);
    assert.deepEqual([saved.body.data.name, saved.body.data.description], [name, 'Saved']);
    assertRefused(
      await admin.put(`${path}/${data.id}`, { name: name.toUpperCase() }),
      422,
      'validation_failed',
    );
    const renamed = newName();
    assert.equal((await admin.put(`${path}/${data.id}`, { name: renamed })).body.data.name, renamed);
  });
}

test('a preview says the same of a name that reads as an id', async () => {
  const { data } = (await admin.post('/api/v1/roles', { name: newName() })).body;
  for (const answer of [
    await admin.post('/api/v1/roles?dry_run=true', { name: id }),
    await admin.put(`/api/v1/roles/${data.id}?dry_run=true`, { name: id }),
  ]) {
    const code = answer.status === 200 ? answer.body.data.would_be_refused.code : answer.body.code;
    assert.equal(code, 'validation_failed', answer.text);
  }
});

test('groups made in bulk or cloned are not named like an id either', async () => {
  const bulk = await admin.post('/api/v1/role-groups/bulk', { groups: [{ name: newName() }, { name: id }] });
  assertRefused(bulk, 422, 'validation_failed');
  assert.equal(bulk.body.errors[0].field, 'groups.1.name');
  const group = await makeRoleGroup(admin);
  const clone = await admin.post(`/api/v1/role-groups/${group.id}/clone`, { name: id });
  assertRefused(clone, 422, 'validation_failed');
  assert.deepEqual(clone.body.errors, refusal);
  assert.equal((await changesOf(service, group.id)).length, 1);
});
