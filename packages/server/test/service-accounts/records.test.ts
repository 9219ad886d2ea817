// The records of service accounts: who may create, read, change and delete them, and what their roles give.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const admin = await signIn(service, ADMIN);
const path = '/api/v1/service-accounts';
const everything = ['read', 'create', 'update', 'delete'].map((action) => `service_account.${action}`);
const newName = (): string => `Robot ${randomUUID()}`;

const entriesOf = (id: string) =>
  service.sql<{ action: string; details: Record<string, unknown> }>(
    'select action, details from audit_logs where resource_id = $1 order by "timestamp"',
    [id],
  );

test('an account is created, read, listed, changed and deleted, each with its audit entry', async () => {
  const role = await addRole(service, 'role.read', 'users.read');
  const name = newName();
  const created = await admin.post(path, { name, description: 'Orders', role_ids: [role] });
  assert.equal(created.status, 201, created.text);
  const { id, created_at, updated_at, created_by_id, ...fields } = created.body.data;
  assert.deepEqual(fields, {
    name,
    description: 'Orders',
    is_active: true,
    roles: [{ id: role, name: `Role ${role}` }],
    permissions: ['role.read', 'users.read'],
    external_id: null,
    last_used_at: null,
  });
  assert.ok(created_by_id);
  const read = await admin.get(`${path}/${id}`);
  assert.deepEqual(read.body.data, created.body.data);
  assert.equal(read.headers.get('etag'), created.headers.get('etag'));
  const listed = await admin.get(`${path}?search=${encodeURIComponent(name.toUpperCase())}`);
  assert.deepEqual(listed.body.data, [read.body.data]);
  assert.deepEqual(listed.body.pagination, { page: 1, limit: 50, total: 1, pages: 1 });

  const changed = await admin.put(`${path}/${id}`, { description: 'Bills', is_active: false, role_ids: [] });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual(
    [changed.body.data.description, changed.body.data.is_active, changed.body.data.roles],
    ['Bills', false, []],
  );
  assert.notEqual(changed.headers.get('etag'), read.headers.get('etag'));
  const deleted = await admin.delete(`${path}/${id}`);
  assert.equal(deleted.status, 200, deleted.text);
  assertRefused(await admin.get(`${path}/${id}`), 404, 'service_account_not_found');
  const entries = await entriesOf(id);
  assert.deepEqual(
    entries.map(({ action }) => action),
    [
      'service_account_created',
      'service_account_updated',
      'service_account_roles_changed',
      'service_account_deleted',
    ],
  );
  assert.deepEqual(entries[1]?.details.after, { description: 'Bills', is_active: false });
  assert.deepEqual(entries[2]?.details.after, { roles: [] });
});

test('a change that changes nothing writes nothing, and If-Match refuses an old version', async () => {
  const { id, name } = await addServiceAccount(service);
  const { headers } = await admin.get(`${path}/${id}`);
  const etag = headers.get('etag') ?? '';
  const same = await admin.put(`${path}/${id}`, { name, role_ids: [] }, { headers: { 'if-match': etag } });
  assert.deepEqual([same.status, same.headers.get('etag'), await entriesOf(id)], [200, etag, []]);
  await admin.put(`${path}/${id}`, { description: 'Other' });
  for (const send of [
    () => admin.put(`${path}/${id}`, { description: 'Late' }, { headers: { 'if-match': etag } }),
    () => admin.delete(`${path}/${id}`, undefined, { headers: { 'if-match': etag } }),
  ]) {
    const refused = await send();
    assertRefused(refused, 412, 'precondition_failed');
    assert.equal(refused.body.current.description, 'Other');
  }
});

test('names are unique ignoring case, and bad input is refused with the field', async () => {
  const { name, id } = await addServiceAccount(service);
  assertRefused(await admin.post(path, { name: name.toUpperCase() }), 409, 'name_taken');
  const other = await addServiceAccount(service);
  assertRefused(await admin.put(`${path}/${other.id}`, { name }), 409, 'name_taken');
  for (const body of [{}, { name: '' }, { name: ' ' }, { name: 'a\u0007' }, { name: 7 }])
    assertRefused(await admin.post(path, body), 422, 'validation_failed');
  assertRefused(await admin.post(path, { name: newName(), role_ids: ['x'] }), 400, 'invalid_id');
  const unknown = await admin.post(path, { name: newName(), role_ids: [randomUUID()] });
  assertRefused(unknown, 404, 'role_not_found');
  assertRefused(await admin.put(`${path}/${id}`, { role_ids: [randomUUID()] }), 404, 'role_not_found');
  for (const method of ['GET', 'PUT', 'DELETE'])
    assertRefused(
      await admin.request(method, `${path}/${randomUUID()}`, method === 'PUT' ? { json: {} } : {}),
      404,
      'service_account_not_found',
    );
});

