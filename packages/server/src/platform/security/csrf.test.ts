// Tests the signed double submit: a token is valid for one browser, for eight hours, in one spelling.
import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createCsrf } from './csrf.ts';

const start = Date.UTC(2030, 0, 1);
const hour = 3_600_000;

function fixture(key = randomBytes(32)) {
  const clock = { ms: start, now: () => clock.ms };
  const csrf = createCsrf({ key, clock });
  const browserId = csrf.readBrowserId(csrf.issueBrowserId())!;
  return { key, clock, csrf, browserId };
}

const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Returns every text that differs from the given one in a single character. */
function* oneCharacterOff(text: string): Generator<string> {
  for (let index = 0; index < text.length; index++) {
    for (const other of `${base64url}.+/= \0é`) {
      if (text[index] !== other) yield text.slice(0, index) + other + text.slice(index + 1);
    }
  }
}

describe('the browser id', () => {
  test('an issued cookie is read back, is safe in a cookie header and never repeats', () => {
    const { csrf } = fixture();
    const cookies = Array.from({ length: 1000 }, () => csrf.issueBrowserId());
    assert.equal(new Set(cookies.map((cookie) => csrf.readBrowserId(cookie))).size, 1000);
    for (const cookie of cookies) assert.match(cookie, /^[\w-]{22}\.[\w-]{43}$/);
  });

  test('another instance with the same key reads it, one with another key does not', () => {
    const { csrf, key } = fixture();
    const cookie = csrf.issueBrowserId();
    assert.notEqual(fixture(key).csrf.readBrowserId(cookie), null);
    assert.equal(fixture().csrf.readBrowserId(cookie), null);
  });

  test('a cookie that differs in one character is refused, also where base64 has spare bits', () => {
    const { csrf } = fixture();
    for (const forged of oneCharacterOff(csrf.issueBrowserId()))
      assert.equal(csrf.readBrowserId(forged), null);
  });

  test('anything else is refused', () => {
    const { csrf, browserId } = fixture();
    const cookie = csrf.issueBrowserId();
    const rows = [undefined, '', '.', browserId, `${browserId}.`, ` ${cookie}`, `${cookie}\n`, `${cookie}=`];
    rows.push(cookie + cookie, cookie.slice(0, -1), 'x'.repeat(1e6), csrf.issueToken(browserId));
    for (const row of rows) assert.equal(csrf.readBrowserId(row), null);
    fc.assert(fc.property(fc.string(), (text) => csrf.readBrowserId(text) === null));
  });
});

describe('the token', () => {
  test('is valid for its browser any number of times, along with other tokens of the same browser', () => {
    const { csrf, browserId, key } = fixture();
    const tokens = Array.from({ length: 20 }, () => csrf.issueToken(browserId));
    assert.equal(new Set(tokens).size, 20);
    for (const token of [...tokens, ...tokens]) assert.equal(csrf.verifyToken(browserId, token), true);
    assert.equal(fixture(key).csrf.verifyToken(browserId, tokens[0]), true);
  });

  test('is not valid for another browser, nor under another key', () => {
    const { csrf, browserId } = fixture();
    const token = csrf.issueToken(browserId);
    const other = csrf.readBrowserId(csrf.issueBrowserId())!;
    assert.equal(csrf.verifyToken(other, token), false);
    assert.equal(csrf.verifyToken('', token), false);
    assert.equal(fixture().csrf.verifyToken(browserId, token), false);
  });

  const ages: [name: string, ageMs: number, expected: boolean][] = [
    ['at once', 0, true],
    ['one millisecond before eight hours', 8 * hour - 1, true],
    ['after eight hours', 8 * hour, false],
    ['after a year', 8760 * hour, false],
    ['from an instance whose clock is a minute ahead', -60_000, true],
    ['from further in the future', -60_001, false],
    ['from far in the future', -8760 * hour, false],
  ];
  for (const [name, ageMs, expected] of ages) {
    test(`${name}: ${expected ? 'valid' : 'refused'}`, () => {
      const { csrf, browserId, clock } = fixture();
      const token = csrf.issueToken(browserId);
      clock.ms = start + ageMs;
      assert.equal(csrf.verifyToken(browserId, token), expected);
    });
  }

  test('one that differs in a single character is refused', () => {
    const { csrf, browserId } = fixture();
    for (const forged of oneCharacterOff(csrf.issueToken(browserId))) {
      assert.equal(csrf.verifyToken(browserId, forged), false);
    }
  });

  test('anything else is refused', () => {
    const { csrf, browserId, key } = fixture();
    const token = csrf.issueToken(browserId);
    const body = Buffer.from(token, 'base64url').subarray(0, 22);
    const unlabelled = createHmac('sha256', key).update(browserId).update(body).digest();
    const rows = [
      undefined,
      '',
      token.slice(1),
      `${token}A`,
      `${token}\n`,
      ` ${token}`,
      `${token}=`,
      token + token,
    ];
    rows.push(browserId, csrf.issueBrowserId(), 'x'.repeat(1e6), 'A'.repeat(72));
    rows.push(
      Buffer.concat([body, unlabelled]).toString('base64url'),
      Buffer.from(token, 'base64url').toString('base64'),
    );
    for (const row of rows) {
      if (row !== token) assert.equal(csrf.verifyToken(browserId, row), false, row?.slice(0, 80));
    }
    fc.assert(fc.property(fc.string(), (text) => !csrf.verifyToken(browserId, text)));
  });

  test('a short key is refused at start', () => {
    assert.throws(() => createCsrf({ key: randomBytes(31), clock: { now: () => 0 } }), RangeError);
  });
});
