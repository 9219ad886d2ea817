// The device cookie: who gets it, how it is set, and that nobody gains by planting one.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { signIn, startTestService } from '@castellan/testing/harness';
import { type AppUser, addAppUser } from '@castellan/testing/second-factors/app';
import {
  browserWith,
  devicesOf,
  deviceTokens,
  passwordAlone,
  signInByApp,
} from '@castellan/testing/second-factors/devices';
import { addUser } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { cleanUp } from '../../src/cleanup.ts';

const service = await startTestService({ after });
const everyone = await service.another({ SIGN_IN_ALERTS: 'everyone' });
const exempting = await service.another({ LOCK_EXEMPTS_KNOWN_DEVICES: 'true' });

/** Returns a browser that the account knows. */
async function knownBrowser(user: AppUser) {
  const client = service.client();
  await signInByApp(service, client, user);
  return client;
}

test('a sign-in with a factor sets the cookie after the refresh cookie, with its attributes', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  const answer = await signInByApp(service, client, user);
  const [refresh, device = ''] = answer.headers.getSetCookie();
  assert.match(refresh ?? '', /^refresh_token=/);
  const [pair, ...attributes] = device.split('; ');
  assert.match(pair ?? '', /^device=[\w-]{43}$/);
  assert.deepEqual(attributes.toSorted(), [
    'HttpOnly',
    `Max-Age=${180 * 24 * 60 * 60}`,
    'Path=/api/v1/auth',
    'SameSite=Lax',
    'Secure',
  ]);
  const [row] = await service.sql<{ token_hash: Buffer }>(
    'select token_hash from devices where user_id = $1',
    [user.id],
  );
  const [token = ''] = deviceTokens(client);
  assert.deepEqual(row?.token_hash, createHash('sha256').update(token).digest());
});

test('without COOKIE_SECURE the cookie is not Secure, and KNOWN_DEVICE_DAYS is its age', async () => {
  const plain = await service.another({ COOKIE_SECURE: 'false', KNOWN_DEVICE_DAYS: '30' });
  const user = await addAppUser(service);
  const answer = await signInByApp(plain, plain.client(), user);
  const [, device = ''] = answer.headers.getSetCookie();
  assert.doesNotMatch(device, /; Secure/);
  assert.match(device, new RegExp(`; Max-Age=${30 * 24 * 60 * 60};`));
});

test('with KNOWN_DEVICE_DAYS=0 no device is known, and none is told of as new', async () => {
  const off = await service.another({
    KNOWN_DEVICE_DAYS: '0',
    TRUSTED_DEVICE_DAYS: '0',
    LOCK_EXEMPTS_KNOWN_DEVICES: 'true',
    SIGN_IN_ALERTS: 'everyone',
  });
  const user = await addAppUser(service);
  const client = off.client();
  await signInByApp(off, client, user);
  assert.deepEqual([...client.cookies.keys()], ['csrf_token', 'refresh_token']);
  assert.deepEqual(await devicesOf(service, user), []);
  assert.deepEqual(await eventsOf(service, 'new_device_sign_in', user), []);
});

test('an account without a factor gets the cookie only where a setting asks for it', async () => {
  const user = await addUser(service);
  for (const [instance, names] of [
    [service, ['csrf_token', 'refresh_token']],
    [everyone, ['csrf_token', 'refresh_token', 'device']],
    [exempting, ['csrf_token', 'refresh_token', 'device']],
  ] as const) {
    const client = await signIn(instance, user);
    assert.deepEqual([...client.cookies.keys()], names);
  }
});

test('a right password alone leaves no device', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  assert.equal(await passwordAlone(client, user), 'second_factor_required');
  assert.deepEqual(deviceTokens(client), []);
  assert.deepEqual(await devicesOf(service, user), []);
});

