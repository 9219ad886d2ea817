// The list of one's own devices, and what forgetting them records; sessions tell what they began with.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { addAppUser, keepTokens } from '@castellan/testing/second-factors/app';
import { signInByApp, trustedBrowser } from '@castellan/testing/second-factors/devices';
import { addUser } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { loadSettings } from '../../src/settings.ts';

const service = await startTestService({ after });
const PATH = '/api/v1/auth/devices';

test('the list has each known device, the last used first, marks the current one, and holds no token', async () => {
  const user = await addAppUser(service);
  await trustedBrowser(service, user);
  const client = service.client();
  await signInByApp(service, client, user);
  const { body, status } = await client.get(PATH);
  assert.equal(status, 200);
  const [current, trusted] = body.data;
  assert.deepEqual(Object.keys(current).toSorted(), [
    'created_at',
    'current',
    'id',
    'last_used_at',
    'network',
    'trusted_until',
    'user_agent',
  ]);
  assert.deepEqual([current.current, trusted.current], [true, false]);
  assert.equal(current.network, '127.0.0.0/24');
  assert.equal(current.trusted_until, null);
  const days = (Date.parse(trusted.trusted_until) - Date.now()) / 86_400_000;
  assert.ok(days > 29.9 && days <= 30, `${days} days`);
});

test('the list shows no trust that has ended with the sessions', async () => {
  const user = await addAppUser(service);
  const client = await trustedBrowser(service, user);
  await client.post('/api/v1/auth/logout/all');
  await signInByApp(service, client, user);
  const { body } = await client.get(PATH);
  assert.deepEqual(
    body.data.map((one: { trusted_until: unknown }) => one.trusted_until),
    [null],
  );
});

test('a device is forgotten once, by its owner only; its session stays', async () => {
  const [user, other] = [await addAppUser(service), await addAppUser(service)];
  const client = service.client();
  await signInByApp(service, client, user);
  const [{ id }] = (await client.get(PATH)).body.data;
  const foreign = await other.client.delete(`${PATH}/${id}`);
  assert.deepEqual([foreign.status, foreign.body.code], [404, 'device_not_found']);
  assert.equal((await client.delete(`${PATH}/${id}`)).status, 200);
  assert.equal((await client.get('/api/v1/users/me')).status, 200);
  const again = await client.delete(`${PATH}/${id}`);
  assert.deepEqual([again.status, again.body.code], [404, 'device_not_found']);
  assert.equal((await client.delete(`${PATH}/${randomUUID()}`)).status, 404);
  assert.equal((await client.delete(`${PATH}/7`)).status, 400);
  const entries = await eventsOf(service, 'device_forgotten', user);
  assert.deepEqual(
    entries.map(({ details }) => details.device_id),
    [id],
  );
});

test('all devices are forgotten together; without one, nothing is recorded', async () => {
  const user = await addAppUser(service);
  for (let count = 0; count < 2; count += 1) await signInByApp(service, service.client(), user);
  for (let count = 0; count < 2; count += 1) assert.equal((await user.client.delete(PATH)).status, 200);
  assert.deepEqual((await user.client.get(PATH)).body.data, []);
  const entries = await eventsOf(service, 'device_forgotten', user);
  assert.deepEqual(
    entries.map(({ details }) => details.devices),
    [2],
  );
});

test('devices are for people who are signed in', async () => {
  for (const method of ['GET', 'DELETE'])
    assert.equal((await service.client().request(method, PATH)).status, 401);
});

test('the three lists of sessions name the methods of a session that took more than a password', async () => {
  const admin = await signIn(service, ADMIN);
  const user = await addAppUser(service);
  const client = await trustedBrowser(service, user);
  const answer = await client.post(
    '/api/v1/auth/login',
    { email: user.email, password: user.password },
    { headers: { authorization: null } },
  );
  keepTokens(client, answer);
  for (const list of [
    await client.get('/api/v1/auth/sessions'),
    await admin.get(`/api/v1/users/${user.id}/sessions`),
    await admin.get(`/api/v1/sessions?user_id=${user.id}`),
  ]) {
    const methods = list.body.data.map((one: { methods?: string[] }) => one.methods);
    assert.deepEqual(methods.slice(0, 2), [
      ['password', 'device'],
      ['password', 'totp'],
    ]);
  }
  const plain = await signIn(service, await addUser(service));
  const [session] = (await plain.get('/api/v1/auth/sessions')).body.data;
  assert.equal('methods' in session, false);
});

test('devices cannot be trusted longer than they are known', () => {
  const load = (days: Record<string, string>) =>
    loadSettings({ DATABASE_URL: 'postgres://localhost/castellan', ...days });
  assert.throws(() => load({ KNOWN_DEVICE_DAYS: '20' }), {
    message: /TRUSTED_DEVICE_DAYS is 30, and a device is known for 20 days only; raise KNOWN_DEVICE_DAYS/,
  });
  assert.equal(load({ KNOWN_DEVICE_DAYS: '20', TRUSTED_DEVICE_DAYS: '20' }).trustedDeviceDays, 20);
});
