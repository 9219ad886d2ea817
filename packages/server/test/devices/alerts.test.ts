// Sign-in alerts: who gets a mail about a sign-in from a new device, and when there is none.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { mailsTo, waitForEmptyOutbox } from '@castellan/testing/accounts/self-service';
import { signIn, startTestService } from '@castellan/testing/harness';
import { addAppUser } from '@castellan/testing/second-factors/app';
import { devicesOf, signInByApp } from '@castellan/testing/second-factors/devices';
import { type Account, addUser } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';

const service = await startTestService({ after });
const everyone = await service.another({ SIGN_IN_ALERTS: 'everyone' });
const off = await service.another({ SIGN_IN_ALERTS: 'off' });

async function alertsTo({ email }: Account): Promise<string[]> {
  await waitForEmptyOutbox(service);
  return mailsTo(service, email, 'new_sign_in').map(({ text }) => text);
}

test('a sign-in from a new device is mailed once the account knows one', async () => {
  const user = await addAppUser(service);
  const first = service.client();
  await signInByApp(service, first, user);
  assert.deepEqual(await alertsTo(user), []);
  await signInByApp(service, first, user);
  assert.deepEqual(await alertsTo(user), []);
  await signInByApp(service, service.client(), user);
  const [text = ''] = await alertsTo(user);
  assert.match(text, /127\.0\.0\.0\/24/);
  const [entry] = await eventsOf(service, 'new_device_sign_in', user);
  assert.equal(entry?.details.network, '127.0.0.0/24');
  const [newest] = await devicesOf(service, user);
  assert.equal(entry?.details.device_id, newest?.id);
});

test('two new devices within ten minutes are one mail and two entries', async () => {
  const user = await addAppUser(service);
  for (let count = 0; count < 3; count += 1) await signInByApp(service, service.client(), user);
  assert.equal((await alertsTo(user)).length, 1);
  assert.equal((await eventsOf(service, 'new_device_sign_in', user)).length, 2);
});

test('an account without a factor is alerted only with SIGN_IN_ALERTS=everyone', async () => {
  const user = await addUser(service);
  for (let count = 0; count < 2; count += 1) await signIn(service, user);
  assert.deepEqual(await alertsTo(user), []);
  for (let count = 0; count < 2; count += 1) await signIn(everyone, user);
  assert.equal((await alertsTo(user)).length, 1);
});

test('with SIGN_IN_ALERTS=off nobody is', async () => {
  const user = await addAppUser(service);
  for (let count = 0; count < 2; count += 1) await signInByApp(off, off.client(), user);
  assert.deepEqual(await alertsTo(user), []);
});

test('devices that only the exemption from locks asks for alert nobody', async () => {
  const exempting = await service.another({ LOCK_EXEMPTS_KNOWN_DEVICES: 'true' });
  const user = await addUser(service);
  for (let count = 0; count < 2; count += 1) await signIn(exempting, user);
  await waitForEmptyOutbox(service);
  assert.deepEqual(mailsTo(exempting, user.email, 'new_sign_in'), []);
  assert.equal((await eventsOf(service, 'new_device_sign_in', user)).length, 1);
});

test('after all devices were forgotten, the next sign-in is the first again', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  await signInByApp(service, client, user);
  await client.delete('/api/v1/auth/devices');
  await signInByApp(service, client, user);
  assert.deepEqual(await alertsTo(user), []);
});
