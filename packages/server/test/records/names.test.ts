// Names and descriptions of roles, role groups, permissions and permission groups.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import { newName, startServiceWithAdmin } from '@castellan/testing/records/fixture';
import { nouns, storedName } from './nouns.ts';

const started = await startServiceWithAdmin({ after });
const { service, admin } = started;

// No white space, because a permission's action accepts none.
const names = [
  '100%',
  'under_score',
  'back\\slash',
  "O'Brien",
  '"quoted"',
  '`ticks`',
  '$1',
  '*',
  'a*b',
  '🔑👩‍👩‍👧‍👦',
  'مدير-النظام',
  'מנהל',
  '管理員',
  'Ärger',
  '<3',
  'a;drop-table-roles--',
  '{"json":1}',
  'a/../etc',
  'null',
];

for (const [what, noun] of Object.entries(nouns)) {
  const create = async (name: string, more: object = {}) =>
    admin.post(noun.path, { ...(await noun.body(started, name)), ...more });

  test(`${what}: a name in any script is returned as it was sent`, async () => {
    for (const name of names) {
      const made = await create(name, { description: `about ${name}` });
      assert.equal(made.status, 201, made.text);
      assert.equal(made.body.data.name, storedName(noun, name));
      const read = await admin.get(`${noun.path}/${made.body.data.id}`);
      assert.equal(read.body.data.name, storedName(noun, name));
      assert.equal(read.body.data.description, `about ${name}`);
    }
  });

  test(`${what}: names are trimmed and stored in NFC`, async () => {
    const name = newName('cafe\u0301');
    const made = await create(`  ${name}\u00a0`);
    assert.equal(made.status, 201, made.text);
    assert.equal(made.body.data.name, storedName(noun, name.normalize('NFC')));
  });

  test(`${what}: a name of ${noun.maxName} characters is accepted, a longer one is refused`, async () => {
    for (const letter of ['x', '😀']) {
      const made = await create(letter.repeat(noun.maxName));
      assert.equal(made.status, 201, made.text);
      const refused = await create(letter.repeat(noun.maxName + 1));
      assertRefused(refused, 422, 'validation_failed');
      assert.equal(refused.body.errors[0].field, 'name');
    }
  });

  test(`${what}: empty, blank and invisible names, control characters, markup and other types are refused`, async () => {
    for (const name of ['', '   ', '\u200d', 'a\nb', 'a\u202eb', '<script>', '\u0007']) {
      const answer = await create(name);
      assertRefused(answer, 422, 'validation_failed');
      assert.equal(answer.body.errors[0].field, 'name');
    }
    for (const name of [null, 7, true, ['x'], { x: 1 }])
      assertRefused(await create('x', { name }), 422, 'validation_failed');
    assertRefused(await create('nul\0'), 400, 'invalid_text');
    assertRefused(await create('lone\ud800'), 400, 'invalid_text');
  });

  test(`${what}: a record without a name is not created`, async () => {
    const { name: _name, ...rest } = (await noun.body(started, 'x')) as { name: string };
    const answer = await admin.post(noun.path, rest);
    assertRefused(answer, 422, 'validation_failed');
    assert.equal(answer.body.errors[0].field, 'name');
  });

  test(`${what}: a taken name is 409, in another case too, and nothing is created`, async () => {
    const name = newName('Taken-ÄÖ');
    assert.equal((await create(name)).status, 201);
    const count = () => service.sql(`select count(*) from ${noun.table}`);
    const before = await count();
    for (const other of [name, name.toUpperCase(), name.toLowerCase(), ` ${name} `])
      assertRefused(await create(other), 409, 'name_taken');
    assert.deepEqual(await count(), before);
  });

  test(`${what}: a description is optional, up to 1,000 characters`, async () => {
    assert.equal((await create(newName())).body.data.description, '');
    const long = await create(newName(), { description: '😀'.repeat(1_000) });
    assert.equal(long.status, 201, long.text);
    const refused = await create(newName(), { description: 'x'.repeat(1_001) });
    assertRefused(refused, 422, 'validation_failed');
    assert.equal(refused.body.errors[0].field, 'description');
  });

  if (noun.versioned)
    test(`${what}: a rename to a taken name is 409; to its own name in another case it succeeds`, async () => {
      const [name, other] = [newName('own'), newName('other')];
      const { id } = (await create(name)).body.data;
      assert.equal((await create(other)).status, 201);
      assertRefused(await admin.put(`${noun.path}/${id}`, { name: other.toUpperCase() }), 409, 'name_taken');
      const renamed = await admin.put(`${noun.path}/${id}`, { name: name.toUpperCase() });
      assert.equal(renamed.status, 200, renamed.text);
      assert.equal(renamed.body.data.name, name.toUpperCase());
    });
}
