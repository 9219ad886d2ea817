// Requests with an API key: what they may do, how wrong keys are refused and limited, and what is recorded.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createApiKey } from '@castellan/server/platform/security/api-key';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused, routesOf } from '@castellan/testing/http/fixture';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole } from '@castellan/testing/users/people';

const service = await startTestService(
  { after },
  { CONCURRENT_SESSION_LIMIT: '0', TRUSTED_PROXIES: '127.0.0.1' },
);
const admin = await signIn(service, ADMIN);
const path = '/api/v1/service-accounts';

/** Returns a client that sends the key, from a network of its own. */
let networks = 0;
function clientWith(
  key: string,
  address?: string,
): (method: string, url: string, json?: unknown) => ReturnType<TestClient['request']> {
  networks += 1;
  const from = address ?? `198.51.${networks}.7`;
  const client = service.client();
  return (method, url, json) =>
    client.request(method, url, {
      ...(json === undefined ? {} : { json }),
      headers: { authorization: `Bearer ${key}`, 'x-csrf-token': null, 'x-forwarded-for': from },
    });
}

test('a key calls every kind of operation without a CSRF token; what it makes has no author but an actor', async () => {
  const account = await addServiceAccount(service, {
    permissions: ['role.read', 'role.create', 'role.delete', 'audit_log.read'],
  });
  const send = clientWith(account.key);
  const made = await send('POST', '/api/v1/roles', { name: `Role of ${account.id}` });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.body.data.created_by_id, null);
  const log = await send('GET', `/api/v1/audit-logs?resource_id=${made.body.data.id}`);
  const [entry] = log.body.data;
  assert.deepEqual(
    [entry.action, entry.actor_type, entry.actor_id, entry.actor_name, entry.actor_email],
    ['role_created', 'service_account', account.id, account.name, null],
  );
  assert.equal((await send('DELETE', `/api/v1/roles/${made.body.data.id}`)).status, 204);
  assertRefused(await send('GET', '/api/v1/users/list'), 403, 'permission_denied');
});

test('operations on the account of a person answer 403 user_required', async () => {
  const { key } = await addServiceAccount(service, { permissions: ['self.update_profile', 'users.read'] });
  const send = clientWith(key);
  const personal = (await routesOf(service)).filter(
    ({ config }) => config.access === 'user' || config.access?.startsWith('self.'),
  );
  assert.ok(personal.length >= 6);
  for (const { method, path: url } of personal) assertRefused(await send(method, url), 403, 'user_required');
});

test('a key does not replace the CSRF token on a public route', async () => {
  const { key } = await addServiceAccount(service);
  const answer = await clientWith(key)('POST', '/api/v1/auth/login', {
    email: 'a@example.com',
    password: 'x',
  });
  assertRefused(answer, 403, 'csrf_invalid');
});

test('the dashboard answers by what the account holds', async () => {
  const [admins] = await service.sql<{ id: string }>("select id from roles where name = 'Admin'");
  const strong = await addServiceAccount(service, { roles: [admins?.id ?? ''] });
  const weak = await addServiceAccount(service);
  const narrow = await addApiKey(service, strong.id, { narrowedTo: ['role.read'] });
  const shown = async (key: string) => {
    const { body } = await clientWith(key)('GET', '/api/v1/dashboard');
    return Object.keys(body.data.stats).length > 1;
  };
  assert.deepEqual(
    [await shown(strong.key), await shown(weak.key), await shown(narrow.key)],
    [true, false, false],
  );
});

test('wrong, expired and revoked keys, and those of an inactive account, are refused with a code each', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read'] });
  const expired = await addApiKey(service, account.id, { expiresInSeconds: -1 });
  const revoked = await addApiKey(service, account.id, { revoked: true });
  const inactive = await addServiceAccount(service, { active: false });
  const { key } = account;
  const last = key.at(-1) === 'a' ? 'b' : 'a';
  const cases: [string, string][] = [
    [`${key.slice(0, -1)}${last}`, 'api_key_invalid'],
    [key.slice(0, -1), 'api_key_invalid'],
    [key.toUpperCase().replace('CASTELLAN', 'castellan'), 'api_key_invalid'],
    [createApiKey().text, 'api_key_invalid'],
    ['castellan_', 'api_key_invalid'],
    [expired.key, 'api_key_expired'],
    [revoked.key, 'api_key_revoked'],
    [inactive.key, 'service_account_inactive'],
  ];
  for (const [sent, code] of cases) {
    const answer = await clientWith(sent)('GET', '/api/v1/roles');
    assertRefused(answer, 401, code);
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
  }
});

