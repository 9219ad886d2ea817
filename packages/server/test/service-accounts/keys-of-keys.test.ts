// What a key may pass on to another one: no more than its maker held, and no longer than it lives itself.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { clientToken } from '@castellan/testing/service-accounts/token-services';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService(
  { after },
  { CONCURRENT_SESSION_LIMIT: '0', RATE_LIMIT_ACCESS: '3/minute' },
);
const admin = await signIn(service, ADMIN);
const path = '/api/v1/service-accounts';

function clientWith(key: string): TestClient {
  const client = service.client();
  client.accessToken = key;
  return client;
}

/** Gives every holder of the role another permission. */
const widen = (role: string, permission: string) =>
  service.sql(
    'insert into role_permissions (role_id, permission_id) select $1, id from permissions where name = $2',
    [role, permission],
  );

type Key = { id: string; key: string; permissions: string[] | null; expires_at: string | null };

async function keyOf(account: string, id: string): Promise<Key & { revoked_at: string | null }> {
  const { body } = await admin.get(`${path}/${account}/keys`);
  return body.data.find((one: { id: string }) => one.id === id);
}

async function makeKey(client: TestClient, account: string, json: object = {}): Promise<Key> {
  const made = await client.post(`${path}/${account}/keys`, { name: 'Made', ...json });
  assert.equal(made.status, 201, made.text);
  return made.body.data;
}

test('a key that somebody else than a superuser makes gains nothing from later roles', async () => {
  const { client: operator } = await signedInWith(service, 'service_account.update', 'role.read');
  const role = await addRole(service, 'role.read');
  const { id } = await addServiceAccount(service, { roles: [role] });
  const made = await operator.post(`${path}/${id}/keys`, { name: 'Laid down' });
  assert.equal(made.status, 201, made.text);
  const { key, id: keyId, permissions, narrowed_by } = made.body.data;
  assert.deepEqual({ permissions, narrowed_by }, { permissions: ['role.read'], narrowed_by: 'maker' });
  // What the request names is no narrowing by the maker.
  const named = await operator.post(`${path}/${id}/keys`, { name: 'Named', permissions: ['role.read'] });
  assert.equal(named.body.data.narrowed_by, null);
  const byAdmin = await makeKey(admin, id);
  await widen(role, 'users.read');
  assert.equal((await clientWith(key).get('/api/v1/roles')).status, 200);
  assertRefused(await clientWith(key).get('/api/v1/users/list'), 403, 'permission_denied');
  assert.equal((await clientWith(byAdmin.key).get('/api/v1/users/list')).status, 200);
  // A rotation by a superuser keeps the narrowing, and whose it is.
  const next = await admin.post(`${path}/${id}/keys/${keyId}/rotate`, {});
  assert.deepEqual([next.body.data.permissions, next.body.data.narrowed_by], [['role.read'], 'maker']);
});

test('a key that somebody else than a superuser rotates is narrowed too; a key without roles stays empty', async () => {
  const { client: operator } = await signedInWith(service, 'service_account.update', 'role.read');
  const role = await addRole(service, 'role.read');
  const { id, keyId } = await addServiceAccount(service, { roles: [role] });
  const rotated = await operator.post(`${path}/${id}/keys/${keyId}/rotate`, {});
  assert.deepEqual([rotated.body.data.permissions, rotated.body.data.narrowed_by], [['role.read'], 'maker']);
  const bare = await addServiceAccount(service);
  const empty = await makeKey(operator, bare.id);
  assert.deepEqual(empty.permissions, []);
  await service.sql('insert into service_account_roles (service_account_id, role_id) values ($1, $2)', [
    bare.id,
    role,
  ]);
  assertRefused(await clientWith(empty.key).get('/api/v1/roles'), 403, 'permission_denied');
});

