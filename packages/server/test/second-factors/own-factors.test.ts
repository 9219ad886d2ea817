// A person sets up, replaces and removes their app, and makes recovery codes: only with a fresh proof, and with what ends.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn, startTestService } from '@castellan/testing/harness';
import {
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
  enrol,
  forgetStep,
  keepTokens,
  wrongCodeOf,
} from '@castellan/testing/second-factors/app';
import { addUser, isAccepted, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';

const FACTORS = '/api/v1/auth/factors';
const service = await startTestService({ after });

/** Makes every token of the user older than a fresh proof may be. */
const age = (id: string): Promise<unknown> =>
  Promise.all([
    service.sql(
      "update session_tokens set auth_time = auth_time - interval '11 minutes' where user_id = $1",
      [id],
    ),
    service.sql("update sessions set created_at = created_at - interval '11 minutes' where user_id = $1", [
      id,
    ]),
  ]);

test('without a factor, the list says what can be set up and what the token is worth', async () => {
  const client = await signIn(service, await addUser(service));
  const { status, body } = await client.get(FACTORS);
  assert.equal(status, 200);
  assert.deepEqual(
    { ...body.data, context: body.data.context.acr },
    {
      totp: null,
      passkeys: [],
      recovery_codes: null,
      available: { totp: true, passkey: false, security_key: false },
      requirement: null,
      context: 'aal1',
    },
  );
});

test('the secret is shown once, as base32 and as a URI that apps read', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const { status, body } = await client.post(`${FACTORS}/totp`);
  assert.equal(status, 201);
  const { secret, uri, algorithm, digits, period } = body.data;
  assert.match(secret, /^[A-Z2-7]{32}$/);
  const url = new URL(uri);
  assert.equal(url.protocol, 'otpauth:');
  assert.equal(url.searchParams.get('secret'), secret);
  assert.equal(url.searchParams.get('issuer'), 'Castellan');
  assert.equal(decodeURIComponent(url.pathname), `/Castellan:${user.email}`);
  assert.deepEqual([algorithm, digits, period], ['SHA1', 6, 30]);
  const [row] = await service.sql<{ sealed: string }>(
    "select encode(secret_sealed, 'escape') as sealed from totp_enrolments where user_id = $1",
    [user.id],
  );
  assert.ok(!row?.sealed.includes(secret));
});

test('the first factor makes ten recovery codes, ends other sessions and starts this one anew with aal2', async () => {
  const user = await addUser(service);
  const [mine, other] = [await signIn(service, user), await signIn(service, user)];
  const before = mine.accessToken ?? '';
  const begun = await mine.post(`${FACTORS}/totp`);
  const answer = await mine.post(`${FACTORS}/totp/confirm`, { totp: codeOf(begun.body.data.secret) });
  assert.equal(answer.status, 200, answer.text);
  const { recovery_codes: codes, factors, access_token: token } = answer.body.data;
  assert.equal(new Set(codes).size, 10);
  for (const code of codes) assert.match(code, /^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/);
  assert.deepEqual(
    [factors.totp.suspended, factors.recovery_codes.left, factors.context.acr],
    [false, 10, 'aal2'],
  );
  assert.deepEqual(readToken(token).claims.amr, ['pwd', 'otp', 'mfa']);
  assert.equal(mine.cookies.get('refresh_token'), answer.body.data.refresh_token);
  assert.equal(await isAccepted(service, token), true);
  assert.equal(await isAccepted(service, before), false);
  assert.equal(await isAccepted(service, other.accessToken ?? ''), false);
  assert.equal((await liveSessionIds(service, user.id)).length, 1);
  assert.equal((await eventsOf(service, 'totp_enrolled', user)).length, 1);
});

test('the code that confirmed the app does not sign in', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const { secret } = await enrol(client);
  const browser = service.client();
  const answer = await completeSignIn(browser, await beginSignIn(browser, user), { totp: codeOf(secret) });
  assert.equal(answer.body.code, 'code_already_used');
});

test('a set-up takes five wrong codes, belongs to its session, and a new one ends it', async () => {
  const user = await addUser(service);
  const [mine, other] = [await signIn(service, user), await signIn(service, user)];
  const { secret } = (await mine.post(`${FACTORS}/totp`)).body.data;
  const totp = codeOf(secret);
  assert.equal((await other.post(`${FACTORS}/totp/confirm`, { totp })).body.code, 'enrolment_expired');
  for (let count = 0; count < 5; count += 1) {
    const wrong = await mine.post(`${FACTORS}/totp/confirm`, { totp: wrongCodeOf(secret) });
    assert.deepEqual([wrong.status, wrong.body.code], [422, 'second_factor_invalid']);
  }
  const over = await mine.post(`${FACTORS}/totp/confirm`, { totp });
  assert.deepEqual([over.status, over.body.code], [409, 'enrolment_expired']);
  await mine.post(`${FACTORS}/totp`);
  assert.equal((await mine.post(`${FACTORS}/totp/confirm`, { totp })).body.code, 'second_factor_invalid');
  await service.sql(
    "update totp_enrolments set expires_at = now() - interval '1 second' where user_id = $1",
    [user.id],
  );
  assert.equal((await mine.post(`${FACTORS}/totp/confirm`, { totp })).body.code, 'enrolment_expired');
});

