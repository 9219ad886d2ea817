// A step-up makes new tokens of the session that carry the proof. Tokens that others hold stay as they were.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn, startTestService } from '@castellan/testing/harness';
import {
  addAppUser,
  codeOf,
  forgetStep,
  keepTokens,
  wrongCodeOf,
} from '@castellan/testing/second-factors/app';
import { addUser, isAccepted, isRefreshable, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { WRONG } from '@castellan/testing/sessions/attempts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { removeEndedRows } from '../../src/modules/sessions/ended-rows.ts';

const STEP_UP = '/api/v1/auth/step-up';
const service = await startTestService({ after });

test('the ways depend on the account: a password only without a factor', async () => {
  const plain = await signIn(service, await addUser(service));
  assert.deepEqual((await plain.post(`${STEP_UP}/options`, {})).body.data.methods, ['password']);
  const none = await plain.post(`${STEP_UP}/options`, { acr: 'aal2' });
  assert.deepEqual(
    [none.status, none.body.code, none.body.required_acr],
    [403, 'second_factor_enrolment_required', 'aal2'],
  );
  const { client } = await addAppUser(service);
  for (const acr of ['aal1', 'aal2'])
    assert.deepEqual((await client.post(`${STEP_UP}/options`, { acr })).body.data.methods, [
      'totp',
      'recovery_code',
    ]);
  assert.equal((await client.post(`${STEP_UP}/options`, { acr: 'phr' })).status, 403);
  assert.equal((await client.post(`${STEP_UP}/options`, { acr: 'aal3' })).status, 422);
});

test('a password makes the proof young, in new tokens of the same session only', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const [access, refresh] = [client.accessToken ?? '', client.refreshToken ?? ''];
  const answer = await client.post(STEP_UP, { password: user.password });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body.data), [
    'access_token',
    'token_type',
    'refresh_token',
    'acr',
    'auth_time',
  ]);
  const { claims } = readToken(answer.body.data.access_token);
  assert.deepEqual([claims.acr, claims.amr, claims.sid], ['aal1', ['pwd'], readToken(access).claims.sid]);
  assert.equal(client.cookies.get('refresh_token'), answer.body.data.refresh_token);
  assert.equal(await isAccepted(service, access), true);
  assert.equal(await isRefreshable(service, refresh), true);
  assert.equal(readToken(access).claims.acr, undefined);
  assert.equal((await liveSessionIds(service, user.id)).length, 1);
  assert.equal((await eventsOf(service, 'step_up_succeeded', user))[0]?.details.method, 'password');
});

test('a wrong password counts as at a sign-in, and locks', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  for (let count = 0; count < 5; count += 1) {
    const answer = await client.post(STEP_UP, { password: WRONG });
    assert.deepEqual([answer.status, answer.body.code], [400, 'wrong_current_password']);
  }
  const locked = await client.post(STEP_UP, { password: user.password });
  assert.deepEqual([locked.status, locked.body.code], [422, 'account_locked']);
  assert.ok((await eventsOf(service, 'step_up_failed', user)).length >= 5);
});

test('an account with a factor does not step up by its password, and nothing is counted', async () => {
  const user = await addAppUser(service);
  for (const password of [user.password, WRONG]) {
    const answer = await user.client.post(STEP_UP, { password });
    assert.deepEqual([answer.status, answer.body.code], [422, 'validation_failed']);
    assert.equal(answer.body.errors[0].field, 'password');
  }
  const [counted] = await service.sql<{ failures: number }>(
    'select failures from login_attempts where email = $1',
    [user.email],
  );
  assert.equal(counted?.failures ?? 0, 0);
});

test('a refresh copies the context of its token and never raises it', async () => {
  const user = await addAppUser(service);
  const old = user.client.refreshToken ?? '';
  await service.sql(
    "update session_tokens set auth_time = auth_time - interval '1 hour' where user_id = $1",
    [user.id],
  );
  const answer = await user.client.post(STEP_UP, { totp: codeOf(user.secret) });
  assert.equal(answer.status, 200, answer.text);
  const exchange = async (refresh_token: string) => {
    const { body } = await service.client().post('/api/v1/auth/refresh', { refresh_token });
    const [access, refresh] = [body.data.access_token, body.data.refresh_token].map(
      (one) => readToken(one).claims,
    );
    assert.equal(access?.auth_time, refresh?.auth_time);
    return access?.auth_time ?? 0;
  };
  const [young, aged] = [await exchange(answer.body.data.refresh_token), await exchange(old)];
  assert.ok(young - aged >= 3_595, `${young - aged}`);
  const again = await service.client().post('/api/v1/auth/refresh', { refresh_token: old });
  assert.equal(again.status, 200, 'the same answer within the reuse interval');
});

