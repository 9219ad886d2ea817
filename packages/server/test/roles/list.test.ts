// GET /api/v1/roles with its name pattern, and GET /api/v1/roles/list.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import {
  etagOf,
  makePermission,
  makeRole,
  namesOf,
  newName,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';
import { addUser } from '@castellan/testing/sessions/accounts';

const { admin, service } = await startServiceWithAdmin({ after });

const names = ['Sales North', 'sales south', 'Sales%', 'Sales_', 'SalesX', 'Back\\slash', 'Café', 'star*red'];

before(async () => {
  for (const name of names) await makeRole(admin, { name });
});

const patterns: [pattern: string, found: string[]][] = [
  ['SalesX', ['SalesX']],
  ['salesx', ['SalesX']],
  ['Sales', []],
  ['sales*', ['Sales North', 'sales south', 'Sales%', 'Sales_', 'SalesX']],
  ['*SOUTH', ['sales south']],
  ['*al*s*th', ['Sales North', 'sales south']],
  ['**x**', ['SalesX']],
  ['Sales%', ['Sales%']],
  ['Sales_', ['Sales_']],
  ['*_', ['Sales_']],
  ['%', []],
  ['______', []],
  ['*%*', ['Sales%']],
  ['back\\slash', ['Back\\slash']],
  ['*\\*', ['Back\\slash']],
  ['\\*', []],
  ['CAFÉ', ['Café']],
  ['cafe\u0301', ['Café']],
  ['star*red', ['star*red']],
  ["x' or '1'='1", []],
];

for (const [pattern, found] of patterns)
  test(`name_pattern ${JSON.stringify(pattern)} finds ${found.join(', ') || 'nothing'}`, async () => {
    const { status, body, text } = await admin.get(
      `/api/v1/roles?name_pattern=${encodeURIComponent(pattern)}`,
    );
    assert.equal(status, 200, text);
    assert.deepEqual(namesOf(body.data).toSorted(), found.toSorted());
    assert.equal(body.pagination.total, found.length);
    assert.equal(body.pagination.pages, found.length > 0 ? 1 : 0);
  });

test('a pattern combines with pagination: the total counts the matches', async () => {
  const { body } = await admin.get('/api/v1/roles?name_pattern=sales*&page=2&size=2');
  assert.deepEqual(body.pagination, { page: 2, limit: 2, total: 5, pages: 3 });
  assert.equal(body.data.length, 2);
});

test('a pattern of many wildcards on long names is answered within the statement timeout', async () => {
  await makeRole(admin, { name: 'a'.repeat(250) });
  const { status, body } = await admin.get(`/api/v1/roles?name_pattern=${'*a'.repeat(60)}*b`);
  assert.equal(status, 200);
  assert.deepEqual(body.data, []);
});

test('a pattern that is too long is 422, one with NUL is 400', async () => {
  assertRefused(await admin.get(`/api/v1/roles?name_pattern=${'x'.repeat(251)}`), 422, 'validation_failed');
  assertRefused(await admin.get('/api/v1/roles?name_pattern=%00'), 400, 'invalid_text');
});

test('list-all returns every role with its permissions, by name, without pages', async () => {
  const permission = await makePermission(admin);
  const role = await makeRole(admin, { permission_ids: [permission.id] });
  for (let made = 0; made < 55; made += 1) await makeRole(admin, { name: newName('many') });
  const { status, body } = await admin.get('/api/v1/roles/list');
  assert.equal(status, 200);
  assert.equal(body.pagination, undefined);
  const lower = namesOf(body.data).map((name) => name.toLowerCase());
  assert.deepEqual(lower, lower.toSorted());
  assert.ok(lower.length > 60);
  const listed = body.data.find(({ id }: { id: string }) => id === role.id);
  assert.deepEqual(listed, (await admin.get(`/api/v1/roles/${role.id}`)).body.data);
  assert.deepEqual(listed.permissions, [permission]);
  const paged = await admin.get(`/api/v1/roles?name_pattern=${role.name}`);
  assert.deepEqual(paged.body.data, [listed]);
});

test('include=holders adds the holders, active or not, and the version of the ETag', async () => {
  const role = await makeRole(admin);
  const account = await admin.post('/api/v1/service-accounts', { name: newName('bot'), role_ids: [role.id] });
  assert.equal(account.status, 201, account.text);
  for (const isActive of [true, false]) {
    const { id } = await addUser(service);
    await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [id, role.id]);
    await service.sql('update users set is_active = $2 where id = $1', [id, isActive]);
  }
  const version = Number(etagOf(await admin.get(`/api/v1/roles/${role.id}`)).replaceAll('"', ''));
  for (const path of [
    '/api/v1/roles/list?include=holders',
    `/api/v1/roles?include=holders&name_pattern=${role.name}`,
  ]) {
    const { body } = await admin.get(path);
    const listed = body.data.find(({ id }: { id: string }) => id === role.id);
    assert.deepEqual({ holders: listed.holders, version: listed.version }, { holders: 3, version });
  }
  const without = await makeRole(admin);
  const { body } = await admin.get(`/api/v1/roles?include=holders&name_pattern=${without.name}`);
  assert.equal(body.data[0].holders, 0);
  assertRefused(await admin.get('/api/v1/roles/list?include=users'), 422, 'validation_failed');
});
