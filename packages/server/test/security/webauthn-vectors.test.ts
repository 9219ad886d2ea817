// Tests the verification of passkeys with the vectors of the specification: what must pass, and what is refused here.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type AssertionJSON,
  type RegisteredCredential,
  type RegistrationJSON,
  verifyAssertion,
  verifyRegistration,
} from '../../src/platform/security/factors/passkeys.ts';
import { type Vector, vectors } from './webauthn-vectors.ts';

const expected = { origins: ['https://example.org'], rpId: 'example.org' };
const userId = '0195d3c4-4d7c-7b1e-9d57-5a1b2c3d4e5f';

const base64url = (hex: string): string => Buffer.from(hex, 'hex').toString('base64url');

function namesOf({ registration }: Vector) {
  const id = base64url(registration.credentialId);
  return { id, rawId: id, type: 'public-key' as const };
}

function register(vector: Vector, reasons: string[] = []): Promise<RegisteredCredential | null> {
  const { challenge, clientDataJSON, attestationObject } = vector.registration;
  const response: RegistrationJSON = {
    ...namesOf(vector),
    response: { clientDataJSON: base64url(clientDataJSON), attestationObject: base64url(attestationObject) },
    clientExtensionResults: {},
  };
  const debug = (reason: string) => reasons.push(reason);
  // Some vectors have no user verification.
  const kind = 'security_key';
  return verifyRegistration(response, { ...expected, challenge: base64url(challenge), kind, debug });
}

function assertWith(vector: Vector, publicKey: Buffer, reasons: string[] = []) {
  const { challenge, clientDataJSON, authenticatorData, signature } = vector.assertion;
  const response: AssertionJSON = {
    ...namesOf(vector),
    response: {
      clientDataJSON: base64url(clientDataJSON),
      authenticatorData: base64url(authenticatorData),
      signature: base64url(signature),
    },
  };
  return verifyAssertion(response, {
    ...expected,
    challenge: base64url(challenge),
    credential: { credentialId: Buffer.from(vector.registration.credentialId, 'hex'), publicKey },
    requireUserVerification: false,
    userId,
    requireUserHandle: false,
    debug: (reason) => reasons.push(reason),
  });
}

/** Why a vector is refused, which the specification itself allows. */
const refused: Record<string, RegExp> = {
  'none.ES256.crossOrigin': /frame of another site/,
  'none.ES256.topOrigin': /frame of another site/,
  'packed.ES384': /public key alg "-35"/,
  'packed.ES512': /public key alg "-36"/,
  'packed.Ed448': /public key alg "-53"/,
  'tpm.ES256': /format/,
  'android-key.ES256': /format/,
  'apple.ES256': /format/,
  'fido-u2f.ES256': /format/,
};
const accepted = vectors.filter(({ name }) => refused[name] === undefined);

describe('an accepted vector', () => {
  for (const vector of accepted) {
    test(`${vector.name}: the credential is registered and signs in`, async () => {
      const credential = await register(vector);
      assert.ok(credential);
      assert.equal(credential.credentialId.toString('hex'), vector.registration.credentialId);
      assert.equal(credential.signCount, 0);
      const flags = flagsOf(vector.assertion.authenticatorData);
      assert.deepEqual(await assertWith(vector, credential.publicKey), { signCount: 0, ...flags });
    });

    test(`${vector.name}: its assertion fails with the key of another vector`, async () => {
      const other = accepted.find(({ name }) => name !== vector.name);
      assert.ok(other);
      const credential = await register(other);
      assert.ok(credential);
      assert.equal(await assertWith(vector, credential.publicKey), null);
    });
  }

  test('there are six of them', () => assert.equal(accepted.length, 6));
});

describe('a vector is refused', () => {
  for (const vector of vectors.filter(({ name }) => refused[name])) {
    test(vector.name, async () => {
      const reasons: string[] = [];
      assert.equal(await register(vector, reasons), null);
      assert.match(reasons.join(), refused[vector.name] ?? /^$/);
    });
  }
});

test('the assertion of the vector with crossOrigin is refused', async () => {
  const vector = vectors.find(({ name }) => name === 'none.ES256.crossOrigin');
  assert.ok(vector);
  // The COSE_Key is the end of the attestation object: a map of five entries, 77 bytes.
  const publicKey = Buffer.from(vector.registration.attestationObject, 'hex').subarray(-77);
  const reasons: string[] = [];
  assert.equal(await assertWith(vector, publicKey, reasons), null);
  assert.deepEqual(reasons, ['the page was in a frame of another site']);
});

/** Returns UV, BE and BS of authenticator data: bits 2 to 4 of the byte after the hash of the RP ID. */
function flagsOf(authenticatorData: string) {
  const flags = Buffer.from(authenticatorData, 'hex').readUInt8(32);
  return {
    userVerified: (flags & 0x04) !== 0,
    backupEligible: (flags & 0x08) !== 0,
    backedUp: (flags & 0x10) !== 0,
  };
}