test('callers give an account only roles whose permissions they hold, and act on no account beyond them', async () => {
  const { client } = await signedInWith(service, ...everything, 'role.read');
  const [own, beyond] = [
    await addRole(service, 'role.read'),
    await addRole(service, 'role.read', 'users.read'),
  ];
  const escalation = 'privilege_escalation';
  assertRefused(await client.post(path, { name: newName(), role_ids: [beyond] }), 403, escalation);
  const made = await client.post(path, { name: newName(), role_ids: [own] });
  assert.equal(made.status, 201, made.text);
  const { id } = made.body.data;
  assertRefused(await client.put(`${path}/${id}`, { role_ids: [own, beyond] }), 403, escalation);
  assert.equal((await client.put(`${path}/${id}`, { role_ids: [] })).status, 200);

  const strong = await addServiceAccount(service, { permissions: ['users.read'] });
  for (const answer of [
    await client.put(`${path}/${strong.id}`, { is_active: false }),
    await client.put(`${path}/${strong.id}`, { role_ids: [] }),
    await client.delete(`${path}/${strong.id}`),
    await client.post(`${path}/${strong.id}/keys`, { name: 'Key' }),
    await client.post(`${path}/${strong.id}/keys/${strong.keyId}/rotate`),
    await client.delete(`${path}/${strong.id}/keys/${strong.keyId}`),
  ])
    assertRefused(answer, 403, escalation);
  const product = await addServiceAccount(service, { roles: [await addProductRole()] });
  assert.equal((await client.put(`${path}/${product.id}`, { is_active: false })).status, 200);
});

/** Returns a role with a permission that is not built in. */
async function addProductRole(): Promise<string> {
  const role = await addRole(service);
  const group = randomUUID();
  await service.sql('insert into permission_groups (id, name) values ($1, $2)', [group, `product-${group}`]);
  const permission = randomUUID();
  await service.sql('insert into permissions (id, name, group_id) values ($1, $2, $3)', [
    permission,
    `product-${group}.sell`,
    group,
  ]);
  await service.sql('insert into role_permissions (role_id, permission_id) values ($1, $2)', [
    role,
    permission,
  ]);
  return role;
}

test('a role that a service account holds is in use; deleting the account frees it', async () => {
  const role = await addRole(service);
  const { id } = await addServiceAccount(service, { roles: [role] });
  const refused = await admin.delete(`/api/v1/roles/${role}`);
  assertRefused(refused, 409, 'role_in_use');
  assert.match(refused.body.detail, /1 service account/);
  await admin.delete(`${path}/${id}`);
  assert.equal((await admin.delete(`/api/v1/roles/${role}`)).status, 204);
});

test("a change of a role's permissions asks about the service accounts that hold it", async () => {
  const role = await addRole(service, 'role.read');
  await addServiceAccount(service, { permissions: ['users.delete'], roles: [role] });
  const { client } = await signedInWith(service, 'role.update', 'role.read', 'permission.read', 'users.read');
  const [permission] = await service.sql<{ id: string }>(
    "select id from permissions where name = 'users.read'",
  );
  const answer = await client.post(`/api/v1/roles/${role}/permissions`, { permission_ids: [permission?.id] });
  assertRefused(answer, 403, 'privilege_escalation');
});

test('the author of an account can be deleted', async () => {
  const { client, person } = await signedInWith(service, 'service_account.create');
  const made = await client.post(path, { name: newName() });
  assert.equal(made.body.data.created_by_id, person.id);
  await admin.post(`/api/v1/users/${person.id}/roles`, { role_ids: [] });
  assert.equal((await admin.delete(`/api/v1/users/${person.id}`)).status, 200);
  assert.equal((await admin.get(`${path}/${made.body.data.id}`)).body.data.created_by_id, null);
});

test('the pages of the list show every account once, only to holders of the permission', async () => {
  for (let index = 0; index < 3; index += 1) await addServiceAccount(service);
  const [{ total } = { total: 0 }] = await service.sql<{ total: number }>(
    'select count(*)::integer as total from service_accounts',
  );
  const seen = new Set<string>();
  for (let page = 1; page <= Math.ceil(total / 2); page += 1) {
    const answer = await admin.get(`${path}?page=${page}&size=2`);
    assert.equal(answer.body.pagination.total, total);
    for (const { id } of answer.body.data) seen.add(id);
  }
  assert.equal(seen.size, total);
  const person = await addPerson(service);
  assertRefused(await (await signIn(service, person)).get(path), 403, 'permission_denied');
});
