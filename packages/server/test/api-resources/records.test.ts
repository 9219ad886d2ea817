// API resources as records: their identifiers, their groups, and what keeps them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import { signedInWith } from '@castellan/testing/users/people';
import { newId } from '../../src/platform/ids.ts';
import { assertFieldRefused, startWithAdmin } from '../applications/fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const path = '/api/v1/api-resources';
const group = (await admin.post('/api/v1/permission-groups', { name: 'orders' })).body.data;
const other = (await admin.post('/api/v1/permission-groups', { name: 'invoices' })).body.data;
let made = 0;
const body = (fields: object = {}): object => {
  made += 1;
  return { identifier: `https://api-${made}.example.com`, name: 'Orders', ...fields };
};

test('a resource is created with defaults, read, listed, changed and deleted, each with its audit entry', async () => {
  const identifier = 'https://orders.example.com/v1?x=1';
  const created = await admin.post(
    path,
    body({ identifier, permission_group_ids: [group.id.toUpperCase()] }),
  );
  assert.equal(created.status, 201, created.text);
  const { id, created_at, updated_at, created_by_id, ...fields } = created.body.data;
  assert.deepEqual(fields, {
    identifier,
    name: 'Orders',
    description: '',
    permission_group_ids: [group.id],
    access_token_seconds: 300,
    signing_alg: 'RS256',
  });
  const read = await admin.get(`${path}/${id}`);
  assert.deepEqual([read.body.data, read.headers.get('etag')], [created.body.data, '"1"']);
  const listed = await admin.get(`${path}?search=orders v1`);
  assert.deepEqual(listed.body.data, [created.body.data]);
  const same = await admin.put(`${path}/${id}`, { ...fields });
  assert.equal(same.headers.get('etag'), '"1"');
  const change = { permission_group_ids: [other.id], signing_alg: 'ES256', access_token_seconds: 60 };
  const changed = await admin.put(`${path}/${id}`, change, { headers: { 'if-match': '"1"' } });
  assert.deepEqual([changed.status, changed.headers.get('etag')], [200, '"2"'], changed.text);
  assert.deepEqual(changed.body.data.permission_group_ids, [other.id]);
  const late = await admin.put(`${path}/${id}`, change, { headers: { 'if-match': '"1"' } });
  assertRefused(late, 412, 'precondition_failed');
  assertRefused(await admin.delete(`/api/v1/permission-groups/${other.id}`), 409, 'group_in_use');
  assert.equal((await admin.delete(`${path}/${id}`)).status, 200);
  assertRefused(await admin.get(`${path}/${id}`), 404, 'api_resource_not_found');
  const entries = await service.sql<{ action: string }>(
    `select action from audit_logs where resource_id = $1 order by "timestamp", id`,
    [id],
  );
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['api_resource_created', 'api_resource_updated', 'api_resource_deleted'],
  );
});

test('an identifier is an absolute URI without fragment, unique, and names no part of Castellan', async () => {
  for (const identifier of [
    'orders',
    '/orders',
    'https://orders.example.com/#a',
    'https://orders.example.com/ä',
    'https://orders.example.com/a b',
    'https://',
    'http://castellan.test',
    'http://castellan.test/',
    'http://CASTELLAN.test/api/v1/oauth/userinfo',
    'http://castellan.test/api',
    'http://castellan.test/x/../api/v1',
    `https://orders.example.com/${'x'.repeat(2_000)}`,
  ])
    assertFieldRefused(await admin.post(path, body({ identifier })), 'identifier');
  for (const identifier of ['urn:example:orders', 'https://one.example.com', 'http://castellan.test/orders'])
    assert.equal((await admin.post(path, body({ identifier }))).status, 201, identifier);
  const again = await admin.post(path, body({ identifier: 'urn:example:orders' }));
  assertRefused(again, 409, 'name_taken');
  const next = (await admin.post(path, body())).body.data;
  const taken = await admin.put(`${path}/${next.id}`, { identifier: 'urn:example:orders' });
  assertRefused(taken, 409, 'name_taken');
});

test('groups exist and are none of the built-in ones', async () => {
  const [builtIn] = await service.sql<{ id: string }>(`select id from permission_groups where name = 'role'`);
  const ofCastellan = await admin.post(path, body({ permission_group_ids: [group.id, builtIn?.id] }));
  assert.equal(ofCastellan.status, 422, ofCastellan.text);
  assert.match(ofCastellan.body.errors[0].field, /^permission_group_ids\.[01]$/);
  const unknown = await admin.post(path, body({ permission_group_ids: [newId()] }));
  assertRefused(unknown, 404, 'permission_group_not_found');
  const next = (await admin.post(path, body())).body.data;
  const put = await admin.put(`${path}/${next.id}`, { permission_group_ids: [builtIn?.id] });
  assert.equal(put.status, 422, put.text);
});

test('each operation has its permission', async () => {
  const { id } = (await admin.post(path, body())).body.data;
  const operations = {
    read: ['GET', `${path}/${id}`],
    create: ['POST', path],
    update: ['PUT', `${path}/${id}`],
    delete: ['DELETE', `${path}/${id}`],
  } as const;
  for (const [action, [method, address]] of Object.entries(operations)) {
    const all = Object.keys(operations).map((one) => `api_resource.${one}`);
    const without = await signedInWith(service, ...all.filter((one) => one !== `api_resource.${action}`));
    const json = method === 'POST' ? body() : { name: 'Renamed' };
    const refused = await without.client.request(method, address, method === 'GET' ? {} : { json });
    assertRefused(refused, 403, 'permission_denied');
    const { client } = await signedInWith(service, `api_resource.${action}`);
    const answer = await client.request(
      method,
      address,
      method === 'GET' || method === 'DELETE' ? {} : { json },
    );
    assert.ok(answer.status < 300, answer.text);
  }
});
