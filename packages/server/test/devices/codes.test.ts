// A closed authenticator app: open to the devices that the account knows, with five wrong codes of their own.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { startTestService } from '@castellan/testing/harness';
import {
  type AppUser,
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
  forgetStep,
  wrongCodeOf,
} from '@castellan/testing/second-factors/app';
import { devicesOf, signInByApp } from '@castellan/testing/second-factors/devices';

const service = await startTestService({ after });

async function failCodes(client: TestClient, user: AppUser, times: number): Promise<string[]> {
  const codes = [];
  for (let count = 0; count < times; count += 1) {
    // A sign-in takes five wrong codes; one for each keeps the count of the app apart from it.
    const answer = await completeSignIn(client, await beginSignIn(client, user), {
      totp: wrongCodeOf(user.secret),
    });
    codes.push(answer.body.code);
  }
  return codes;
}

/** Returns an account with a known browser, whose app strangers have closed. */
async function closedApp(): Promise<{ user: AppUser; client: TestClient }> {
  const user = await addAppUser(service);
  const client = service.client();
  await signInByApp(service, client, user);
  client.accessToken = null;
  await failCodes(service.client(), user, 5);
  return { user, client };
}

async function totalOf({ id }: AppUser): Promise<number | undefined> {
  const [row] = await service.sql<{ total: number }>('select total from factor_attempts where user_id = $1', [
    id,
  ]);
  return row?.total;
}

test('a known device is offered the closed app, and its code signs in and opens it', async () => {
  const { user, client } = await closedApp();
  const { email, password } = user;
  const begun = await client.post('/api/v1/auth/login', { email, password });
  assert.deepEqual(begun.body.second_factor.methods, ['totp', 'recovery_code']);
  const token = begun.body.second_factor.token;
  await forgetStep(service, user);
  assert.equal((await completeSignIn(client, token, { totp: codeOf(user.secret) })).status, 200);
  assert.equal(await totalOf(user), undefined);
});

test('a session on a known device steps up by the closed app, one on another device does not', async () => {
  const { user, client } = await closedApp();
  // `user.client` set the app up, on a device that was not known yet.
  const elsewhere = await user.client.post('/api/v1/auth/step-up/options', { acr: 'aal2' });
  assert.deepEqual(elsewhere.body.data?.methods, ['recovery_code'], elsewhere.text);
  const session = await completeSignIn(client, await beginSignIn(client, user), {
    recovery_code: user.recoveryCodes[0],
  });
  client.accessToken = session.body.data.access_token;
  await failCodes(service.client(), user, 5);
  const known = await client.post('/api/v1/auth/step-up/options', { acr: 'aal2' });
  assert.deepEqual(known.body.data.methods, ['totp', 'recovery_code']);
  await forgetStep(service, user);
  const raised = await client.post('/api/v1/auth/step-up', { totp: codeOf(user.secret) });
  assert.equal(raised.status, 200, raised.text);
});

test('to a stranger the app stays closed', async () => {
  const { user } = await closedApp();
  const stranger = service.client();
  const answer = await completeSignIn(stranger, await beginSignIn(stranger, user), {
    totp: codeOf(user.secret),
  });
  assert.equal(answer.body.code, 'second_factor_locked');
  assert.equal(await totalOf(user), 5);
});

test('the fifth wrong code of the device closes the app to it for 15 minutes', async () => {
  const { user, client } = await closedApp();
  assert.deepEqual(await failCodes(client, user, 6), [
    ...Array(5).fill('second_factor_invalid'),
    'second_factor_locked',
  ]);
  const [row] = await service.sql<{ seconds: number }>(
    'select extract(epoch from code_locked_until - now())::float8 as seconds from devices where user_id = $1',
    [user.id],
  );
  assert.ok(row && row.seconds > 890 && row.seconds <= 900, `${row?.seconds} s`);
  await service.sql('update devices set code_locked_until = now() where user_id = $1', [user.id]);
  assert.deepEqual(await failCodes(client, user, 1), ['second_factor_invalid']);
  assert.equal((await devicesOf(service, user))[0]?.code_failures, 1);
});

test('its wrong codes count towards the suspension of the app, and lengthen no lock', async () => {
  const { user, client } = await closedApp();
  await failCodes(client, user, 2);
  const [row] = await service.sql('select failures, locks, total from factor_attempts where user_id = $1', [
    user.id,
  ]);
  assert.deepEqual(row, { failures: 0, locks: 1, total: 7 });
  await service.sql('update factor_attempts set total = 99 where user_id = $1', [user.id]);
  await failCodes(client, user, 1);
  const [app] = await service.sql(
    'select suspended_at is not null as is_suspended from totp_factors where user_id = $1',
    [user.id],
  );
  assert.deepEqual(app, { is_suspended: true });
});

test('wrong codes of a known device count for the account as ever, so five of them close both', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  await signInByApp(service, client, user);
  client.accessToken = null;
  assert.deepEqual(await failCodes(client, user, 6), [
    ...Array(5).fill('second_factor_invalid'),
    'second_factor_locked',
  ]);
  assert.equal(await totalOf(user), 5);
});

test('a recovery code sets the counts of the devices back', async () => {
  const { user, client } = await closedApp();
  await failCodes(client, user, 5);
  const token = await beginSignIn(client, user);
  const answer = await completeSignIn(client, token, { recovery_code: user.recoveryCodes[0] });
  assert.equal(answer.status, 200, answer.text);
  assert.equal((await devicesOf(service, user))[0]?.code_failures, 0);
});

test('a forgotten device is a stranger', async () => {
  const { user, client } = await closedApp();
  const token = await beginSignIn(client, user);
  await user.client.delete('/api/v1/auth/devices');
  const answer = await completeSignIn(client, token, { totp: codeOf(user.secret) });
  assert.equal(answer.body.code, 'second_factor_locked');
});
