// What authenticators and browsers must not answer: one text for every reason, whether at registration, sign-in, second step or step-up.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, Body, TestClient } from '@castellan/testing/client';
import { signIn, startTestService } from '@castellan/testing/harness';
import type { AssertionTweaks, RegistrationTweaks } from '@castellan/testing/passkeys/authenticator';
import {
  addPasskeyUser,
  beginSecondStep,
  newAuthenticator,
  PASSKEY_URL,
  type PasskeyUser,
  passkeySignIn,
  passkeyStepUp,
  register,
  signInOptions,
  tryRegister,
} from '@castellan/testing/passkeys/own';
import { completeSignIn } from '@castellan/testing/second-factors/app';
import { addUser } from '@castellan/testing/sessions/accounts';

const service = await startTestService({ after }, { PUBLIC_URL: PASSKEY_URL });
const PASSKEYS = '/api/v1/auth/factors/passkeys';
const TEXT = 'The passkey could not be verified. Try again, or sign in another way.';

const someone = async (): Promise<TestClient> => signIn(service, await addUser(service));

function assertRefused(answer: Answer, what: string): void {
  assert.deepEqual(
    [answer.status, answer.body.code, answer.body.detail],
    [422, 'passkey_refused', TEXT],
    what,
  );
}

/** What both kinds of answers can have wrong. */
const wrongInBoth: [string, AssertionTweaks & RegistrationTweaks][] = [
  ['another origin', { clientData: { origin: 'https://castellan.test.example' } }],
  ['the origin over http', { clientData: { origin: 'http://castellan.test' } }],
  ['another RP ID', { rpId: 'test' }],
  ['nobody was present', { present: false }],
  ['a page in a frame of another site', { clientData: { crossOrigin: true } }],
  ['a page above it', { clientData: { topOrigin: PASSKEY_URL } }],
  ['client data of another kind', { clientData: { type: 'payment.get' } }],
  ['client data that is no JSON', { clientDataText: '{"type":' }],
  ['client data that is no object', { clientDataText: 'null' }],
  ['a challenge that is no text', { clientData: { challenge: 7 } }],
  ['short authenticator data', { authenticatorDataLength: 36 }],
  ['more bytes after the authenticator data', { extraBytes: Buffer.of(0) }],
  ['synced, and not eligible for it', { backupEligible: false, backedUp: true }],
];

const wrongRegistrations: [string, RegistrationTweaks][] = [
  ...wrongInBoth,
  ['a credential id of 15 bytes', { credentialId: Buffer.alloc(15, 1) }],
  ['a credential id of 1024 bytes', { credentialId: Buffer.alloc(1024, 1) }],
  ['an unknown algorithm', { algorithm: -36 }],
  ['another format', { format: 'fido-u2f' }],
  ['a format that fetches something', { format: 'android-safetynet' }],
  ['a packed statement of another key', { format: 'packed', wrongSignature: true }],
  ['more bytes after the attestation', { extraAttestationBytes: Buffer.of(0) }],
  ['no user verification', { verified: false }],
  ['a credential that is not discoverable', { rk: false }],
];

for (const [what, tweaks] of wrongRegistrations)
  test(`registration: ${what}`, async () => {
    const client = await someone();
    assertRefused(await tryRegister(client, newAuthenticator(), { tweaks }), what);
    assert.deepEqual((await client.get('/api/v1/auth/factors')).body.data.passkeys, []);
  });

test('registration: what is accepted', async () => {
  for (const [kind, tweaks] of [
    ['passkey', { format: 'packed' }],
    ['passkey', { rk: undefined }],
    ['passkey', { credentialId: Buffer.alloc(16, 2) }],
    ['passkey', { credentialId: Buffer.alloc(1023, 3) }],
    ['security_key', { verified: false, rk: false }],
    ['security_key', { verified: true }],
  ] as const)
    await register(await someone(), newAuthenticator(), { kind, tweaks });
});

test('registration: a challenge of another session, of another purpose, or used', async () => {
  const user = await addPasskeyUser(service);
  const other = await addPasskeyUser(service);
  const options = async (client: TestClient): Promise<Body> =>
    (await client.post(`${PASSKEYS}/options`, { kind: 'passkey' })).body.data.passkey;
  const own = await options(user.client);
  const stepUp = (await user.client.post('/api/v1/auth/step-up/options', {})).body.data.passkey;
  const send = (challenge: string) =>
    user.client.post(PASSKEYS, {
      kind: 'passkey',
      passkey: newAuthenticator().register({ ...own, challenge }),
    });
  assertRefused(await send((await options(other.client)).challenge), 'another session');
  assertRefused(await send(stepUp.challenge), 'another purpose');
  assert.equal((await send(own.challenge)).status, 201);
  assertRefused(await send(own.challenge), 'used');
});

const wrongAssertions: [string, AssertionTweaks][] = [
  ...wrongInBoth,
  ['a signature of another key', { wrongSignature: true }],
  ['a user handle of another account', { userHandle: Buffer.alloc(16, 1) }],
];

const places: Record<string, (user: PasskeyUser, tweaks: AssertionTweaks) => Promise<Answer>> = {
  'sign-in': (user, tweaks) => passkeySignIn(service.client(), user.authenticator, tweaks),
  'second step': async (user, tweaks) => {
    const client = service.client();
    const { token, passkey } = await beginSecondStep(client, user);
    return completeSignIn(client, token, { passkey: user.authenticator.assert(passkey, tweaks) });
  },
  'step-up': (user, tweaks) => passkeyStepUp(user.client, user.authenticator, tweaks),
};

