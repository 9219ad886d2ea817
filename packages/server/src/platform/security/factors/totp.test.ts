// Tests codes of authenticator apps: the vectors of RFC 6238, the window of three steps, and that no code counts twice.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { checkTotp, newTotpSecret, readTotpCode, totpText, totpUri } from './totp.ts';

/** RFC 6238, appendix B: the secret of the rows for SHA-1. */
const secret = Buffer.from('12345678901234567890');
const at = (seconds: number, lastStep = 0) => ({ now: new Date(seconds * 1000), lastStep });
/** The code of step 37037036, from 1111111080 to 1111111109. */
const [example, exampleStep] = ['081804', 37037036];
const begin = exampleStep * 30;

describe('checkTotp', () => {
  const vectors: [seconds: number, eightDigits: string][] = [
    [59, '94287082'],
    [1111111109, '07081804'],
    [1111111111, '14050471'],
    [1234567890, '89005924'],
    [2000000000, '69279037'],
    [20000000000, '65353130'],
  ];
  for (const [seconds, eightDigits] of vectors) {
    test(`accepts the code of RFC 6238 at ${seconds} seconds`, () => {
      const result = checkTotp(secret, eightDigits.slice(2), at(seconds));
      assert.deepEqual(result, { step: Math.floor(seconds / 30) });
    });
  }

  const borders: [name: string, seconds: number, isAccepted: boolean][] = [
    ['the last second before the step before', begin - 31, false],
    ['the first second of the step before', begin - 30, true],
    ['the first second of its step', begin, true],
    ['the last second of its step', begin + 29, true],
    ['the last second of the step after', begin + 59, true],
    ['the first second after the step after', begin + 60, false],
  ];
  for (const [name, seconds, isAccepted] of borders) {
    test(`${isAccepted ? 'accepts' : 'refuses'} a code in ${name}`, () => {
      assert.deepEqual(checkTotp(secret, example, at(seconds)), isAccepted ? { step: exampleStep } : null);
    });
  }

  test('names the step of the code, not that of the clock', () => {
    for (const seconds of [begin - 30, begin + 30])
      assert.deepEqual(checkTotp(secret, example, at(seconds)), { step: exampleStep });
  });

  test('accepts only steps after the last accepted one', () => {
    assert.deepEqual(checkTotp(secret, example, at(begin, exampleStep - 1)), { step: exampleStep });
    assert.equal(checkTotp(secret, example, at(begin, exampleStep)), 'replayed');
    assert.equal(checkTotp(secret, example, at(begin, exampleStep + 1)), 'replayed');
  });

  test('calls a correct code replayed when the clock went back, and a wrong one wrong', () => {
    for (const lastStep of [exampleStep + 2, exampleStep + 1_000_000]) {
      assert.equal(checkTotp(secret, example, at(begin, lastStep)), 'replayed');
      assert.equal(checkTotp(secret, '000000', at(begin, lastStep)), null);
    }
  });

  test('accepts a code of the next step when it is one ahead of the clock, once', () => {
    const early = begin - 1;
    assert.deepEqual(checkTotp(secret, example, at(early, exampleStep - 1)), { step: exampleStep });
    assert.equal(checkTotp(secret, example, at(early, exampleStep)), 'replayed');
  });

  test('refuses the code of another secret', () => {
    assert.equal(checkTotp(Buffer.alloc(20, 1), example, at(begin)), null);
  });

  test('refuses malformed texts without an error', () => {
    const rows = [
      '',
      '81804',
      '0081804',
      '08180４',
      '０８１８０４',
      '081 804',
      '081804\n',
      '-81804',
      '+81804',
    ];
    rows.push('0x1804', '1e1804', '08180a', 'undefined', '0'.repeat(1e6), '\ud800\ud800\ud800', '081804\0');
    for (const row of rows) assert.equal(checkTotp(secret, row, at(begin)), null, row.slice(0, 20));
    fc.assert(
      fc.property(fc.string(), (text) => text === example || checkTotp(secret, text, at(begin)) === null),
    );
  });
});

describe('readTotpCode', () => {
  test('removes blanks', () => {
    for (const text of ['081804', '081 804', ' 081804\n', '0 8 1 8 0 4', '081\u00a0804'])
      assert.equal(readTotpCode(text), example);
  });

  test('returns null for anything but six ASCII digits', () => {
    for (const text of [
      '',
      ' ',
      '08180',
      '0818040',
      '081-804',
      '０８１８０４',
      '٠٨١٨٠٤',
      '08180a',
      '081804\0',
    ])
      assert.equal(readTotpCode(text), null, text);
    assert.equal(readTotpCode(' '.repeat(1e6)), null);
  });
});

describe('a secret', () => {
  test('is 20 new random bytes', () => {
    const secrets = Array.from({ length: 100 }, () => newTotpSecret());
    for (const each of secrets) assert.equal(each.length, 20);
    assert.equal(new Set(secrets.map((each) => each.toString('hex'))).size, 100);
  });

  test('is shown in base32 without padding', () => {
    assert.equal(totpText(secret), 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
    // RFC 4648, section 10.
    assert.equal(totpText(Buffer.from('foob')), 'MZXW6YQ');
  });
});

describe('totpUri', () => {
  const read = (issuer: string, account: string) => {
    const uri = totpUri({ issuer, account, secret });
    const { protocol, host, pathname, searchParams } = new URL(uri);
    assert.equal(`${protocol}//${host}`, 'otpauth://totp');
    return { uri, label: pathname.slice(1), parameters: Object.fromEntries(searchParams) };
  };

  test('has issuer, account and secret where apps look for them', () => {
    const { uri } = read('Castellan', 'ada@example.com');
    assert.equal(
      uri,
      'otpauth://totp/Castellan:ada%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Castellan',
    );
  });

  test('encodes what would end a part of it', () => {
    const issuer = 'Ärzte & Söhne / 100 % #1?';
    const account = "o'brien+a&b=c@example.com";
    const { label, parameters } = read(issuer, account);
    assert.deepEqual(label.split(':').map(decodeURIComponent), [issuer, account]);
    assert.deepEqual(parameters, { secret: totpText(secret), issuer });
  });

  test('has the issuer without colons, in both places', () => {
    const { label, parameters } = read('a:b: c', 'ada@example.com');
    assert.deepEqual(label.split(':').map(decodeURIComponent), ['ab c', 'ada@example.com']);
    assert.equal(parameters.issuer, 'ab c');
  });
});
