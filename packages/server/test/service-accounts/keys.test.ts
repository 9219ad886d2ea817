// API keys: how they are created, narrowed, rotated and revoked, and what they never show.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { crc32 } from 'node:zlib';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { changeUserWhileWaiting } from '@castellan/testing/sessions/hold-user';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const admin = await signIn(service, ADMIN);
const path = '/api/v1/service-accounts';

/** Returns a client that sends the key. */
function clientWith(key: string): TestClient {
  const client = service.client();
  client.accessToken = key;
  return client;
}
const secondsUntil = (time: string): number => (Date.parse(time) - Date.now()) / 1_000;

test('a new key has the documented form, is shown once, and only its hash is stored', async () => {
  const { id } = await addServiceAccount(service, { permissions: ['role.read'] });
  const created = await admin.post(`${path}/${id}/keys`, { name: ' production ' });
  assert.equal(created.status, 201, created.text);
  const { key, id: keyId, prefix, created_at, ...rest } = created.body.data;
  assert.deepEqual(rest, {
    name: 'production',
    permissions: null,
    narrowed_by: null,
    expires_at: null,
    last_used_at: null,
    revoked_at: null,
  });
  assert.match(key, /^castellan_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
  assert.equal(prefix, key.slice(0, 22));
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  const checksum = [...key.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
  assert.equal(checksum, crc32(key.slice(0, -7)));
  const listed = await admin.get(`${path}/${id}/keys`);
  assert.equal(listed.body.data.length, 2);
  assert.ok(!listed.text.includes(key.slice(23)), 'the list shows the secret');
  const [row] = await service.sql<{ text: string; secret_hash: Buffer }>(
    'select k::text as text, secret_hash from api_keys k where id = $1',
    [keyId],
  );
  assert.deepEqual(row?.secret_hash, createHash('sha256').update(key).digest());
  assert.ok(!row?.text.includes(key.slice(23, 66)), 'the row holds the secret');
  assert.equal((await clientWith(key).get('/api/v1/roles')).status, 200);
});

test('a replay for an Idempotency-Key returns the record without the key', async () => {
  const { id } = await addServiceAccount(service);
  const options = { headers: { 'idempotency-key': randomUUID() } };
  const first = await admin.post(`${path}/${id}/keys`, { name: 'Key' }, options);
  const replay = await admin.post(`${path}/${id}/keys`, { name: 'Key' }, options);
  assert.deepEqual([first.status, replay.status], [201, 201]);
  assert.equal(replay.headers.get('idempotency-replayed'), 'true');
  const { key, ...record } = first.body.data;
  assert.ok(key);
  assert.deepEqual(replay.body.data, record);
  const [kept] = await service.sql<{ rows: number }>(
    'select count(*)::integer as rows from idempotency_keys where body like $1',
    [`%${key.slice(23, 66)}%`],
  );
  assert.equal(kept?.rows, 0);
});

test('a narrowed key does only what it is narrowed to and its account may, at every instance', async () => {
  const role = await addRole(service, 'role.read', 'users.read');
  const { id } = await addServiceAccount(service, { roles: [role] });
  const made = await admin.post(`${path}/${id}/keys`, {
    name: 'Narrow',
    permissions: ['Role.Read', 'permission.read'],
  });
  assert.deepEqual(made.body.data.permissions, ['permission.read', 'role.read']);
  const client = clientWith(made.body.data.key);
  for (const at of [client, client.at(twin.url)]) {
    assert.equal((await at.get('/api/v1/roles')).status, 200);
    assertRefused(await at.get('/api/v1/users/list'), 403, 'permission_denied');
    // The account lacks it: accepted, and without effect until a role gives it.
    assertRefused(await at.get('/api/v1/permissions'), 403, 'permission_denied');
  }
  const givePermission = `insert into role_permissions (role_id, permission_id)
    select $1, id from permissions where name = 'permission.read'`;
  await service.sql(givePermission, [role]);
  assert.equal((await client.at(twin.url).get('/api/v1/permissions')).status, 200);
  await service.sql('delete from role_permissions where role_id = $1', [role]);
  for (const at of [client, client.at(twin.url)])
    assertRefused(await at.get('/api/v1/roles'), 403, 'permission_denied');
});

test('a narrowed key hands out only what it may do itself, also to its own account', async () => {
  const permissions = ['service_account.update', 'role.read', 'users.read'];
  const account = await addServiceAccount(service, { permissions });
  const narrow = await addApiKey(service, account.id, {
    narrowedTo: ['service_account.update', 'role.read'],
  });
  const client = clientWith(narrow.key);
  const keys = `${path}/${account.id}/keys`;
  assertRefused(await client.post(keys, { name: 'All' }), 403, 'privilege_escalation');
  const whole = clientWith(account.key);
  assert.equal((await whole.post(keys, { name: 'All' })).status, 201);
  assert.equal((await whole.post(keys, { name: 'Less', permissions: ['role.read'] })).status, 201);
  assertRefused(
    await whole.post(keys, { name: 'More', permissions: ['users.delete'] }),
    403,
    'privilege_escalation',
  );
});

test('creating a key needs every permission that it would carry; a narrowed one only these', async () => {
  const { client } = await signedInWith(service, 'service_account.update', 'self.update_profile');
  const role = await addRole(service, 'self.update_profile');
  const { id } = await addServiceAccount(service, { roles: [role] });
  assert.equal((await client.post(`${path}/${id}/keys`, { name: 'Key' })).status, 201);
  const body = { name: 'Key', permissions: ['role.read'] };
  assertRefused(await client.post(`${path}/${id}/keys`, body), 403, 'privilege_escalation');
});

test('a rotated key works until the overlap ends, and the new one has its narrowing and lifetime', async () => {
  const { id } = await addServiceAccount(service, { permissions: ['role.read', 'users.read'] });
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const old = await admin.post(`${path}/${id}/keys`, { name: 'Old', expires_at, permissions: ['role.read'] });
  assert.equal(old.status, 201, old.text);
  const rotate = (keyId: string, json?: unknown) => admin.post(`${path}/${id}/keys/${keyId}/rotate`, json);
  const next = await rotate(old.body.data.id, { overlap_seconds: 600 });
  assert.equal(next.status, 201, next.text);
  assert.deepEqual([next.body.data.name, next.body.data.permissions], ['Old', ['role.read']]);
  assert.ok(Math.abs(secondsUntil(next.body.data.expires_at) - 3_600) < 120, next.body.data.expires_at);
  for (const key of [old, next])
    assert.equal((await clientWith(key.body.data.key).get('/api/v1/roles')).status, 200);
  const byId = async (keyId: string) =>
    (await admin.get(`${path}/${id}/keys`)).body.data.find((one: { id: string }) => one.id === keyId);
  assert.ok(Math.abs(secondsUntil((await byId(old.body.data.id)).expires_at) - 600) < 120);

  const last = await rotate(next.body.data.id, { overlap_seconds: 0, expires_at: null });
  assert.deepEqual([last.status, last.body.data.expires_at], [201, null]);
  const ended = clientWith(next.body.data.key);
  for (const at of [ended, ended.at(twin.url)])
    assertRefused(await at.get('/api/v1/roles'), 401, 'api_key_expired');
  assertRefused(await rotate(next.body.data.id), 409, 'key_ended');
  // Without a body: the default overlap of a day.
  const lasting = await rotate(last.body.data.id);
  assert.equal(lasting.body.data.expires_at, null);
  assert.ok(Math.abs(secondsUntil((await byId(last.body.data.id)).expires_at) - 86_400) < 120);
});

test('an overlap does not lengthen the life of the old key', async () => {
  const { id, keyId } = await addServiceAccount(service, { expiresInSeconds: 60 });
  await admin.post(`${path}/${id}/keys/${keyId}/rotate`, { overlap_seconds: 604_800 });
  const { body } = await admin.get(`${path}/${id}/keys`);
  const old = body.data.find((one: { id: string }) => one.id === keyId);
  assert.ok(secondsUntil(old.expires_at) <= 60, old.expires_at);
});

test('a revoked key is refused at the next request on every instance, and can be revoked again', async () => {
  const { id, keyId, key } = await addServiceAccount(service, { permissions: ['role.read'] });
  const client = clientWith(key);
  for (const at of [client, client.at(twin.url)]) assert.equal((await at.get('/api/v1/roles')).status, 200);
  const revoked = await admin.delete(`${path}/${id}/keys/${keyId}`);
  assert.equal(revoked.status, 200, revoked.text);
  assert.ok(revoked.body.data.revoked_at);
  for (const at of [client.at(twin.url), client])
    assertRefused(await at.get('/api/v1/roles'), 401, 'api_key_revoked');
  const again = await admin.delete(`${path}/${id}/keys/${keyId}`);
  assert.deepEqual([again.status, again.body.message], [200, 'The API key had ended before.']);
  assertRefused(await admin.post(`${path}/${id}/keys/${keyId}/rotate`), 409, 'key_ended');
});

test('bad input is refused with the field', async () => {
  const { id, keyId } = await addServiceAccount(service);
  const other = await addServiceAccount(service);
  const past = new Date(Date.now() - 1_000).toISOString();
  for (const body of [{}, { name: '' }, { name: 'K', expires_at: past }, { name: 'K', expires_at: 'soon' }])
    assertRefused(await admin.post(`${path}/${id}/keys`, body), 422, 'validation_failed');
  for (const overlap_seconds of [-1, 604_801, 1.5, 'x'])
    assertRefused(
      await admin.post(`${path}/${id}/keys/${keyId}/rotate`, { overlap_seconds }),
      422,
      'validation_failed',
    );
  const unknown = await admin.post(`${path}/${id}/keys`, { name: 'K', permissions: ['no.such'] });
  assertRefused(unknown, 404, 'permission_not_found');
  assert.equal(unknown.body.errors[0].field, 'permissions.0');
  for (const send of [
    admin.delete(`${path}/${id}/keys/${other.keyId}`),
    admin.post(`${path}/${id}/keys/${other.keyId}/rotate`),
  ])
    assertRefused(await send, 404, 'api_key_not_found');
  for (const send of [
    admin.get(`${path}/${randomUUID()}/keys`),
    admin.post(`${path}/${randomUUID()}/keys`, { name: 'K' }),
  ])
    assertRefused(await send, 404, 'service_account_not_found');
});

test('an account has at most 100 live keys', async () => {
  const { id } = await addServiceAccount(service);
  await service.sql(
    `insert into api_keys (id, service_account_id, name, prefix, secret_hash)
     select gen_random_uuid(), $1::uuid, 'Key', 'castellan_' || md5(n || $1::text), sha256((n || $1::text)::bytea)
     from generate_series(1, 99) n`,
    [id],
  );
  assertRefused(await admin.post(`${path}/${id}/keys`, { name: 'One more' }), 409, 'too_many_keys');
});

test('of the keys that ended, the latest hundred are kept, however often an account replaces its keys', async () => {
  const { id } = await addServiceAccount(service);
  await service.sql(
    `insert into api_keys (id, service_account_id, name, prefix, secret_hash, created_at, revoked_at)
     select gen_random_uuid(), $1, 'Old ' || n, 'castellan_' || lpad(n::text, 12, 'e'), sha256(('old' || n)::bytea),
       now() - interval '1 day', now() - make_interval(mins => n)
     from generate_series(1, 150) n`,
    [id],
  );
  const { body } = await admin.post(`${path}/${id}/keys`, { name: 'Present' });
  const { data } = (await admin.get(`${path}/${id}/keys`)).body;
  const names = data
    .map(({ name }: { name: string }) => name)
    .filter((name: string) => !name.startsWith('Key '));
  const expected = ['Present', ...Array.from({ length: 100 }, (_, index) => `Old ${index + 1}`)];
  assert.deepEqual(names.sort(), expected.sort());
  assert.equal(body.data.revoked_at, null);
});

test('a key that ends while a request with it waits for a lock writes nothing', async () => {
  const person = await addPerson(service);
  const { key, keyId } = await addServiceAccount(service, { permissions: ['users.update', 'user.update'] });
  const end = `update api_keys set expires_at = clock_timestamp() where id = '${keyId}' and $1::uuid is not null`;
  const answer = await changeUserWhileWaiting(service, person.id, end, () =>
    clientWith(key).put(`/api/v1/users/${person.id}`, { first_name: 'Grace' }),
  );
  assertRefused(answer, 401, 'api_key_revoked');
  assert.deepEqual(await service.sql('select first_name from users where id = $1', [person.id]), [
    { first_name: 'Ada' },
  ]);
});

test('a rotation that waits for a lock while the key ends is refused', async () => {
  const boss = await addPerson(service, { superuser: true });
  const client = await signIn(service, boss);
  const { id, keyId } = await addServiceAccount(service);
  const end = `update api_keys set expires_at = clock_timestamp() where id = '${keyId}' and $1::uuid is not null`;
  const answer = await changeUserWhileWaiting(service, boss.id, end, () =>
    client.post(`${path}/${id}/keys/${keyId}/rotate`, {}),
  );
  assertRefused(answer, 409, 'key_ended');
});
