// Second factors of the client: one contract for the stand-in and the real service, and the set-up at the real one.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { addAppUser, codeOf, forgetStep, wrongCodeOf } from '@castellan/testing/second-factors/app';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addUser } from '@castellan/testing/sessions/accounts';
import { roleNamed } from '@castellan/testing/users/people';
import {
  type BrowserClient,
  CastellanError,
  createClient,
  createGuard,
  type Guard,
} from '../../src/index.ts';
import { createTestCastellan } from '../../src/testing.ts';
import { cookieFetch } from '../cookie-fetch.ts';

const service = await startTestService({ after });
const { key } = await addServiceAccount(service, { roles: [await roleNamed(service, 'Service')] });

/** Somebody with an authenticator app, and a browser of theirs. */
type Scene = {
  credentials: { email: string; password: string };
  client: BrowserClient;
  /** Returns the access token that the client sends. */
  token(): Promise<string>;
  guard: Guard;
  code(): Promise<string>;
  wrongCode(): string;
  recoveryCode: string;
};

function watched(baseUrl: string, send: typeof fetch): Pick<Scene, 'client' | 'token'> {
  let latest = '';
  const client = createClient({
    baseUrl,
    fetch: (input, init) => {
      latest = new Headers(init?.headers).get('authorization') ?? latest;
      return send(input, init);
    },
  });
  const token = async () => {
    await client.get('/api/v1/users/me');
    return latest.replace('Bearer ', '');
  };
  return { client, token };
}

const places: Record<string, () => Promise<Scene>> = {
  'the stand-in': async () => {
    const castellan = createTestCastellan();
    const ada = castellan.addUser({ email: 'ada@example.com', factors: ['totp'] });
    return {
      credentials: { email: ada.email, password: ada.password },
      ...watched(castellan.baseUrl, castellan.browserFetch()),
      guard: castellan.guard,
      code: async () => ada.code(),
      wrongCode: () => (ada.code() === '000000' ? '111111' : '000000'),
      recoveryCode: ada.recoveryCodes[0] ?? '',
    };
  },
  'the real service': async () => {
    const ada = await addAppUser(service);
    return {
      credentials: { email: ada.email, password: ada.password },
      ...watched(service.url, cookieFetch()),
      guard: createGuard({ baseUrl: service.url, apiKey: key }),
      async code() {
        await forgetStep(service, ada);
        return codeOf(ada.secret);
      },
      wrongCode: () => wrongCodeOf(ada.secret),
      recoveryCode: ada.recoveryCodes[0] ?? '',
    };
  },
};

for (const [name, open] of Object.entries(places)) {
  test(`${name}: the password is not enough, a wrong code is counted, and the right one signs in`, async () => {
    const { credentials, client, code, wrongCode, guard, token } = await open();
    const refused: unknown = await client.auth.signIn(credentials).catch((error) => error);
    assert.ok(refused instanceof CastellanError && refused.secondFactor);
    assert.deepEqual(
      [refused.status, refused.code, refused.secondFactor.methods],
      [422, 'second_factor_required', ['totp', 'recovery_code']],
    );
    const pending = { token: refused.secondFactor.token };
    await assert.rejects(
      client.auth.completeSignIn({ ...pending, totp: wrongCode() }),
      (error) =>
        error instanceof CastellanError &&
        error.code === 'second_factor_invalid' &&
        error.body?.attempts_left === 4,
    );
    const user = await client.auth.completeSignIn({ ...pending, totp: await code() });
    assert.equal(user.email, credentials.email);
    await assert.rejects(client.auth.completeSignIn({ ...pending, totp: await code() }), {
      code: 'sign_in_expired',
    });
    const headers = { authorization: `Bearer ${await token()}` };
    const { acr, amr, authTime = 0 } = await guard.authenticate({ headers });
    assert.deepEqual({ acr, amr }, { acr: 'aal2', amr: ['pwd', 'otp', 'mfa'] });
    assert.ok(Math.abs(authTime - Date.now()) < 120_000);
  });

  test(`${name}: a step-up takes a recovery code once, never the password, and the session goes on`, async () => {
    const { credentials, client, code, recoveryCode, token } = await open();
    const refused = await client.auth.signIn(credentials).catch((error) => error);
    await client.auth.completeSignIn({ token: refused.secondFactor.token, totp: await code() });
    const before = await token();
    await assert.rejects(client.auth.stepUp({ password: credentials.password }), {
      code: 'validation_failed',
    });
    assert.deepEqual((await client.auth.stepUpWays('aal2')).methods, ['totp', 'recovery_code']);
    assert.equal((await client.auth.stepUp({ recovery_code: recoveryCode })).acr, 'aal2');
    assert.notEqual(await token(), before);
    await assert.rejects(client.auth.stepUp({ recovery_code: recoveryCode }), {
      code: 'second_factor_invalid',
    });
    assert.equal(client.auth.state, 'authenticated');
  });
}

test('an app is set up, codes are renewed, and the app is removed, in one session of the client', async () => {
  const account = await addUser(service);
  const { client } = watched(service.url, cookieFetch());
  const { factors } = client.auth;
  await client.auth.signIn({ email: account.email, password: account.password });
  assert.equal((await factors.get()).totp, null);
  const { secret, uri } = await factors.setUpApp();
  assert.match(uri, /^otpauth:\/\/totp\//);
  const confirmed = await factors.confirmApp(codeOf(secret));
  assert.equal(confirmed.recovery_codes?.length, 10);
  assert.ok(!('access_token' in confirmed || 'refresh_token' in confirmed));
  assert.ok((await factors.get()).totp);
  assert.equal((await factors.newRecoveryCodes()).length, 10);
  assert.equal((await factors.removeApp()).factors.totp, null);
  await client.get('/api/v1/users/me');
  assert.equal(client.auth.state, 'authenticated');
});
