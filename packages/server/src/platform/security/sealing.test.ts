// Tests what a secret in the database does not reveal, and what it is bound to.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { deriveKey, seal, UnsealError, unseal } from './sealing.ts';

const secret = randomBytes(64);
const owner = { kind: 'signing key', id: 'one' } as const;
const content = randomBytes(48);

describe('sealing', () => {
  test('sealed contents open again with the same secret', () => {
    assert.deepEqual(unseal(secret, owner, seal(secret, owner, content)), content);
  });

  test('the sealed form differs each time and contains nothing readable', () => {
    const sealed = Array.from({ length: 100 }, () => seal(secret, owner, content));
    assert.equal(new Set(sealed.map((each) => each.subarray(1, 13).toString('hex'))).size, 100);
    for (const each of sealed) assert.equal(each.includes(content.subarray(-32)), false);
  });

  test('with another secret or for another record they do not open', () => {
    const sealed = seal(secret, owner, content);
    assert.throws(() => unseal(randomBytes(64), owner, sealed), UnsealError);
    assert.throws(() => unseal(secret, { ...owner, id: 'two' }, sealed), UnsealError);
  });

  test('with any byte changed, cut off or added they do not open', () => {
    const sealed = seal(secret, owner, content);
    for (let index = 0; index < sealed.length; index++) {
      const damaged = Buffer.from(sealed);
      damaged[index] = damaged[index]! ^ 1;
      assert.throws(() => unseal(secret, owner, damaged), UnsealError, `byte ${index}`);
      assert.throws(() => unseal(secret, owner, sealed.subarray(0, index)), UnsealError, `cut at ${index}`);
    }
    assert.throws(() => unseal(secret, owner, Buffer.concat([sealed, Buffer.of(0)])), UnsealError);
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
