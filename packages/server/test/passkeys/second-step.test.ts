// After the right password, a passkey or a security key of the account completes the sign-in, or refreshes the proof of a session.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn, startTestService } from '@castellan/testing/harness';
import {
  addPasskeyUser,
  age,
  beginSecondStep,
  newAuthenticator,
  PASSKEY_HOST,
  PASSKEY_URL,
  passkeySignIn,
  passkeyStepUp,
  register,
} from '@castellan/testing/passkeys/own';
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
import { addUser } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';

const service = await startTestService({ after }, { PUBLIC_URL: PASSKEY_URL });
const FACTORS = '/api/v1/auth/factors';

test('the right password answers with options that name the passkeys of the account, and only those', async () => {
  const user = await addPasskeyUser(service);
  await register(user.client, newAuthenticator(), { kind: 'security_key' });
  await addPasskeyUser(service);
  const { methods, passkey } = await beginSecondStep(service.client(), user);
  assert.deepEqual(methods, ['passkey', 'recovery_code']);
  const { challenge, allowCredentials, ...rest } = passkey;
  assert.equal(challenge.length, 72);
  assert.deepEqual(rest, { rpId: PASSKEY_HOST, timeout: 300_000, userVerification: 'preferred' });
  const stored = await service.sql<{ credential_id: Buffer }>(
    'select credential_id from passkeys where user_id = $1 order by created_at',
    [user.id],
  );
  assert.deepEqual(
    allowCredentials,
    stored.map(({ credential_id: id }) => ({
      id: id.toString('base64url'),
      type: 'public-key',
      transports: ['usb'],
    })),
  );
});

test('an account without a passkey gets no options', async () => {
  const user = await addAppUser(service);
  const request = await beginSecondStep(service.client(), user);
  assert.deepEqual([request.methods, request.passkey], [['totp', 'recovery_code'], undefined]);
});

for (const kind of ['passkey', 'security_key'] as const)
  test(`a ${kind} completes the sign-in with phr, also without user verification`, async () => {
    const user = await addPasskeyUser(service, { kind });
    const client = service.client();
    const { token, passkey } = await beginSecondStep(client, user);
    const answer = await completeSignIn(client, token, {
      passkey: user.authenticator.assert(passkey, { verified: false }),
    });
    assert.equal(answer.status, 200, answer.text);
    const { acr, amr } = readToken(answer.body.data.access_token).claims;
    assert.deepEqual([acr, amr], ['phr', ['pwd', 'pop', 'user', 'mfa']]);
    const [signedIn] = (await eventsOf(service, 'login_succeeded', user)).slice(-1);
    assert.deepEqual(signedIn?.details.methods, ['password', 'passkey']);
  });

test('the way that was used last comes first, recovery codes last', async () => {
  const user = await addPasskeyUser(service);
  const { secret } = await enrol(user.client);
  await forgetStep(service, user);
  const client = service.client();
  const first = await beginSecondStep(client, user);
  assert.deepEqual(first.methods, ['passkey', 'totp', 'recovery_code']);
  const byApp = await completeSignIn(client, first.token, { totp: codeOf(secret) });
  assert.equal(byApp.status, 200, byApp.text);
  const second = await beginSecondStep(client, user);
  assert.deepEqual(second.methods, ['totp', 'passkey', 'recovery_code']);
  const byPasskey = await completeSignIn(client, second.token, {
    passkey: user.authenticator.assert(second.passkey),
  });
  assert.equal(byPasskey.status, 200, byPasskey.text);
  assert.deepEqual((await beginSecondStep(client, user)).methods, ['passkey', 'totp', 'recovery_code']);
});