test('a key makes and rotates no key that lives longer or may more than it', async () => {
  const maker = await addServiceAccount(service, {
    permissions: ['service_account.update', 'role.read', 'users.read'],
    narrowedTo: ['service_account.update', 'role.read'],
    expiresInSeconds: 3_600,
  });
  const role = await addRole(service, 'role.read');
  const target = await addServiceAccount(service, { roles: [role] });
  const end = (await keyOf(maker.id, maker.keyId)).expires_at;
  // The key itself, and an access token made from it.
  for (const client of [clientWith(maker.key), clientWith(await clientToken(service, maker))]) {
    const endless = await makeKey(client, target.id);
    const later = await makeKey(client, target.id, { expires_at: '2099-01-01T00:00:00Z' });
    const sooner = new Date(Date.now() + 60_000).toISOString();
    const short = await makeKey(client, target.id, { expires_at: sooner });
    assert.deepEqual([endless.expires_at, later.expires_at, short.expires_at], [end, end, sooner]);
    assert.deepEqual(endless.permissions, ['role.read']);
    const { keyId } = await addApiKey(service, target.id);
    const rotated = await client.post(`${path}/${target.id}/keys/${keyId}/rotate`, {
      expires_at: '2099-01-01T00:00:00Z',
    });
    assert.deepEqual([rotated.body.data.expires_at, rotated.body.data.permissions], [end, ['role.read']]);
  }
  const own = await addApiKey(service, maker.id, { expiresInSeconds: 600 });
  const ownEnd = (await keyOf(maker.id, own.keyId)).expires_at;
  const successor = await clientWith(own.key).post(`${path}/${maker.id}/keys/${own.keyId}/rotate`, {
    overlap_seconds: 0,
    expires_at: null,
  });
  assert.equal(successor.body.data.expires_at, ownEnd, 'a key that replaces itself gains no time');
  assert.equal((await clientWith(successor.body.data.key).get('/api/v1/roles')).status, 200);
});

test('keys made with a key that is rotated out end with it, through any number of others', async () => {
  const permissions = ['service_account.update', 'role.read'];
  const first = await addServiceAccount(service, { permissions });
  const second = await addServiceAccount(service, { permissions });
  const third = await addServiceAccount(service, { permissions: ['role.read'] });
  const child = await makeKey(clientWith(first.key), second.id);
  const grandchild = await makeKey(clientWith(child.key), third.id);
  assert.equal(grandchild.expires_at, null);
  const rotated = await admin.post(`${path}/${first.id}/keys/${first.keyId}/rotate`, { overlap_seconds: 0 });
  assert.equal(rotated.status, 201, rotated.text);
  for (const { key } of [first, child, grandchild])
    assertRefused(await clientWith(key).get('/api/v1/roles'), 401, 'api_key_expired');
  assert.equal((await clientWith(rotated.body.data.key).get('/api/v1/roles')).status, 200);
});

test('revoking a key counts the keys made with it, and ends them on request', async () => {
  const permissions = ['service_account.update', 'role.read'];
  const first = await addServiceAccount(service, { permissions });
  const second = await addServiceAccount(service, { permissions });
  const third = await addServiceAccount(service, { permissions: ['role.read'] });
  const child = await makeKey(clientWith(first.key), second.id);
  const grandchild = await makeKey(clientWith(child.key), third.id);
  const address = `${path}/${first.id}/keys/${first.keyId}`;
  const plain = await admin.delete(address);
  assert.deepEqual([plain.status, plain.body.data.descendants], [200, 2]);
  for (const { key } of [child, grandchild])
    assert.equal((await clientWith(key).get('/api/v1/roles')).status, 200);
  assertRefused(await admin.delete(`${address}?with=all`), 422, 'validation_failed');
  // The key that links them is gone from the records: what it made still counts.
  await service.sql('delete from api_keys where id = $1', [child.id]);
  const all = await admin.delete(`${address}?with=descendants`);
  assert.deepEqual([all.status, all.body.data.descendants], [200, 1], all.text);
  assertRefused(await clientWith(grandchild.key).get('/api/v1/roles'), 401, 'api_key_revoked');
  const entries = await service.sql<{ resource_id: string; details: Record<string, string> }>(
    "select resource_id, details from audit_logs where action = 'api_key_revoked' and details->>'api_key_id' = $1",
    [grandchild.id],
  );
  assert.deepEqual(
    entries.map(({ resource_id, details }) => [resource_id, details.descends_from_key_id]),
    [[third.id, first.keyId]],
  );
  assert.equal((await admin.delete(`${address}?with=descendants`)).body.data.descendants, 0);
});