test('an app that works goes on until the new one is confirmed; replacing it ends nothing', async () => {
  const user = await addAppUser(service);
  const other = service.client();
  keepTokens(
    other,
    await completeSignIn(other, await beginSignIn(other, user), { totp: codeOf(user.secret) }),
  );
  const { secret } = (await user.client.post(`${FACTORS}/totp`)).body.data;
  await forgetStep(service, user);
  const third = service.client();
  assert.equal(
    (await completeSignIn(third, await beginSignIn(third, user), { totp: codeOf(user.secret) })).status,
    200,
  );
  const answer = await user.client.post(`${FACTORS}/totp/confirm`, { totp: codeOf(secret) });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.recovery_codes, undefined);
  assert.equal(await isAccepted(service, other.accessToken ?? ''), true);
  await forgetStep(service, user);
  const old = await completeSignIn(third, await beginSignIn(third, user), { totp: codeOf(user.secret) });
  assert.equal(old.body.code, 'second_factor_invalid');
});

test('removing the last factor removes the codes, ends other sessions, and the password alone signs in again', async () => {
  const user = await addAppUser(service);
  const other = service.client();
  keepTokens(
    other,
    await completeSignIn(other, await beginSignIn(other, user), { totp: codeOf(user.secret) }),
  );
  const answer = await user.client.delete(`${FACTORS}/totp`);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual([answer.body.data.factors.totp, answer.body.data.factors.recovery_codes], [null, null]);
  assert.equal(await isAccepted(service, other.accessToken ?? ''), false);
  assert.equal(await isAccepted(service, answer.body.data.access_token), true);
  assert.equal((await service.client().login(user)).status, 200);
  keepTokens(user.client, answer);
  const again = await user.client.delete(`${FACTORS}/totp`);
  assert.deepEqual([again.status, again.body.code], [404, 'factor_not_found']);
});

test('new recovery codes end the former ones; without a factor there are none', async () => {
  const user = await addAppUser(service);
  const answer = await user.client.post(`${FACTORS}/recovery-codes`);
  assert.equal(answer.status, 201, answer.text);
  const browser = service.client();
  const old = await completeSignIn(browser, await beginSignIn(browser, user), {
    recovery_code: user.recoveryCodes[0],
  });
  assert.equal(old.body.code, 'second_factor_invalid');
  const fresh = await completeSignIn(browser, await beginSignIn(browser, user), {
    recovery_code: answer.body.data.recovery_codes[0],
  });
  assert.equal(fresh.status, 200, fresh.text);
  const plain = await signIn(service, await addUser(service));
  const refused = await plain.post(`${FACTORS}/recovery-codes`);
  assert.deepEqual([refused.status, refused.body.code], [409, 'no_factor']);
});

test('changes need a fresh proof: of the password, or of the factor where there is one', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  await age(user.id);
  const stale = await client.post(`${FACTORS}/totp`);
  assert.deepEqual([stale.status, stale.body.code], [403, 'step_up_required']);
  assert.deepEqual(stale.body.step_up, { required_acr: 'aal1', max_age: 600 });
  assert.equal(
    stale.headers.get('www-authenticate'),
    'Bearer error="insufficient_user_authentication", error_description="A stronger or more recent proof of the user is required", acr_values="aal1 aal2 phr", max_age="600"',
  );
  assert.equal((await eventsOf(service, 'step_up_required', user)).length, 1);
  const holder = await addAppUser(service);
  await age(holder.id);
  for (const [method, path] of [
    ['post', '/totp'],
    ['delete', '/totp'],
    ['post', '/recovery-codes'],
  ] as const) {
    const answer = await holder.client[method](`${FACTORS}${path}`);
    assert.deepEqual(
      [answer.status, answer.body.step_up],
      [403, { required_acr: 'aal2', max_age: 600 }],
      path,
    );
  }
  assert.equal((await holder.client.get(FACTORS)).status, 200);
});

test('the operations of factors count together, 30 a minute and session', async () => {
  const client = await signIn(service, await addUser(service));
  const statuses = [];
  for (let count = 0; count < 31; count += 1)
    statuses.push((await client.post('/api/v1/auth/step-up/options', {})).status);
  assert.deepEqual([statuses.indexOf(429), statuses.at(-1)], [30, 429]);
});
