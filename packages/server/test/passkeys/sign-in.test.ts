// A passkey signs in alone: no password, no address, one challenge of this browser, once.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import {
  addPasskeyUser,
  newAuthenticator,
  PASSKEY_HOST,
  PASSKEY_URL,
  passkeySignIn,
  signInOptions,
} from '@castellan/testing/passkeys/own';
import { keepTokens } from '@castellan/testing/second-factors/app';
import { liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';

const service = await startTestService({ after }, { PUBLIC_URL: PASSKEY_URL });
const LOGIN = '/api/v1/auth/login/passkey';

test('a passkey signs in as login answers, with phr and without `pwd`', async () => {
  const user = await addPasskeyUser(service);
  const client = service.client();
  const answer = await passkeySignIn(client, user.authenticator);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body.data), ['access_token', 'token_type', 'refresh_token', 'user']);
  assert.equal(answer.body.data.user.email, user.email);
  assert.equal(client.cookies.get('refresh_token'), answer.body.data.refresh_token);
  keepTokens(client, answer);
  const { acr, amr } = readToken(answer.body.data.access_token).claims;
  assert.deepEqual([acr, amr], ['phr', ['pop', 'user', 'mfa']]);
  assert.equal((await client.get('/api/v1/users/me')).status, 200);
  const [signedIn] = (await eventsOf(service, 'login_succeeded', user)).slice(-1);
  assert.deepEqual(signedIn?.details.methods, ['passkey']);
  const [row] = await service.sql<{ proof: string }>(
    'select proof from sessions where user_id = $1 order by created_at desc limit 1',
    [user.id],
  );
  assert.equal(row?.proof, 'passkey');
});

test('the options name no account and store nothing', async () => {
  await addPasskeyUser(service);
  const before = await service.sql('select challenge_hash from used_challenges');
  const answer = await service.client().post(`${LOGIN}/options`, {});
  const { passkey, expires_at: expiresAt } = answer.body.data;
  assert.deepEqual(
    { ...passkey, challenge: passkey.challenge.length },
    { challenge: 72, rpId: PASSKEY_HOST, timeout: 300_000, userVerification: 'required' },
  );
  const minutes = (Date.parse(expiresAt) - Date.now()) / 60_000;
  assert.ok(minutes > 9 && minutes <= 10.1, `${minutes} minutes`);
  assert.deepEqual(await service.sql('select challenge_hash from used_challenges'), before);
});

test('the ways to sign in are told to everybody', async () => {
  const { status, body } = await service.client().get('/api/v1/auth/sign-in-methods');
  assert.equal(status, 200);
  assert.deepEqual(body.data, {
    password: true,
    passkey: { available: true, rp_id: PASSKEY_HOST, reason: null },
    trusted_device_days: body.data.trusted_device_days,
  });
});

test('the lock of an address stops its password only', async () => {
  const user = await addPasskeyUser(service);
  for (let count = 0; count < 5; count += 1)
    await service.client().login({ email: user.email, password: 'WrongPassword!47' });
  assert.equal((await service.client().login(user)).body.code, 'account_locked');
  assert.equal((await passkeySignIn(service.client(), user.authenticator)).status, 200);
});

test('a passkey that nobody has, or that was removed, is unknown', async () => {
  const user = await addPasskeyUser(service);
  await service.sql('delete from passkeys where user_id = $1', [user.id]);
  const answer = await passkeySignIn(service.client(), user.authenticator);
  assert.deepEqual([answer.status, answer.body.code], [422, 'passkey_unknown']);
});

test('a security key does not sign in alone, even if it verifies its user by now', async () => {
  const user = await addPasskeyUser(service, { kind: 'security_key', verifiesUser: false });
  const [row] = await service.sql<{ credential_id: Buffer }>(
    'select credential_id from passkeys where user_id = $1',
    [user.id],
  );
  const userHandle = Buffer.from(user.id.replaceAll('-', ''), 'hex');
  const answer = await passkeySignIn(service.client(), user.authenticator, {
    credentialId: row?.credential_id ?? Buffer.alloc(0),
    userHandle,
    verified: true,
  });
  assert.deepEqual([answer.status, answer.body.code], [422, 'passkey_refused']);
});

test('the user handle must be there and name the account', async () => {
  const user = await addPasskeyUser(service);
  for (const userHandle of [null, Buffer.alloc(16), Buffer.from(user.id)]) {
    const answer = await passkeySignIn(service.client(), user.authenticator, { userHandle });
    assert.deepEqual([answer.status, answer.body.code], [422, 'passkey_refused'], String(userHandle));
  }
  const [failed] = await eventsOf(service, 'second_factor_failed', user);
  assert.deepEqual([failed?.details.method, failed?.details.reason], ['passkey', 'passkey_refused']);
});

test('an account that is not active is refused, one that is not verified is told so', async () => {
  const user = await addPasskeyUser(service);
  await service.sql('update users set is_active = false where id = $1', [user.id]);
  const inactive = await passkeySignIn(service.client(), user.authenticator);
  assert.deepEqual([inactive.status, inactive.body.code], [422, 'passkey_refused']);
  await service.sql('update users set is_active = true, verified = false where id = $1', [user.id]);
  const unverified = await passkeySignIn(service.client(), user.authenticator);
  assert.deepEqual([unverified.status, unverified.body.code], [422, 'email_not_verified']);
  const reasons = (await eventsOf(service, 'login_failed', user)).map(({ details }) => details.reason);
  assert.deepEqual(reasons, ['inactive', 'unverified']);
});

