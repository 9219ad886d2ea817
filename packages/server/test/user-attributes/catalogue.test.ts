// The catalogue of user attributes: what can be declared, what changes, and what users' values keep.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Introspection } from '@castellan/contract/oauth';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addPerson, eventsOf, signedInWith } from '@castellan/testing/users/people';
import { assertFieldRefused } from '../applications/fixture.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const path = '/api/v1/user-attributes';
const valuesOf = (id: string): string => `/api/v1/users/${id}/attributes`;
const declare = async (name: string, fields: object = {}) => {
  const made = await admin.post(path, { name, label: name, type: 'string', ...fields });
  assert.equal(made.status, 201, made.text);
  return made.body.data;
};

test('an attribute is declared with defaults, read, listed, changed and deleted, each with its audit entry', async () => {
  const created = await admin.post(path, { name: 'cost_center', label: '  Cost center ', type: 'string' });
  assert.equal(created.status, 201, created.text);
  const { id, created_at, updated_at, created_by_id, ...fields } = created.body.data;
  assert.deepEqual(fields, {
    name: 'cost_center',
    label: 'Cost center',
    description: '',
    type: 'string',
    values: null,
    max_length: 250,
    unique: false,
    searchable: false,
    self: 'none',
    required: false,
    claims: false,
    sensitive: false,
  });
  const read = await admin.get(`${path}/${id}`);
  assert.deepEqual([read.body.data, read.headers.get('etag')], [created.body.data, '"1"']);
  assert.deepEqual((await admin.get(path)).body.data, [created.body.data]);
  // A record can be sent back whole.
  const same = await admin.put(`${path}/${id}`, created.body.data);
  assert.deepEqual([same.status, same.headers.get('etag')], [200, '"1"'], same.text);
  const changed = await admin.put(`${path}/${id}`, { self: 'read', searchable: true, max_length: 40 });
  assert.deepEqual(
    [changed.body.data.self, changed.body.data.searchable, changed.body.data.max_length],
    ['read', true, 40],
  );
  const late = await admin.put(`${path}/${id}`, { self: 'none' }, { headers: { 'if-match': '"1"' } });
  assertRefused(late, 412, 'precondition_failed');
  for (const change of [{ name: 'other' }, { type: 'integer' }]) {
    const refused = await admin.put(`${path}/${id}`, change);
    assert.deepEqual([refused.status, refused.body.errors[0].code], [422, 'never_changes'], refused.text);
  }
  assert.equal((await admin.delete(`${path}/${id}`)).status, 200);
  assertRefused(await admin.get(`${path}/${id}`), 404, 'user_attribute_not_found');
  const entries = await service.sql<{ action: string }>(
    'select action from audit_logs where resource_id = $1 order by "timestamp", id',
    [id],
  );
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['user_attribute_created', 'user_attribute_updated', 'user_attribute_deleted'],
  );
});

test('a name is no claim of a standard and no member of introspection, and belongs to one attribute', async () => {
  await declare('badge');
  assertRefused(await admin.post(path, { name: 'badge', label: 'B', type: 'date' }), 409, 'name_taken');
  for (const name of [
    'email',
    'sub',
    'groups',
    'phone_number',
    'birthdate',
    'active',
    'verified_claims',
    'constructor',
    ...Object.keys(Introspection.properties),
  ]) {
    const refused = await admin.post(path, { name, label: 'x', type: 'string' });
    assert.deepEqual([refused.status, refused.body.errors[0].code], [422, 'reserved_name'], refused.text);
  }
  for (const name of ['Badge', '1st', '', 'a-b', '_a', `a${'b'.repeat(50)}`, '__proto__'])
    assertFieldRefused(await admin.post(path, { name, label: 'x', type: 'string' }), 'name');
});

test('each type has its options and no others', async () => {
  const refused: [object, string][] = [
    [{ type: 'enum' }, 'values'],
    [{ type: 'enum', values: [] }, 'values'],
    [{ type: 'enum', values: ['a', 'a'] }, 'values.1'],
    [{ type: 'enum', values: [' '] }, 'values.0'],
    [{ type: 'enum', values: ['a'], max_length: 3 }, 'max_length'],
    [{ type: 'string', values: ['a'] }, 'values'],
    [{ type: 'string', max_length: 0 }, 'max_length'],
    [{ type: 'string', max_length: null }, 'max_length'],
    [{ type: 'json', unique: true }, 'unique'],
    [{ type: 'json', searchable: true }, 'searchable'],
    [{ type: 'money' }, 'type'],
    [{ type: 'string', label: ' ' }, 'label'],
  ];
  for (const [fields, field] of refused)
    assertFieldRefused(await admin.post(path, { name: 'optioned', label: 'x', ...fields }), field);
});

