// Tests the verification of passkeys: one refusal for each rule, with an authenticator that breaks only that rule.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import {
  type AssertionTweaks,
  createAuthenticator,
  type RegistrationTweaks,
} from '@castellan/testing/passkeys/authenticator';
import {
  creationOptions,
  credentialIdOf,
  type ExpectedAssertion,
  isAssertionShape,
  isRegistrationShape,
  type PasskeyKind,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  requestOptions,
  verifyAssertion,
  verifyRegistration,
} from './passkeys.ts';

// Before anything loads the library.
const warnings: Error[] = [];
process.on('warning', (warning) => warnings.push(warning));

const rpId = 'example.com';
const origin = 'https://accounts.example.com';
const origins = [origin, 'https://example.org'];
const userId = '0195d3c4-4d7c-7b1e-9d57-5a1b2c3d4e5f';
const userHandle = Buffer.from(userId.replaceAll('-', ''), 'hex');
const otherHandle = Buffer.from('0195d3c44d7c7b1e9d575a1b2c3d4e60', 'hex');
const newChallenge = () => randomBytes(54).toString('base64url');

function optionsOf(kind: PasskeyKind, challenge = newChallenge()): PublicKeyCredentialCreationOptionsJSON {
  const user = { id: userId, email: 'ada@example.com', displayName: 'Ada' };
  return creationOptions({ rpId, rpName: 'Castellan', challenge, kind, user, exclude: [] });
}

const signInOptions = (challenge: string): PublicKeyCredentialRequestOptionsJSON =>
  requestOptions({ rpId, challenge, userVerification: 'required' });

type Setup = {
  kind?: PasskeyKind;
  device?: Partial<Parameters<typeof createAuthenticator>[0]>;
  expected?: { origins?: string[]; rpId?: string };
};

async function register(tweaks: RegistrationTweaks = {}, { kind = 'passkey', device, expected }: Setup = {}) {
  const authenticator = createAuthenticator({ rpId, origin, ...device });
  const options = optionsOf(kind);
  const response = authenticator.register(options, tweaks);
  assert.ok(isRegistrationShape(response));
  const reasons: string[] = [];
  const { challenge } = options;
  const credential = await verifyRegistration(response, {
    challenge,
    origins,
    rpId,
    kind,
    debug: (reason) => reasons.push(reason),
    ...expected,
  });
  return { authenticator, response, credential, reasons, challenge };
}

async function registered(setup: Setup = {}) {
  const { authenticator, credential } = await register({}, setup);
  assert.ok(credential);
  return { authenticator, credential };
}

const expectedOf = (challenge: string) => ({
  challenge,
  origins,
  rpId,
  requireUserVerification: true,
  userId,
  requireUserHandle: true,
});

async function signIn(
  tweaks: AssertionTweaks = {},
  expected: Partial<ExpectedAssertion> = {},
  setup: Setup = {},
) {
  const { authenticator, credential } = await registered(setup);
  const options = requestOptions({
    rpId,
    challenge: newChallenge(),
    userVerification: 'required',
    ...(setup.kind === 'security_key' ? { allow: [credential] } : {}),
  });
  const response = authenticator.assert(options, tweaks);
  assert.ok(isAssertionShape(response));
  const reasons: string[] = [];
  const result = await verifyAssertion(response, {
    ...expectedOf(options.challenge),
    credential,
    debug: (reason) => reasons.push(reason),
    ...expected,
  });
  return { result, reasons };
}