test('a deactivated account is refused at the next request, and its keys work again after activation', async () => {
  const { id, key } = await addServiceAccount(service, { permissions: ['role.read'] });
  const send = clientWith(key);
  assert.equal((await send('GET', '/api/v1/roles')).status, 200);
  await admin.put(`${path}/${id}`, { is_active: false });
  assertRefused(await send('GET', '/api/v1/roles'), 401, 'service_account_inactive');
  await admin.put(`${path}/${id}`, { is_active: true });
  assert.equal((await send('GET', '/api/v1/roles')).status, 200);
  await admin.delete(`${path}/${id}`);
  assertRefused(await send('GET', '/api/v1/roles'), 401, 'api_key_invalid');
});

test('after 30 wrong keys of a network, wrong keys get 429; a key that was right there passes', async () => {
  const { key } = await addServiceAccount(service, { permissions: ['role.read'] });
  const other = await addServiceAccount(service, { permissions: ['role.read'] });
  const [home, neighbour] = ['203.0.113.9', '203.0.113.200'];
  assert.equal((await clientWith(key, home)('GET', '/api/v1/roles')).status, 200);
  const wrong = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      clientWith(index % 2 ? createApiKey().text : 'castellan_x', neighbour)('GET', '/api/v1/roles'),
    ),
  );
  assert.equal(wrong.filter(({ status }) => status === 401).length, 30);
  const refused = wrong.filter(({ status }) => status === 429);
  assert.equal(refused.length, 10);
  assert.ok(Number(refused[0]?.headers.get('retry-after')) >= 1);
  assert.equal((await clientWith(key, home)('GET', '/api/v1/roles')).status, 200);
  assertRefused(await clientWith(other.key, home)('GET', '/api/v1/roles'), 429, 'rate_limited');
  assert.equal((await clientWith(other.key, '192.0.2.1')('GET', '/api/v1/roles')).status, 200);
  const [entry] = await service.sql<{ reason: string }>(
    `select details ->> 'reason' as reason from audit_logs
     where action = 'api_key_refused' and details ->> 'address' = $1 order by "timestamp" limit 1`,
    [neighbour],
  );
  assert.equal(entry?.reason, 'api_key_invalid');
});

test('the last use of a key and of its account is noted, without raising the version', async () => {
  const { id, key } = await addServiceAccount(service, { permissions: ['role.read'] });
  const before = await admin.get(`${path}/${id}`);
  const sentAt = Date.now();
  await clientWith(key)('GET', '/api/v1/roles');
  let account = await admin.get(`${path}/${id}`);
  // Noted after the response, so it may take a moment.
  for (let tries = 0; account.body.data.last_used_at === null && tries < 100; tries += 1) {
    await wait(50);
    account = await admin.get(`${path}/${id}`);
  }
  const used = Date.parse(account.body.data.last_used_at);
  assert.ok(Math.abs(used - sentAt) <= 60_000, account.body.data.last_used_at);
  assert.equal(account.headers.get('etag'), before.headers.get('etag'));
  const { body } = await admin.get(`${path}/${id}/keys`);
  assert.equal(body.data[0].last_used_at, account.body.data.last_used_at);
});

test('the rules of delegation and protection hold for service accounts', async () => {
  const account = await addServiceAccount(service, {
    permissions: ['user.update', 'users.update', 'role.read'],
  });
  const send = clientWith(account.key);
  const person = await addPerson(service);
  const [own, beyond] = [await addRole(service, 'role.read'), await addRole(service, 'users.delete')];
  const roles = `/api/v1/users/${person.id}/roles`;
  assert.equal((await send('POST', roles, { role_ids: [own] })).status, 200);
  assertRefused(await send('POST', roles, { role_ids: [beyond] }), 403, 'privilege_escalation');
  const strong = await addPerson(service, { roles: [beyond] });
  const deactivate = (id: string) => send('PUT', `/api/v1/users/${id}`, { is_active: false });
  assertRefused(await deactivate(strong.id), 403, 'privilege_escalation');
  const boss = await addPerson(service, { superuser: true });
  assertRefused(await deactivate(boss.id), 403, 'superuser_required');
  assert.equal((await deactivate(person.id)).status, 200);
});

test('a service account cannot delete itself', async () => {
  const account = await addServiceAccount(service, { permissions: ['service_account.delete'] });
  assertRefused(await clientWith(account.key)('DELETE', `${path}/${account.id}`), 403, 'self_delete');
});
