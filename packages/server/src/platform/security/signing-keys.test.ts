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
  deriveKey,
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

  test('the sealed form differs each time and contains nothing readable of the key', () => {
    const sealed = Array.from({ length: 100 }, () => sealPrivateKey(secret, kid, privateDer));
    assert.equal(new Set(sealed.map((each) => each.subarray(1, 13).toString('hex'))).size, 100);
    for (const each of sealed) assert.equal(each.includes(privateDer.subarray(-32)), false);
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

  test('under another kid it does not open', () => {
    const sealed = sealPrivateKey(secret, kid, privateDer);
    assert.throws(() => openPrivateKey(secret, generateSigningKey().kid, sealed), SealedKeyError);
  });

  test('with any byte changed, cut off or added it does not open', () => {
    const sealed = sealPrivateKey(secret, kid, privateDer);
    for (let index = 0; index < sealed.length; index++) {
      const damaged = Buffer.from(sealed);
      damaged[index] = damaged[index]! ^ 1;
      assert.throws(() => openPrivateKey(secret, kid, damaged), SealedKeyError, `byte ${index}`);
      assert.throws(
        () => openPrivateKey(secret, kid, sealed.subarray(0, index)),
        SealedKeyError,
        `cut at ${index}`,
      );
    }
    assert.throws(() => openPrivateKey(secret, kid, Buffer.concat([sealed, Buffer.of(0)])), SealedKeyError);
  });
});

describe('derived keys', () => {
  test('the same purpose gives the same 32 bytes, another purpose or secret others', () => {
    const key = deriveKey(secret, 'csrf');
    assert.equal(key.length, 32);
    assert.deepEqual(deriveKey(secret, 'csrf'), key);
    assert.notDeepEqual(deriveKey(secret, 'csrf2'), key);
    assert.notDeepEqual(deriveKey(randomBytes(64), 'csrf'), key);
  });

  test('the derivation is the same in every release, so that stored keys can be decrypted', () => {
    const fixed = deriveKey(Buffer.alloc(32, 'k'), 'seal signing keys');
    assert.equal(fixed.toString('hex'), '0fcc9792039dcccc47cf9f476a54fc57dbe15178509481e0181d57dbdc8031af');
  });

  test('a short secret is refused', () => {
    assert.throws(() => deriveKey(randomBytes(31), 'csrf'), RangeError);
  });
});
