// Tests the canonical form that uniqueness, lookups, limits and locks use.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { domainToUnicode } from 'node:url';
import { assertLinear } from '@castellan/testing/linear-time';
import fc from 'fast-check';
import { canonicalEmail, hasMarkupOrControl, shownEmail } from './email.ts';

const label63 = 'a'.repeat(63);
const domain189 = `${label63}.${label63}.${'a'.repeat(61)}`;

describe('canonical email', () => {
  const accepted: [input: string, expected: string][] = [
    ['ann@example.com', 'ann@example.com'],
    ['  Ann.Lee@EXAMPLE.Com ', 'ann.lee@example.com'],
    ['\u00a0ann@example.com\u3000', 'ann@example.com'],
    ["o'brien+tag@sub.example.co.uk", "o'brien+tag@sub.example.co.uk"],
    ["!#$%&'*+/=?^_`{|}~-@example.com", "!#$%&'*+/=?^_`{|}~-@example.com"],
    ['1@2.example', '1@2.example'],
    ['a@b.c', 'a@b.c'],
    ['a@xn--bcher-kva.example', 'a@xn--bcher-kva.example'],
    ['a@1-2--3.example', 'a@1-2--3.example'],
    [`${'a'.repeat(64)}@${domain189}`, `${'a'.repeat(64)}@${domain189}`],
    [`a@${label63}.com`, `a@${label63}.com`],
    ['ADMIN@EXAMPLE.COM', 'admin@example.com'],
    ['__proto__@example.com', '__proto__@example.com'],
    ['joerg@münchen.example', 'joerg@xn--mnchen-3ya.example'],
    [' Joerg@MÜNCHEN.Example ', 'joerg@xn--mnchen-3ya.example'],
    ['joerg@mu\u0308nchen.example', 'joerg@xn--mnchen-3ya.example'],
    ['joerg@XN--MNCHEN-3YA.example', 'joerg@xn--mnchen-3ya.example'],
    ['a@straße.example', 'a@xn--strae-oqa.example'],
    ['a@例え.テスト', 'a@xn--r8jz45g.xn--zckzah'],
    ['a@مصر.example', 'a@xn--wgbh1c.example'],
    ['a@bücher.xn--mnchen-3ya.example', 'a@xn--bcher-kva.xn--mnchen-3ya.example'],
    ['ann@еxample.com', 'ann@xn--xample-2of.com'],
    // In ASCII already, and the form of no letters.
    ['a@xn--zzzz99.example', 'a@xn--zzzz99.example'],
  ];
  for (const [input, expected] of accepted) {
    test(`${JSON.stringify(input.slice(0, 60))} is accepted`, () => {
      assert.equal(canonicalEmail(input), expected);
      assert.equal(hasMarkupOrControl(input), false);
    });
  }

  const noEmail = [
    '',
    ' ',
    '@',
    'ann',
    'ann@',
    '@example.com',
    'ann@example',
    'ann@localhost',
    'ann@@example.com',
    'ann@example.com@evil.example',
    'ann @example.com',
    'ann@ example.com',
    'ann@exam ple.com',
    '.ann@example.com',
    'ann.@example.com',
    'an..n@example.com',
    'ann@.example.com',
    'ann@example.com.',
    'ann@example..com',
    'ann@-example.com',
    'ann@example-.com',
    'ann@exa_mple.com',
    'ann@example.123',
    'ann@127.0.0.1',
    'ann@0x7f.0.0.0x1',
    'ann@[127.0.0.1]',
    'ann@[IPv6:::1]',
    '"ann"@example.com',
    '"a b"@example.com',
    'ann(comment)@example.com',
    'ann@example.com(comment)',
    'ann@example.com,eve@example.com',
    'ann@example.com;eve@example.com',
    'ann@example.com eve@example.com',
    'mailto:ann@example.com',
    'ann\\@example.com',
    'ann@example.com?cc=eve@example.com',
    'änn@example.com',
    'ann@example.com\u200b',
    'a\u0131n@example.com',
    'Kelvin\u212a@example.com',
    'mıke@example.org',
    'ann＠example.com',
    // Letters that stand for others: what comes back is not what was typed.
    'ann@ｅxample.com',
    'ann@exam\u212ale.com',
    'ann@exam\u212aüle.com',
    'ann@ﬁn.example',
    'ann@İx.example',
    'ann@STRAẞE.example',
    'ann@例え。example',
    'ann@mün\u200bchen.example',
    'ann@mün\u00adchen.example',
    'ann@mün%63hen.example',
    'ann@-münchen.example',
    'ann@münchen-.example',
    'ann@☃.example',
    'ann@münchen.example.',
    `ann@${'ü'.repeat(63)}.example`,
    `${'a'.repeat(65)}@example.com`,
    `a@${'a'.repeat(64)}.com`,
    `${'a'.repeat(64)}@${domain189}a`,
    `a@${'a.'.repeat(130)}com`,
    `${' '.repeat(600)}ann@example.com`,
  ];
  for (const input of noEmail) {
    test(`${JSON.stringify(input.slice(0, 60))} is no email, but passes sanitisation`, () => {
      assert.equal(canonicalEmail(input), null);
      assert.equal(hasMarkupOrControl(input), false);
    });
  }

  const unclean = [
    'ann@example.com\0',
    'ann\0@example.com',
    'ann@example.com\n',
    '\tann@example.com',
    'ann@example.com\r\nBcc: eve@example.com',
    'ann\u007f@example.com',
    'ann\u0085@example.com',
    'Ann <ann@example.com>',
    '<script>alert(1)</script>@example.com',
    'ann@example.com>',
    'a<b',
    'ann\ud800@example.com',
    '\udc00',
  ];
  for (const input of unclean) {
    test(`${JSON.stringify(input)} fails sanitisation and is no email`, () => {
      assert.equal(canonicalEmail(input), null);
      assert.equal(hasMarkupOrControl(input), true);
    });
  }

  const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text.trim());
  // Letter by letter: the context of a Greek sigma changes nothing.
  const lower = (text: string): string => [...text.normalize('NFC')].map((one) => one.toLowerCase()).join('');

  const anything = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.emailAddress(),
    fc.tuple(fc.string({ unit: 'grapheme' }), fc.domain()).map((parts) => parts.join('@')),
  );

  test('every result is ASCII, lower-case, at most 254 long, and its own canonical form', () => {
    fc.assert(
      fc.property(anything, (input) => {
        const email = canonicalEmail(input);
        if (email === null) return;
        assert.match(email, /^[!-;=?A-~]+@[a-z\d.-]+$/);
        assert.equal(email, email.toLowerCase());
        assert.ok(email.length <= 254);
        assert.equal(canonicalEmail(email), email);
        assert.equal(canonicalEmail(email.toUpperCase()), email);
        assert.equal(canonicalEmail(`  ${email} `), email);
      }),
      { numRuns: 2000 },
    );
  });

  test('emails that differ in more than ASCII case and outer spaces stay different', () => {
    fc.assert(
      fc.property(anything, anything, (one, other) => {
        const email = canonicalEmail(one);
        if (email === null || email !== canonicalEmail(other)) return;
        if (isAscii(one) && isAscii(other))
          assert.equal(one.trim().toLowerCase(), other.trim().toLowerCase());
      }),
    );
  });

  test('a domain with other letters is the email of exactly these letters', () => {
    const letters = fc.string({
      unit: fc.constantFrom(...'äöüßéøłıſİςшяаеіअ例え가مﬁｅ'),
      minLength: 1,
      maxLength: 12,
    });
    let accepted = 0;
    fc.assert(
      fc.property(letters, (label) => {
        const email = canonicalEmail(`ann@${label}.example`);
        if (email === null) return;
        accepted += 1;
        const host = new URL(`http://${email.slice('ann@'.length)}`).hostname;
        assert.equal(domainToUnicode(host), `${lower(label)}.example`);
      }),
      { numRuns: 2000 },
    );
    assert.ok(accepted > 100);
  });

  test('long input takes linear time at most', () => {
    const inputs: ((size: number) => string)[] = [
      (size) => 'a'.repeat(size),
      (size) => 'a.'.repeat(size / 2),
      (size) => `a@${'a-'.repeat(size / 2)}`,
      (size) => ' '.repeat(size),
      (size) => '@'.repeat(size),
    ];
    for (const input of inputs)
      assertLinear(input(6), (size) => assert.equal(canonicalEmail(input(size)), null), 1e6);
  });
});