test('a refused passkey is a try, and no wrong code', async () => {
  const user = await addPasskeyUser(service);
  const client = service.client();
  const { token, passkey } = await beginSecondStep(client, user);
  for (let count = 0; count < 10; count += 1) {
    const answer = await completeSignIn(client, token, {
      passkey: user.authenticator.assert(passkey, { wrongSignature: true }),
    });
    assert.deepEqual([answer.status, answer.body.code], [422, 'passkey_refused']);
    assert.equal(answer.body.attempts_left, undefined);
  }
  const over = await completeSignIn(client, token, { passkey: user.authenticator.assert(passkey) });
  assert.equal(over.body.code, 'sign_in_expired');
  assert.deepEqual(await service.sql('select from factor_attempts where user_id = $1', [user.id]), []);
  const [failed] = await eventsOf(service, 'second_factor_failed', user);
  assert.deepEqual([failed?.details.method, failed?.details.reason], ['passkey', 'passkey_refused']);
});

test('a passkey of somebody else, or of nobody, is unknown; the sign-in stays open', async () => {
  const [user, other] = [await addPasskeyUser(service), await addPasskeyUser(service)];
  const client = service.client();
  const { token, passkey } = await beginSecondStep(client, user);
  const { challenge } = passkey;
  const foreign = await completeSignIn(client, token, { passkey: other.authenticator.assert({ challenge }) });
  assert.deepEqual([foreign.status, foreign.body.code], [422, 'passkey_unknown']);
  const own = await completeSignIn(client, token, { passkey: user.authenticator.assert(passkey) });
  assert.equal(own.status, 200, own.text);
});

test('a user handle may be missing, but must not name another account', async () => {
  const user = await addPasskeyUser(service);
  const client = service.client();
  const { token, passkey } = await beginSecondStep(client, user);
  const other = await completeSignIn(client, token, {
    passkey: user.authenticator.assert(passkey, { userHandle: Buffer.alloc(16) }),
  });
  assert.equal(other.body.code, 'passkey_refused');
  const none = await completeSignIn(client, token, {
    passkey: user.authenticator.assert(passkey, { userHandle: null }),
  });
  assert.equal(none.status, 200, none.text);
});

test('a challenge of another sign-in of the same account: the sign-in is over', async () => {
  const user = await addPasskeyUser(service);
  const [one, other] = [service.client(), service.client()];
  const { token } = await beginSecondStep(one, user);
  const { passkey } = await beginSecondStep(other, user);
  const alone = (await one.post('/api/v1/auth/login/passkey/options', {})).body.data.passkey;
  for (const options of [passkey, alone]) {
    const answer = await completeSignIn(one, token, { passkey: user.authenticator.assert(options) });
    assert.deepEqual([answer.status, answer.body.code], [422, 'sign_in_expired']);
  }
});

test('a right passkey sets wrong codes back and passes a closed app', async () => {
  const user = await addPasskeyUser(service);
  const { secret } = await enrol(user.client);
  const client = service.client();
  const token = await beginSignIn(client, user);
  for (let count = 0; count < 5; count += 1)
    await completeSignIn(client, token, { totp: wrongCodeOf(secret) });
  const request = await beginSecondStep(client, user);
  assert.deepEqual(request.methods, ['passkey', 'recovery_code']);
  const answer = await completeSignIn(client, request.token, {
    passkey: user.authenticator.assert(request.passkey),
  });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual((await beginSecondStep(client, user)).methods, ['passkey', 'totp', 'recovery_code']);
});

test('two proofs at once are refused, and name both', async () => {
  const user = await addPasskeyUser(service);
  const client = service.client();
  const { token, passkey } = await beginSecondStep(client, user);
  const both = { passkey: user.authenticator.assert(passkey), recovery_code: user.recoveryCodes[0] };
  for (const [path, body] of [
    ['/api/v1/auth/login/second-factor', { token, ...both }],
    ['/api/v1/auth/step-up', both],
  ] as const) {
    const answer = await user.client.post(path, body);
    assert.deepEqual([answer.status, answer.body.code], [422, 'validation_failed'], path);
    assert.deepEqual(answer.body.errors.map(({ field }: { field: string }) => field).sort(), [
      'passkey',
      'recovery_code',
    ]);
  }
});

