// Tests the keys that sign tokens: what is published, and what the database alone must not reveal.
import assert from 'node:assert/strict';
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import { describe, test } from 'node:test';
import {
  generateSigningKey,
  importPublicJwk,
  openPrivateKey,
  publicJwkOf,
  SealedKeyError,
  sealPrivateKey,
} from './signing-keys.ts';

const secret = randomBytes(64);

describe('signing keys', () => {
  test('the kid is the thumbprint of RFC 8037, appendix A.3', () => {
    const x = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
    const jwk = publicJwkOf(createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }));
    const kid = 'kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k';
    assert.deepEqual(jwk, { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' });
  });

  test('the JWK verifies what the private key signs, and contains nothing private', () => {
    const { kid, publicJwk, privateDer } = generateSigningKey();
    const message = Buffer.from('message');
    const privateKey = createPrivateKey({ key: privateDer, format: 'der', type: 'pkcs8' });
    assert.ok(verify(null, message, importPublicJwk(publicJwk), sign(null, message, privateKey)));
    assert.deepEqual(Object.keys(publicJwk), ['kty', 'crv', 'x', 'kid', 'use', 'alg']);
    assert.equal(publicJwk.kid, kid);
    assert.notEqual(generateSigningKey().kid, kid);
  });

  test('a key of another kind, or under the kid of another key, is refused', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
    assert.throws(() => publicJwkOf(rsa.publicKey), TypeError);
    assert.throws(() => publicJwkOf(generateKeyPairSync('ed25519').privateKey), TypeError);
    const { publicJwk } = generateSigningKey();
    assert.throws(() => importPublicJwk({ ...publicJwk, kid: generateSigningKey().kid }), TypeError);
    assert.throws(() => importPublicJwk({ ...publicJwk, x: 'AAAA' }));
  });
});

describe('sealing', () => {
  const { kid, publicJwk, privateDer } = generateSigningKey();

  test('a sealed key opens again with the same secret', () => {
    const privateKey = openPrivateKey(secret, kid, sealPrivateKey(secret, kid, privateDer));
    assert.deepEqual(publicJwkOf(createPublicKey(privateKey)), publicJwk);
  });

  test('another secret fails with an error that says what to do and contains no secret', () => {
    const sealed = sealPrivateKey(secret, kid, privateDer);
    assert.throws(
      () => openPrivateKey(randomBytes(64), kid, sealed),
      (error: unknown) => {
        assert.ok(error instanceof SealedKeyError);
        assert.equal(error.code, 'sealed_key_unreadable');
        assert.match(error.message, /SECRET_KEY/);
        assert.ok(error.message.includes(kid));
        return !error.message.includes(secret.toString('base64'));
      },
    );
  });

  test('under another kid, or damaged, it fails with the same error', () => {
    const sealed = sealPrivateKey(secret, kid, privateDer);
    assert.throws(() => openPrivateKey(secret, generateSigningKey().kid, sealed), SealedKeyError);
    assert.throws(() => openPrivateKey(secret, kid, sealed.subarray(1)), SealedKeyError);
  });

  test('a key that an earlier release sealed opens', () => {
    const stored = {
      kid: 'ABMldUCP-3kaZmcAxBzLopHkmWLU3Z-fr_3bre-t0pQ',
      x: '2LJytYQavFetS3Uv5i8SgwIGQii5Izisky7vvD3pYeg',
      sealed:
        'AaG2O7Auf0icEiTei5bkO5bkbVJCEuzcJ9zEnvurGn51H7u2ahW8VJKS4Ghz938nk4CzcUQSKEN3LRQYzRbbAsQLsiKUGtIhNprwMeY=',
    };
    const opened = openPrivateKey(Buffer.alloc(32, 'k'), stored.kid, Buffer.from(stored.sealed, 'base64'));
    assert.equal(publicJwkOf(createPublicKey(opened)).x, stored.x);
  });
});