describe('shown email', () => {
  const shown: [stored: string, expected: string][] = [
    ['ada@example.com', 'ada@example.com'],
    ['joerg@xn--mnchen-3ya.example', 'joerg@münchen.example'],
    ['a@xn--strae-oqa.example', 'a@straße.example'],
    ['a@xn--r8jz45g.xn--zckzah', 'a@例え.テスト'],
    ['xn--a@xn--wgbh1c.example', 'xn--a@مصر.example'],
    // Leads back to nothing.
    ['a@xn--zzzz99.example', 'a@xn--zzzz99.example'],
    ['a@xn--abc.example', 'a@xn--abc.example'],
    // Reads as example.com and apple.com.
    ['ann@xn--xample-2of.com', 'ann@xn--xample-2of.com'],
    ['ann@xn--80ak6aa92e.com', 'ann@xn--80ak6aa92e.com'],
    ['ann@xn--80ak6aa92e.xn--p1ai', 'ann@аррӏе.рф'],
    // No email at all, such as the name of a role.
    ['xn--mnchen-3ya', 'xn--mnchen-3ya'],
    ['xn--@ @xn--mnchen-3ya.example', 'xn--@ @xn--mnchen-3ya.example'],
  ];
  for (const [stored, expected] of shown)
    test(`${stored} is shown as ${expected}`, () => {
      assert.equal(shownEmail(stored), expected);
      assert.equal(canonicalEmail(expected) ?? stored, stored);
    });
});