test('ending the keys made with a key needs to be allowed to act on each of their accounts', async () => {
  const { client: operator } = await signedInWith(service, 'service_account.update', 'role.read');
  const first = await addServiceAccount(service, { permissions: ['service_account.update', 'role.read'] });
  const role = await addRole(service, 'role.read');
  const second = await addServiceAccount(service, { roles: [role] });
  const child = await makeKey(clientWith(first.key), second.id);
  await widen(role, 'users.delete');
  const address = `${path}/${first.id}/keys/${first.keyId}`;
  assertRefused(await operator.delete(`${address}?with=descendants`), 403, 'privilege_escalation');
  assert.equal((await keyOf(first.id, first.keyId)).revoked_at, null);
  assert.equal((await operator.delete(address)).status, 200);
  assert.equal((await keyOf(second.id, child.id)).revoked_at, null);
});

test('every audit entry by a key names the key, refusals included', async () => {
  const account = await addServiceAccount(service, {
    permissions: ['role.create', 'role.delete', 'role.read', 'service_account.update', 'access.check'],
  });
  const { key, keyId, id } = await addApiKey(service, account.id).then((made) => ({
    ...made,
    id: account.id,
  }));
  const client = clientWith(key);
  const role = await client.post('/api/v1/roles', { name: `Role of ${id}` });
  assert.equal(role.status, 201, role.text);
  assert.equal((await client.delete(`/api/v1/roles/${role.body.data.id}?dry_run=true`)).status, 200);
  assertRefused(await client.get('/api/v1/users/list'), 403, 'permission_denied');
  assertRefused(await client.get('/api/v1/users/me'), 403, 'user_required');
  const made = await makeKey(client, id, { permissions: ['role.read'] });
  assertRefused(
    await client.post(`${path}/${id}/keys`, { name: 'More', permissions: ['users.delete'] }),
    403,
    'privilege_escalation',
  );
  const question = {
    subject: { type: 'user', id: 'nobody' },
    resource: { type: 'role', id: '1' },
    action: { name: 'read' },
  };
  for (let turn = 0; turn < 4; turn += 1) await client.post('/api/v1/access/v1/evaluation', question);
  await clientToken(service, { id, key });
  const entries = await service.sql<{ action: string; details: Record<string, unknown> }>(
    'select action, details from audit_logs where actor_id = $1',
    [id],
  );
  for (const { action, details } of entries) assert.equal(details.key_id, keyId, action);
  const actions = new Set(entries.map(({ action }) => action));
  for (const action of [
    'role_created',
    'access_previewed',
    'permission_denied',
    'api_key_created',
    'rate_limited',
    'client_token_issued',
  ])
    assert.ok(actions.has(action), action);
  const created = entries.find(({ action }) => action === 'api_key_created');
  assert.equal(created?.details.api_key_id, made.id);

  const ended = await addApiKey(service, id, { revoked: true });
  assertRefused(await clientWith(ended.key).get('/api/v1/roles'), 401, 'api_key_revoked');
  const refused = await service.sql(
    "select from audit_logs where action = 'api_key_refused' and details->>'key_id' = $1",
    [ended.keyId],
  );
  assert.equal(refused.length, 1);
});

test('what a key causes by setting passwords names the key: accepted, refused and limited', async () => {
  const { id, key, keyId } = await addServiceAccount(service, { permissions: ['users.update'] });
  const person = await addPerson(service);
  const setPassword = (password: string) => clientWith(key).put(`/api/v1/users/${person.id}`, { password });
  assert.equal((await setPassword('Marble?Tundra61Fox')).status, 200);
  for (let turn = 0; turn < 10; turn += 1)
    assertRefused(await setPassword('short'), 400, 'password_rejected');
  assertRefused(await setPassword('short'), 429, 'rate_limited');
  const entries = await service.sql<{ action: string; named: string }>(
    "select distinct action, actor_type || ' ' || coalesce(details->>'key_id', 'no key') as named from audit_logs where actor_id = $1 order by 1",
    [id],
  );
  assert.deepEqual(
    entries,
    ['password_refused', 'password_set_by_admin', 'rate_limited'].map((action) => ({
      action,
      named: `service_account ${keyId}`,
    })),
  );
});