test('a step-up by a passkey makes new tokens of the session with phr, now', async () => {
  const user = await addPasskeyUser(service);
  const { client } = user;
  const before = client.accessToken ?? '';
  await age(service, user);
  assert.equal((await client.post(`${FACTORS}/recovery-codes`)).body.code, 'step_up_required');
  const { body } = await client.post('/api/v1/auth/step-up/options', { acr: 'phr' });
  assert.deepEqual(body.data.methods, ['passkey']);
  assert.equal(body.data.passkey.userVerification, 'preferred');
  const answer = await passkeyStepUp(client, user.authenticator, { verified: false });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.acr, 'phr');
  const { amr, sid } = readToken(answer.body.data.access_token).claims;
  assert.deepEqual([amr, sid], [['pwd', 'pop', 'user', 'mfa'], readToken(before).claims.sid]);
  keepTokens(client, answer);
  assert.equal((await client.post(`${FACTORS}/recovery-codes`)).status, 201);
  const [stepped] = await eventsOf(service, 'step_up_succeeded', user);
  assert.deepEqual([stepped?.details.method, stepped?.details.acr], ['passkey', 'phr']);
});

test('in a session that began with a passkey, a step-up passkey must verify the user', async () => {
  const user = await addPasskeyUser(service);
  const client = service.client();
  keepTokens(client, await passkeySignIn(client, user.authenticator));
  const { passkey } = (await client.post('/api/v1/auth/step-up/options', {})).body.data;
  assert.equal(passkey.userVerification, 'required');
  const refused = await passkeyStepUp(client, user.authenticator, { verified: false });
  assert.deepEqual([refused.status, refused.body.code], [422, 'passkey_refused']);
  const answer = await passkeyStepUp(client, user.authenticator);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(readToken(answer.body.data.access_token).claims.amr, ['pop', 'user', 'mfa']);
  const [failed] = await eventsOf(service, 'step_up_failed', user);
  assert.deepEqual([failed?.details.method, failed?.details.reason], ['passkey', 'passkey_refused']);
});

test('in a session, a challenge of another session, of another purpose or used is refused as a passkey is', async () => {
  const user = await addPasskeyUser(service);
  const other = service.client();
  keepTokens(other, await passkeySignIn(other, user.authenticator));
  const challenges = [
    (await other.post('/api/v1/auth/step-up/options', {})).body.data.passkey,
    (await user.client.post('/api/v1/auth/login/passkey/options', {})).body.data.passkey,
    (await user.client.post(`${FACTORS}/passkeys/options`, { kind: 'passkey' })).body.data.passkey,
  ];
  const send = (options: { challenge: string }) =>
    user.client.post('/api/v1/auth/step-up', {
      passkey: user.authenticator.assert({ challenge: options.challenge }),
    });
  for (const options of challenges) {
    const answer = await send(options);
    assert.deepEqual([answer.status, answer.body.code], [422, 'passkey_refused']);
  }
  const own = (await user.client.post('/api/v1/auth/step-up/options', {})).body.data.passkey;
  assert.equal((await send(own)).status, 200);
  assert.equal((await send(own)).body.code, 'passkey_refused');
});

test('a passkey of somebody else does not step up; a password does not, once there is a passkey', async () => {
  const [user, other] = [await addPasskeyUser(service), await addPasskeyUser(service)];
  const { challenge } = (await user.client.post('/api/v1/auth/step-up/options', {})).body.data.passkey;
  const foreign = await user.client.post('/api/v1/auth/step-up', {
    passkey: other.authenticator.assert({ challenge }),
  });
  assert.deepEqual([foreign.status, foreign.body.code], [422, 'passkey_unknown']);
  const password = await user.client.post('/api/v1/auth/step-up', { password: user.password });
  assert.deepEqual([password.status, password.body.code], [422, 'validation_failed']);
});

test('the level phr cannot be reached by an app', async () => {
  const user = await addAppUser(service);
  const answer = await user.client.post('/api/v1/auth/step-up/options', { acr: 'phr' });
  assert.deepEqual([answer.status, answer.body.code], [403, 'second_factor_enrolment_required']);
  const plain = await signIn(service, await addUser(service));
  assert.deepEqual((await plain.post('/api/v1/auth/step-up/options', {})).body.data.methods, ['password']);
});