test('a session of somebody who must change their password is restricted', async () => {
  const user = await addPasskeyUser(service);
  await service.sql('update users set must_change_password = true where id = $1', [user.id]);
  const client = service.client();
  const answer = await passkeySignIn(client, user.authenticator);
  assert.equal(answer.status, 200);
  keepTokens(client, answer);
  assert.equal((await client.get('/api/v1/auth/factors')).body.code, 'password_change_required');
});

test('a challenge of another browser, of another purpose, used, forged or old: the sign-in is over', async () => {
  const user = await addPasskeyUser(service);
  const { authenticator } = user;
  const mine = service.client();
  const answerTo = (challenge: string) => {
    const passkey = authenticator.assert({ challenge, userVerification: 'required' });
    return mine.post(LOGIN, { passkey });
  };
  const own = await signInOptions(mine);
  const ofOther = await signInOptions(service.client());
  const ofStepUp = (await user.client.post('/api/v1/auth/step-up/options', {})).body.data.passkey;
  const forged = `${own.challenge.slice(0, -1)}${own.challenge.endsWith('A') ? 'B' : 'A'}`;
  for (const challenge of [ofOther.challenge, ofStepUp.challenge, forged, '', 'x']) {
    const answer = await answerTo(challenge);
    assert.deepEqual([answer.status, answer.body.code], [422, 'sign_in_expired'], challenge);
  }
  assert.equal((await answerTo(own.challenge)).status, 200);
  const again = await answerTo(own.challenge);
  assert.deepEqual([again.status, again.body.code], [422, 'sign_in_expired']);
  assert.deepEqual(await eventsOf(service, 'passkey_counter_regressed', user), []);
});

test('a challenge counts for ten minutes', async (t) => {
  const user = await addPasskeyUser(service);
  const client = service.client();
  const passkey = user.authenticator.assert(await signInOptions(client));
  const { now } = service.service.deps.clock;
  t.mock.method(service.service.deps.clock, 'now', () => now() + 10 * 60_000);
  const answer = await client.post(LOGIN, { passkey });
  assert.deepEqual([answer.status, answer.body.code], [422, 'sign_in_expired']);
});

test('the order is challenge, credential, verification', async () => {
  const user = await addPasskeyUser(service);
  const stranger = newAuthenticator();
  stranger.register({
    challenge: 'x',
    user: { id: 'AAAA' },
    authenticatorSelection: { residentKey: 'required' },
  });
  const client = service.client();
  const expired = await client.post(LOGIN, { passkey: stranger.assert({ challenge: 'x' }) });
  assert.equal(expired.body.code, 'sign_in_expired');
  const unknown = await passkeySignIn(client, stranger, { wrongSignature: true });
  assert.equal(unknown.body.code, 'passkey_unknown');
  const refused = await passkeySignIn(client, user.authenticator, { wrongSignature: true });
  assert.equal(refused.body.code, 'passkey_refused');
});

test('a refused passkey starts no session and sets no cookie but that of CSRF', async () => {
  const user = await addPasskeyUser(service);
  const before = await liveSessionIds(service, user.id);
  const client = service.client();
  assert.equal((await passkeySignIn(client, user.authenticator, { verified: false })).status, 422);
  assert.deepEqual([...client.cookies.keys()], ['csrf_token']);
  assert.deepEqual(await liveSessionIds(service, user.id), before);
});

test('without a CSRF token nothing else is looked at', async () => {
  const answer = await service.client().post(LOGIN, {}, { headers: { 'x-csrf-token': null } });
  assert.deepEqual([answer.status, answer.body.code], [403, 'csrf_invalid']);
});

test('the order is CSRF token, limit, whether there are passkeys; each operation counts for itself', async () => {
  const limited = await startTestService(
    { after },
    {
      PUBLIC_URL: 'https://192.0.2.7',
      RATE_LIMIT_SECOND_FACTOR: '1/minute',
      RATE_LIMIT_PASSKEY_OPTIONS: '2/minute',
    },
  );
  const client = limited.client();
  const codesOf = async (path: string, times: number): Promise<string[]> => {
    const codes = [];
    for (let count = 0; count < times; count += 1) codes.push((await client.post(path, {})).body.code);
    return codes;
  };
  const unavailable = 'passkeys_unavailable';
  assert.deepEqual(await codesOf(`${LOGIN}/options`, 3), [unavailable, unavailable, 'rate_limited']);
  assert.deepEqual(await codesOf(LOGIN, 2), [unavailable, 'rate_limited']);
  assert.deepEqual(await codesOf('/api/v1/auth/login/second-factor', 2), [
    'validation_failed',
    'rate_limited',
  ]);
  const forged = await client.post(LOGIN, {}, { headers: { 'x-csrf-token': 'x' } });
  assert.equal(forged.body.code, 'csrf_invalid');
});