describe('verifyRegistration', () => {
  test('returns the credential of a passkey', async () => {
    const { response, credential } = await register({ aaguid: Buffer.alloc(16, 0xab) });
    assert.ok(credential);
    const { publicKey, ...rest } = credential;
    assert.deepEqual(rest, {
      credentialId: credentialIdOf(response),
      signCount: 1,
      transports: ['usb'],
      aaguid: 'abababab-abab-abab-abab-abababababab',
      backupEligible: false,
      backedUp: false,
      userVerified: true,
    });
    // A map of five entries; key type EC2, algorithm ES256, curve P-256.
    assert.equal(publicKey.subarray(0, 8).toString('hex'), 'a501020326200121');
  });

  test('tells that a passkey is synced', async () => {
    const { credential } = await register({}, { device: { isSynced: true } });
    assert.deepEqual([credential?.backupEligible, credential?.backedUp], [true, true]);
    assert.equal(credential?.signCount, 0);
    const { credential: notYet } = await register({ backedUp: false }, { device: { isSynced: true } });
    assert.deepEqual([notYet?.backupEligible, notYet?.backedUp], [true, false]);
  });

  test('returns no model for an AAGUID of zeros', async () => {
    const { credential } = await register();
    assert.equal(credential?.aaguid, null);
  });

  test('accepts a security key without user verification, discoverable or not', async () => {
    for (const rk of [false, true, undefined]) {
      const { credential } = await register({ rk }, { kind: 'security_key' });
      assert.equal(credential?.userVerified, false);
    }
  });

  test('accepts a passkey whose browser does not say whether it is discoverable', async () => {
    const { credential } = await register({ rk: undefined });
    assert.ok(credential);
  });

  test('accepts every expected origin, and client data without crossOrigin', async () => {
    for (const clientData of [{ origin: 'https://example.org' }, { crossOrigin: undefined }]) {
      const { credential } = await register({ clientData });
      assert.ok(credential);
    }
  });

  test('accepts an attestation that the new key signed', async () => {
    const { credential } = await register({ format: 'packed' });
    assert.ok(credential);
  });

  test('accepts credential ids of 16 to 1023 bytes', async () => {
    for (const length of [16, 1023]) {
      const { credential } = await register({ credentialId: randomBytes(length) });
      assert.equal(credential?.credentialId.length, length);
    }
  });

  test('keeps known and later transports, each once, and no other texts', async () => {
    const transports = ['usb', 'nfc', 'usb', 'ultra-sound', '<b>', '', 'x'.repeat(1000)];
    const { credential } = await register({ transports });
    assert.deepEqual(credential?.transports, ['usb', 'nfc', 'ultra-sound']);
    const many = Array.from('abcdefghijklmnop');
    assert.equal((await register({ transports: many })).credential?.transports.length, 10);
  });

  const refusals: [name: string, tweaks: RegistrationTweaks, reason: RegExp][] = [
    ['without user presence', { present: false }, /not present/],
    ['of a passkey without user verification', { verified: false }, /verification/],
    ['of a passkey that is not discoverable', { rk: false }, /not discoverable/],
    ['that is backed up but not backup eligible', { backedUp: true }, /backed up/],
    ['of another origin', { clientData: { origin: 'https://evil.example' } }, /origin/],
    ['of a subdomain', { clientData: { origin: 'https://x.accounts.example.com' } }, /origin/],
    ['of another port', { clientData: { origin: `${origin}:8443` } }, /origin/],
    ['of another RP ID', { rpId: 'evil.example' }, /RP ID/],
    ['with crossOrigin', { clientData: { crossOrigin: true } }, /frame/],
    ['with a crossOrigin that is no boolean', { clientData: { crossOrigin: 'false' } }, /frame/],
    ['with topOrigin', { clientData: { topOrigin: origin } }, /frame/],
    ['with topOrigin null', { clientData: { topOrigin: null } }, /frame/],
    ['with another challenge', { clientData: { challenge: newChallenge() } }, /challenge/],
    ['with the client data of a sign-in', { clientData: { type: 'webauthn.get' } }, /type/],
    ['with client data that is no JSON', { clientDataText: 'webauthn.create' }, /JSON/],
    ['with client data that is no object', { clientDataText: 'null' }, /no object/],
    ['with client data that is a list', { clientDataText: '[]' }, /type/],
    ['with another format', { format: 'fido-u2f' }, /format/],
    ['with a format whose certificates would be downloaded', { format: 'apple' }, /format/],
    ['with an unknown format', { format: 'None' }, /format/],
    ['with a wrong signature of its attestation', { format: 'packed', wrongSignature: true }, /attestation/],
    ['with an algorithm that was not offered', { algorithm: -35 }, /alg/],
    ['with a post-quantum algorithm', { algorithm: -48 }, /alg/],
    ['with a credential id of 15 bytes', { credentialId: randomBytes(15) }, /too short/],
    ['with a credential id of 1024 bytes', { credentialId: randomBytes(1024) }, /too long/],
    ['with a byte after the authenticator data', { extraBytes: Buffer.from([0]) }, /Leftover/],
    [
      'with a byte after the attestation object',
      { extraAttestationBytes: Buffer.from([0]) },
      /further bytes/,
    ],
    ['with authenticator data that ends early', { authenticatorDataLength: 36 }, /37 bytes/],
    ['with authenticator data that ends in the key', { authenticatorDataLength: 100 }, /./],
  ];
  for (const [name, tweaks, reason] of refusals) {
    test(`refuses a registration ${name}`, async () => {
      const { credential, reasons } = await register(tweaks);
      assert.equal(credential, null);
      assert.match(reasons.join(), reason);
    });
  }

  test('refuses every registration where no origin is expected', async () => {
    assert.equal((await register({}, { expected: { origins: [] } })).credential, null);
  });

  test('refuses a response whose id is not that of the new credential', async () => {
    const { response, challenge } = await register();
    const id = randomBytes(32).toString('base64url');
    const expected = { challenge, origins, rpId, kind: 'passkey' as const };
    assert.equal(await verifyRegistration({ ...response, id, rawId: id }, expected), null);
    assert.ok(await verifyRegistration(response, expected));
  });

  test('refuses bytes that are no attestation object', async () => {
    const { response, challenge } = await register();
    // Empty list, number, deep nesting, a map that is cut off, a length of 4 GiB.
    const nested = Buffer.alloc(100_000, 0x81);
    const rows = [
      ...['80', '01', 'a3', 'a1636666', '5affffffff'].map((hex) => Buffer.from(hex, 'hex')),
      nested,
    ];
    for (const bytes of rows) {
      const attestationObject = bytes.toString('base64url');
      const malformed = { ...response, response: { ...response.response, attestationObject } };
      const expected = { challenge, origins, rpId, kind: 'passkey' as const };
      assert.equal(await verifyRegistration(malformed, expected), null);
    }
  });
});