for (const [place, send] of Object.entries(places))
  test(`${place}: each wrong answer is refused alike, and the right one is accepted after all`, async () => {
    let user = await addPasskeyUser(service);
    for (const [index, [what, tweaks]] of wrongAssertions.entries()) {
      // A session may try 30 times a minute.
      if (index === 10) user = await addPasskeyUser(service);
      assertRefused(await send(user, tweaks), `${place}: ${what}`);
    }
    const answer = await send(user, {});
    assert.equal(answer.status, 200, answer.text);
  });

test('sign-in: no user verification', async () => {
  const user = await addPasskeyUser(service);
  assertRefused(await passkeySignIn(service.client(), user.authenticator, { verified: false }), 'UV');
});

test('an answer under the id of another passkey of the account is refused', async () => {
  const user = await addPasskeyUser(service);
  const second = newAuthenticator();
  await register(user.client, second);
  const client = service.client();
  const { challenge } = await signInOptions(client);
  const [mine, other] = [user.authenticator.assert({ challenge }), second.assert({ challenge })];
  const passkey = { ...mine, id: other.id, rawId: other.rawId };
  assertRefused(await client.post('/api/v1/auth/login/passkey', { passkey }), 'id');
});

/** Changes one member of a response. */
const changes: [string, (passkey: Body) => unknown][] = [
  ['no object', () => 'x'],
  ['no id', ({ id: _, ...rest }) => rest],
  ['no rawId', ({ rawId: _, ...rest }) => rest],
  ['another rawId', (passkey) => ({ ...passkey, rawId: 'AAAA' })],
  ['another type', (passkey) => ({ ...passkey, type: 'password' })],
  ['no response', ({ response: _, ...rest }) => rest],
  ['no extension results', ({ clientExtensionResults: _, ...rest }) => rest],
  ['a padded id', (passkey) => ({ ...passkey, id: `${passkey.id}=`, rawId: `${passkey.id}=` })],
  ['an id with spare bits', (passkey) => ({ ...passkey, id: 'AAB', rawId: 'AAB' })],
  ['an empty id', (passkey) => ({ ...passkey, id: '', rawId: '' })],
  [
    'base64 instead of base64url',
    (passkey) => ({ ...passkey, response: { ...passkey.response, clientDataJSON: '+/+/' } }),
  ],
  ['no client data', ({ response: { clientDataJSON: _, ...response }, ...rest }) => ({ ...rest, response })],
];

function assertMalformed(answer: Answer, what: string): void {
  assert.deepEqual([answer.status, answer.body.code], [422, 'validation_failed'], `${what}: ${answer.text}`);
  assert.match(answer.body.errors[0].field, /^passkey/, what);
}

test('an answer that no browser gives is malformed, wherever it is sent, and uses no challenge up', async () => {
  const user = await addPasskeyUser(service);
  const browser = service.client();
  const options = await signInOptions(browser);
  const passkey = user.authenticator.assert(options);
  const { token } = await beginSecondStep(service.client(), user);
  const begun = (await user.client.post(`${PASSKEYS}/options`, { kind: 'passkey' })).body.data.passkey;
  const registration = newAuthenticator().register(begun);
  for (const [what, change] of changes) {
    const wrong = change(passkey);
    assertMalformed(await browser.post('/api/v1/auth/login/passkey', { passkey: wrong }), what);
    assertMalformed(await completeSignIn(browser, token, { passkey: wrong }), what);
    const body = { kind: 'passkey', passkey: change(registration) };
    assertMalformed(await user.client.post(PASSKEYS, body), what);
  }
  assertMalformed(
    await user.client.post('/api/v1/auth/step-up', { passkey: { ...passkey, id: 'AAAA' } }),
    'id',
  );
  assert.equal((await browser.post('/api/v1/auth/login/passkey', { passkey })).status, 200);
});

test('a kind that does not exist, and members that browsers add', async () => {
  const client = await someone();
  for (const kind of ['totp', '', null, 1])
    assert.equal((await client.post(`${PASSKEYS}/options`, { kind })).body.code, 'validation_failed');
  const begun = (await client.post(`${PASSKEYS}/options`, { kind: 'passkey' })).body.data.passkey;
  const response = newAuthenticator().register(begun);
  const passkey = {
    ...response,
    authenticatorAttachment: 'platform',
    response: { ...response.response, publicKeyAlgorithm: -7, publicKey: 'AAAA', authenticatorData: 'AAAA' },
  };
  assert.equal((await client.post(PASSKEYS, { kind: 'passkey', passkey })).status, 201);
});

test('a body of more than 16 KiB at sign-in, or 128 KiB at registration, is too large', async () => {
  const client = await someone();
  for (const [path, bytes] of [
    ['/api/v1/auth/login/passkey', 16 * 1_024],
    ['/api/v1/auth/login/second-factor', 16 * 1_024],
    [PASSKEYS, 128 * 1_024],
  ] as const)
    for (const [more, status] of [
      [0, 422],
      [1, 413],
    ] as const) {
      const raw = '{"a":"'.padEnd(bytes + more - 2, 'x').concat('"}');
      const answer = await client.request('POST', path, {
        raw,
        headers: { 'content-type': 'application/json' },
      });
      assert.equal(answer.status, status, `${path} ${more}: ${answer.text}`);
    }
});