test('a wrong code and a used one are refused as at a sign-in', async () => {
  const user = await addAppUser(service);
  const wrong = await user.client.post(STEP_UP, { totp: wrongCodeOf(user.secret) });
  assert.deepEqual([wrong.status, wrong.body.code], [422, 'second_factor_invalid']);
  const totp = codeOf(user.secret);
  keepTokens(user.client, await user.client.post(STEP_UP, { totp }));
  assert.equal((await user.client.post(STEP_UP, { totp })).body.code, 'code_already_used');
  for (const body of [{}, { totp, password: user.password }, { recovery_code: 'x', totp }])
    assert.equal((await user.client.post(STEP_UP, body)).body.code, 'validation_failed');
});

test('a session has at most four live refresh tokens: the oldest ends', async () => {
  const user = await addAppUser(service);
  const tokens = [user.client.refreshToken ?? ''];
  for (let count = 0; count < 4; count += 1) {
    await forgetStep(service, user);
    const answer = await user.client.post(STEP_UP, { totp: codeOf(user.secret) });
    tokens.push(answer.body.data.refresh_token);
  }
  const live = [];
  for (const token of tokens) live.push(await isRefreshable(service, token));
  assert.deepEqual(live, [false, true, true, true, true]);
  // Its row stays until the signed expiry: without one the token would count as exchanged, and end the session.
  await removeEndedRows(service.service.deps.db, 1_000);
  const late = await service.client().post('/api/v1/auth/refresh', { refresh_token: tokens[0] });
  assert.equal(late.status, 401);
  assert.equal((await liveSessionIds(service, user.id)).length, 1);
});

test('codes for an account without a factor are refused, and count against no later one', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  for (const body of [{ totp: '123456' }, { recovery_code: '7KQ2-9TBX-4MVW-1D8P' }]) {
    const answer = await client.post(STEP_UP, body);
    assert.deepEqual([answer.status, answer.body.code], [422, 'second_factor_invalid']);
  }
  assert.deepEqual(await service.sql('select from factor_attempts where user_id = $1', [user.id]), []);
});

test('wrong recovery codes do not keep a closed app closed for longer', async () => {
  const user = await addAppUser(service);
  for (let count = 0; count < 5; count += 1)
    await user.client.post(STEP_UP, { totp: wrongCodeOf(user.secret) });
  const until = () =>
    service.sql('select locks, total, locked_until from factor_attempts where user_id = $1', [user.id]);
  const before = await until();
  for (let count = 0; count < 6; count += 1) {
    const answer = await user.client.post(STEP_UP, { recovery_code: '7KQ2-9TBX-4MVW-1D8P' });
    assert.equal(answer.body.code, 'second_factor_invalid');
  }
  assert.deepEqual(await until(), before);
  const { body } = await user.client.post(`${STEP_UP}/options`, {});
  assert.deepEqual(body.data.methods, ['recovery_code']);
  await service.sql('update recovery_codes set used_at = now() where user_id = $1', [user.id]);
  const none = await user.client.post(`${STEP_UP}/options`, {});
  assert.deepEqual([none.status, none.body.code], [422, 'second_factor_locked']);
});

test('a change of the password keeps the context of the call, and ends the sign-ins that wait', async () => {
  const user = await addAppUser(service);
  const browser = service.client();
  const { body } = await browser.post('/api/v1/auth/login', { email: user.email, password: user.password });
  const changed = await user.client.post('/api/v1/auth/change_password', {
    current_password: user.password,
    new_password: 'ReplacementPassword!42',
  });
  assert.equal(changed.status, 200, changed.text);
  const before = readToken(user.client.accessToken ?? '').claims;
  const { claims } = readToken(changed.body.data.access_token);
  assert.deepEqual([claims.acr, claims.auth_time], ['aal2', before.auth_time]);
  const late = await browser.post('/api/v1/auth/login/second-factor', {
    token: body.second_factor.token,
    totp: codeOf(user.secret),
  });
  assert.equal(late.body.code, 'sign_in_expired');
});

test('introspection names the context where the token has one', async () => {
  const { client: admin } = {
    client: await signIn(service, { email: 'admin@example.com', password: 'Vexing#Quartz82Lime' }),
  };
  const user = await addAppUser(service);
  const { body } = await admin.post('/api/v1/oauth/introspect', undefined, {
    raw: new URLSearchParams({ token: user.client.accessToken ?? '' }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.deepEqual([body.active, body.acr, body.amr], [true, 'aal2', ['pwd', 'otp', 'mfa']]);
  assert.equal(typeof body.auth_time, 'number');
});