describe('verifyAssertion', () => {
  test('returns what a passkey says at a sign-in', async () => {
    const { result } = await signIn();
    const flags = { userVerified: true, backupEligible: false, backedUp: false };
    assert.deepEqual(result, { signCount: 2, ...flags });
  });

  test('returns the flags and the counter of a synced passkey, also when eligibility changed', async () => {
    const flags = { userVerified: true, backupEligible: true, backedUp: true };
    const { result } = await signIn({}, {}, { device: { isSynced: true } });
    assert.deepEqual(result, { signCount: 0, ...flags });
    const { result: moved } = await signIn({ backupEligible: true, backedUp: true });
    assert.deepEqual(moved, { signCount: 2, ...flags });
  });

  test('does not judge the counter', async () => {
    for (const signCount of [0, 1, 0xffff_ffff])
      assert.equal((await signIn({ signCount })).result?.signCount, signCount);
  });

  test('accepts a security key without user verification and without a user handle after the password', async () => {
    const relaxed = { requireUserVerification: false, requireUserHandle: false };
    const { result } = await signIn({ verified: false }, relaxed, { kind: 'security_key' });
    assert.equal(result?.userVerified, false);
  });

  test('accepts the user handle of the account where none is needed', async () => {
    const { result } = await signIn({ userHandle }, { requireUserHandle: false });
    assert.ok(result);
  });

  const refusals: [name: string, tweaks: AssertionTweaks, reason: RegExp][] = [
    ['without user presence', { present: false }, /not present/],
    ['without user verification where it is required', { verified: false }, /verification/],
    ['that is backed up but not backup eligible', { backedUp: true }, /backed up/],
    ['of another origin', { clientData: { origin: 'https://evil.example' } }, /origin/],
    ['of another RP ID', { rpId: 'evil.example' }, /RP ID/],
    ['with crossOrigin', { clientData: { crossOrigin: true } }, /frame/],
    ['with topOrigin', { clientData: { crossOrigin: true, topOrigin: origin } }, /frame/],
    ['with topOrigin alone', { clientData: { topOrigin: origin } }, /frame/],
    ['with another challenge', { clientData: { challenge: newChallenge() } }, /challenge/],
    ['with the client data of a registration', { clientData: { type: 'webauthn.create' } }, /type/],
    ['with client data that is no JSON', { clientDataText: '{' }, /JSON/],
    ['with client data that is no object', { clientDataText: '"webauthn.get"' }, /no object/],
    ['without a user handle', { userHandle: null }, /missing/],
    ['with the user handle of another account', { userHandle: otherHandle }, /another account/],
    ['with a part of the user handle', { userHandle: userHandle.subarray(0, 15) }, /another account/],
    ['with a wrong signature', { wrongSignature: true }, /signature is wrong/],
    ['with a byte after the authenticator data', { extraBytes: Buffer.from([0]) }, /Leftover/],
    ['with authenticator data that ends early', { authenticatorDataLength: 36 }, /37 bytes/],
  ];
  for (const [name, tweaks, reason] of refusals) {
    test(`refuses an assertion ${name}`, async () => {
      const { result, reasons } = await signIn(tweaks);
      assert.equal(result, null);
      assert.match(reasons.join(), reason);
    });
  }

  test('refuses the user handle of another account also where none is needed', async () => {
    const { result } = await signIn({ userHandle: otherHandle }, { requireUserHandle: false });
    assert.equal(result, null);
  });

  test('refuses another credential of the same account', async () => {
    const { authenticator, credential } = await registered();
    const challenge = newChallenge();
    authenticator.register(optionsOf('passkey'));
    const response = authenticator.assert(signInOptions(challenge));
    assert.equal(await verifyAssertion(response, { ...expectedOf(challenge), credential }), null);
  });

  test('refuses an id that is not the stored one, though the signature is right', async () => {
    const { authenticator, credential } = await registered();
    const challenge = newChallenge();
    const response = authenticator.assert(signInOptions(challenge));
    const id = randomBytes(32).toString('base64url');
    for (const changed of [{ id }, { rawId: id }, { id, rawId: id }])
      assert.equal(
        await verifyAssertion({ ...response, ...changed }, { ...expectedOf(challenge), credential }),
        null,
      );
    assert.ok(await verifyAssertion(response, { ...expectedOf(challenge), credential }));
  });

  test('refuses a stored key that is damaged', async () => {
    const { authenticator, credential } = await registered();
    const challenge = newChallenge();
    const response = authenticator.assert(signInOptions(challenge));
    const { credentialId, publicKey } = credential;
    for (const damaged of [Buffer.alloc(0), Buffer.from('a0', 'hex'), publicKey.subarray(0, -1)]) {
      const stored = { ...expectedOf(challenge), credential: { credentialId, publicKey: damaged } };
      assert.equal(await verifyAssertion(response, stored), null);
    }
    assert.ok(await verifyAssertion(response, { ...expectedOf(challenge), credential }));
  });
});

test('the library asks for nothing that makes Node print a warning', async () => {
  assert.ok((await signIn()).result);
  await new Promise(setImmediate);
  assert.deepEqual(warnings, []);
});