test('the next sign-in from the browser uses the same token and the same device', async () => {
  const user = await addAppUser(service);
  const client = await knownBrowser(user);
  const tokens = deviceTokens(client);
  await signInByApp(service, client, user);
  assert.deepEqual(deviceTokens(client), tokens);
  assert.equal((await devicesOf(service, user)).length, 1);
});

test('another account of the browser gets a separate token, before the others', async () => {
  const [first, second] = [await addAppUser(service), await addAppUser(service)];
  const client = await knownBrowser(first);
  const [ofFirst] = deviceTokens(client);
  await signInByApp(service, client, second);
  const [ofSecond] = deviceTokens(client);
  assert.deepEqual(deviceTokens(client), [ofSecond, ofFirst]);
  assert.notEqual(ofFirst, ofSecond);
  await signInByApp(service, client, first);
  assert.deepEqual(deviceTokens(client), [ofFirst, ofSecond]);
});

test('a cookie holds five tokens; the oldest goes', async () => {
  const user = await addAppUser(service);
  const others = ['a', 'b', 'c', 'd', 'e'].map((letter) => letter.repeat(43));
  const client = browserWith(service, others);
  await signInByApp(service, client, user);
  assert.deepEqual(deviceTokens(client).slice(1), others.slice(0, 4));
});

test('a planted cookie is worth nothing: a token of the attacker is not used for the owner', async () => {
  const [attacker, owner] = [await addAppUser(service), await addAppUser(service)];
  const planted = deviceTokens(await knownBrowser(attacker));
  const client = browserWith(service, planted);
  await signInByApp(service, client, owner, { trust_device: true });
  const [row] = await devicesOf(service, owner);
  assert.equal(row?.trusted, true);
  assert.equal(await passwordAlone(browserWith(service, planted), owner), 'second_factor_required');
});

test('text that is no token is ignored', async () => {
  const user = await addAppUser(service);
  for (const value of ['', '.', '....', 'x'.repeat(44), "' or true --", 'x'.repeat(6_000)]) {
    const client = browserWith(service, [value]);
    await signInByApp(service, client, user);
    assert.match(client.cookies.get('device') ?? '', /^[\w-]{43}$/);
  }
});

test('an account has at most 20 devices: the one that was not used for the longest time goes', async () => {
  const user = await addAppUser(service);
  await service.sql(
    `insert into devices (id, user_id, token_hash, last_used_at)
     select gen_random_uuid(), $1, sha256(n::text::bytea), now() - make_interval(days => n) from generate_series(1, 20) n`,
    [user.id],
  );
  await knownBrowser(user);
  const [row] = await service.sql<{ count: number; oldest: number }>(
    `select count(*)::int as count, extract(day from now() - min(last_used_at))::int as oldest
     from devices where user_id = $1`,
    [user.id],
  );
  assert.deepEqual(row, { count: 20, oldest: 19 });
});

test('a device that was not used for KNOWN_DEVICE_DAYS is unknown, and the clean-up removes it', async () => {
  const user = await addAppUser(service);
  const client = await knownBrowser(user);
  const before = deviceTokens(client);
  await service.sql("update devices set last_used_at = now() - interval '181 days' where user_id = $1", [
    user.id,
  ]);
  const listed = await client.get('/api/v1/auth/devices');
  assert.deepEqual(listed.body.data, []);
  await signInByApp(service, client, user);
  assert.notEqual(deviceTokens(client)[0], before[0]);
  assert.equal((await devicesOf(service, user)).length, 2);
  await cleanUp(service.service.deps);
  assert.equal((await devicesOf(service, user)).length, 1);
});

test('signing out keeps the device known', async () => {
  const user = await addAppUser(service);
  const client = await knownBrowser(user);
  const tokens = deviceTokens(client);
  assert.equal((await client.post('/api/v1/auth/logout')).status, 200);
  assert.deepEqual(deviceTokens(client), tokens);
  assert.equal((await devicesOf(service, user)).length, 1);
});
