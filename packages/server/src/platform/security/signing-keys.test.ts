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
  type PublicJwk,
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

  test('the kid of an RSA key is the thumbprint of RFC 7638, section 3.1', () => {
    const n =
      '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs' +
      'tn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbIS' +
      'D08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw';
    const jwk = publicJwkOf(createPublicKey({ key: { kty: 'RSA', n, e: 'AQAB' }, format: 'jwk' }));
    const kid = 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs';
    assert.deepEqual(jwk, { kty: 'RSA', n, e: 'AQAB', kid, use: 'sig', alg: 'RS256' });
  });

  for (const [alg, digest, members] of [
    ['EdDSA', null, ['kty', 'crv', 'x']],
    ['RS256', 'sha256', ['kty', 'n', 'e']],
    ['ES256', 'sha256', ['kty', 'crv', 'x', 'y']],
  ] as const)
    test(`the JWK verifies what the private ${alg} key signs, and contains nothing private`, async () => {
      const { kid, publicJwk, privateDer } = await generateSigningKey(alg);
      const message = Buffer.from('message');
      const privateKey = createPrivateKey({ key: privateDer, format: 'der', type: 'pkcs8' });
      assert.ok(verify(digest, message, importPublicJwk(publicJwk), sign(digest, message, privateKey)));
      assert.deepEqual(Object.keys(publicJwk), [...members, 'kid', 'use', 'alg']);
      assert.deepEqual([publicJwk.kid, publicJwk.alg], [kid, alg]);
      assert.notEqual((await generateSigningKey(alg)).kid, kid);
    });

  test('a key of another kind, or under the kid of another key, is refused', async () => {
    const other = generateKeyPairSync('ec', { namedCurve: 'P-384' });
    assert.throws(() => publicJwkOf(other.publicKey), TypeError);
    assert.throws(() => publicJwkOf(generateKeyPairSync('ed25519').privateKey), TypeError);
    const { publicJwk } = await generateSigningKey('EdDSA');
    const { kid } = await generateSigningKey('EdDSA');
    assert.throws(() => importPublicJwk({ ...publicJwk, kid }), TypeError);
    assert.throws(() => importPublicJwk({ ...publicJwk, x: 'AAAA' } as PublicJwk));
    const { publicJwk: rsa } = await generateSigningKey('RS256');
    assert.throws(() => importPublicJwk({ ...publicJwk, ...rsa, alg: 'EdDSA' } as PublicJwk), TypeError);
  });
});

describe('sealing', async () => {
  const { kid, publicJwk, privateDer } = await generateSigningKey('EdDSA');

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

  test('under another kid, or damaged, it fails with the same error', async () => {
    const sealed = sealPrivateKey(secret, kid, privateDer);
    const other = await generateSigningKey('EdDSA');
    assert.throws(() => openPrivateKey(secret, other.kid, sealed), SealedKeyError);
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
    assert.equal(createPublicKey(opened).export({ format: 'jwk' }).x, stored.x);
  });
});