test('values in use keep what would no longer allow them, with their number', async () => {
  const size = await declare('shirt', { type: 'enum', values: ['S', 'M', 'L'] });
  const motto = await declare('motto');
  for (const values of [
    { shirt: 'M', motto: 'Per aspera' },
    { shirt: 'M', motto: 'per ASPERA' },
  ]) {
    const { id } = await addPerson(service);
    assert.equal((await admin.patch(valuesOf(id), values)).status, 200);
  }
  const narrowed = await admin.put(`${path}/${size.id}`, { values: ['S', 'L'] });
  assertRefused(narrowed, 409, 'user_attribute_in_use');
  assert.match(narrowed.body.detail, /^values .*2 users/);
  assert.equal(narrowed.body.users, 2);
  assert.equal((await admin.put(`${path}/${size.id}`, { values: ['M', 'XL'] })).status, 200);
  assertRefused(await admin.put(`${path}/${motto.id}`, { max_length: 9 }), 409, 'user_attribute_in_use');
  assert.equal((await admin.put(`${path}/${motto.id}`, { max_length: 10 })).status, 200);
  const unique = await admin.put(`${path}/${motto.id}`, { unique: true });
  assertRefused(unique, 409, 'user_attribute_in_use');
  assert.equal((await admin.get(`${path}/${motto.id}`)).body.data.unique, false);
  const kept = await admin.delete(`${path}/${motto.id}`);
  assertRefused(kept, 409, 'user_attribute_in_use');
  assert.match(kept.body.detail, /2 users/);
  assert.equal(kept.body.users, 2);
  const forced = await admin.delete(`${path}/${motto.id}?force=true`);
  assert.equal(forced.status, 200, forced.text);
  const [event] = await eventsOf(service, forced);
  assert.deepEqual([event?.action, event?.details.values], ['user_attribute_deleted', 2]);
});

test('an attribute that becomes unique is so from then on, and no longer when it ceases to be', async () => {
  const { id } = await declare('locker');
  const [one, other] = [await addPerson(service), await addPerson(service)];
  assert.equal((await admin.patch(valuesOf(one.id), { locker: 'Straße 1' })).status, 200);
  assert.equal((await admin.put(`${path}/${id}`, { unique: true })).status, 200);
  const taken = await admin.patch(valuesOf(other.id), { locker: 'STRASSE 1'.replace('SS', 'ß') });
  assertRefused(taken, 409, 'user_attribute_taken');
  assert.equal(taken.body.errors[0].field, 'locker');
  assert.equal((await admin.put(`${path}/${id}`, { unique: false })).status, 200);
  assert.equal((await admin.patch(valuesOf(other.id), { locker: 'straße 1' })).status, 200);
});

test('each operation has its permission', async () => {
  const { id } = await declare('guarded');
  const operations = {
    read: ['GET', `${path}/${id}`, undefined],
    create: ['POST', path, { name: 'guarded_2', label: 'x', type: 'date' }],
    update: ['PUT', `${path}/${id}`, { label: 'Renamed' }],
    delete: ['DELETE', `${path}/${id}`, undefined],
  } as const;
  const all = Object.keys(operations).map((one) => `user_attribute.${one}`);
  for (const [action, [method, address, json]] of Object.entries(operations)) {
    const body = json ? { json } : {};
    const own = `user_attribute.${action}`;
    const without = await signedInWith(service, ...all.filter((one) => one !== own));
    assertRefused(await without.client.request(method, address, body), 403, 'permission_denied');
    const { client } = await signedInWith(service, own);
    const answer = await client.request(method, address, body);
    assert.ok(answer.status < 300, answer.text);
  }
});

test('at most a hundred are declared, however many requests race', async () => {
  const [{ count }] = (await service.sql<{ count: number }>(
    'select count(*)::integer as count from user_attributes',
  )) as [{ count: number }];
  await service.sql(
    `insert into user_attributes (id, name, label, description, type, "unique", searchable, self, required, claims, sensitive)
     select gen_random_uuid(), 'filler_' || n, 'x', '', 'date', false, false, 'none', false, false, false
     from generate_series(1, $1::integer) n`,
    [98 - count],
  );
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, at) => admin.post(path, { name: `late_${at}`, label: 'x', type: 'date' })),
  );
  assert.equal(answers.filter(({ status }) => status === 201).length, 2);
  for (const answer of answers.filter(({ status }) => status !== 201))
    assertRefused(answer, 409, 'too_many_user_attributes');
  await service.sql(`delete from user_attributes where name like 'filler%' or name like 'late%'`);
});
