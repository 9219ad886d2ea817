// Tests recovery codes: their form, that selectors differ, and every spelling in which a person may type one.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { newRecoveryCode, newRecoveryCodes, readRecoveryCode } from './recovery-codes.ts';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const canonical = '7K3Q0W9DX2MB1511';

describe('a new code', () => {
  test('has 16 characters in fours, and its selector is the first three', () => {
    for (let round = 0; round < 1000; round++) {
      const { selector, text } = newRecoveryCode();
      assert.match(text, /^(?:[0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]{4}$/);
      assert.equal(selector, text.slice(0, 3));
    }
  });

  test('can have each of the 32 characters in each of the 16 positions', () => {
    const found = new Set<string>();
    for (let round = 0; round < 3000; round++)
      for (const [position, character] of [...newRecoveryCode().text.replaceAll('-', '')].entries())
        found.add(`${position}${character}`);
    assert.equal(found.size, 16 * 32);
  });

  test('is read as itself', () => {
    const { selector, text } = newRecoveryCode();
    assert.deepEqual(readRecoveryCode(text), { selector, canonical: text.replaceAll('-', '') });
  });
});

test('newRecoveryCodes returns codes with distinct selectors', () => {
  assert.deepEqual(newRecoveryCodes(0), []);
  assert.equal(newRecoveryCodes(10).length, 10);
  // With 2,000 of 32,768 selectors, about 60 would occur twice.
  const codes = newRecoveryCodes(2000);
  assert.equal(new Set(codes.map(({ selector }) => selector)).size, 2000);
  for (const { selector, text } of codes) assert.equal(selector, text.slice(0, 3));
});

describe('readRecoveryCode', () => {
  const spellings = [
    canonical,
    '7K3Q-0W9D-X2MB-1511',
    '7k3q-0w9d-x2mb-1511',
    ' 7K3Q 0W9D X2MB 1511\n',
    '7-K-3-Q-0-W-9-D-X-2-M-B-1-5-1-1',
    '7k3q\u00a00w9d\tx2mb--1511',
    '7K3Q-OW9D-X2MB-I5L1',
    '7k3q-ow9d-x2mb-l5i1',
  ];
  for (const spelling of spellings) {
    test(`reads ${JSON.stringify(spelling)}`, () => {
      assert.deepEqual(readRecoveryCode(spelling), { selector: '7K3', canonical });
    });
  }

  test('returns null for anything else', () => {
    const rows = ['', '-', canonical.slice(1), `${canonical}0`, `${canonical}${canonical}`, `${canonical}\0`];
    rows.push('7K3Q-0W9D-X2MB-151U', '7K3Q_0W9D_X2MB_1511', '7K3Q–0W9D–X2MB–1511', '７K3Q-0W9D-X2MB-1511');
    // Upper-casing these gives ASCII letters or more characters.
    rows.push('7ſ3Q-0W9D-X2MB-1511', 'ß7K3Q0W9DX2MB15', '7K3Q-0W9D-X2MB-15ı1', '7K3Q-0W9D-X2MB-15\u212a1');
    rows.push('0'.repeat(1e6), ' '.repeat(1e6));
    for (const row of rows) assert.equal(readRecoveryCode(row), null, row.slice(0, 40));
  });

  test('reads a random text exactly when only its spelling differs', () => {
    const inAlphabet = fc.array(fc.constantFrom(...alphabet), { minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(inAlphabet, (characters) => {
        const text = characters.join('');
        assert.equal(readRecoveryCode(text.toLowerCase())?.canonical, text);
        assert.equal(readRecoveryCode(text.slice(1)), null);
      }),
    );
  });
});
