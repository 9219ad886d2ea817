// The emails of the stand-in against those of the service: the same account for the same spellings, shown alike.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  canonicalEmail as ofService,
  shownEmail as shownByService,
} from '@castellan/server/platform/security/email';
import fc from 'fast-check';
import { canonicalEmail, shownEmail } from '../../src/testing/emails.ts';

/** Compares a spelling that the service takes. Of one that it refuses, the stand-in only has to make something. */
function compare(email: string): void {
  const expected = ofService(email);
  const found = canonicalEmail(email);
  const shown = shownEmail(found);
  if (expected === null) return;
  assert.equal(found, expected, email);
  assert.equal(shown, shownByService(expected), email);
  assert.equal(canonicalEmail(shown), expected, email);
}

const domains = [
  'münchen.de',
  'MÜNCHEN.de',
  'mu\u0308nchen.de',
  'xn--mnchen-3ya.de',
  'XN--MNCHEN-3YA.DE',
  'bücher.xn--mnchen-3ya.example',
  'straße.example',
  '例え.テスト',
  'مصر.example',
  'l·l.example',
  // Could be read as others: these stay in ASCII.
  'аррӏе.com',
  'еxample.com',
  'xn--80ak6aa92e.com',
  // The ASCII form of nothing.
  'xn--zzzz99.example',
  'xn--99999999999.example',
  'xn--fsqu00a.xn--0zwm56d',
];

for (const domain of domains)
  test(`the stand-in treats ${domain} as the service does`, () => {
    assert.notEqual(ofService(`ann@${domain}`), null);
    compare(`ann@${domain}`);
  });

for (const domain of [
  'exam\u212aüle.com',
  'ｅxample.com',
  'ﬁn.example',
  'STRAẞE.example',
  'mün\u200bchen.example',
  'mün\u00adchen.example',
  'münchen-.example',
  'xn--mnchen-3ya。example',
])
  test(`the stand-in makes no other domain of ${JSON.stringify(domain)}, which the service refuses`, () => {
    assert.equal(ofService(`ann@${domain}`), null);
    assert.match(canonicalEmail(`ann@${domain}`), /\P{ASCII}/u);
  });

test('the stand-in treats every email that the service takes alike', () => {
  const letter = fc.oneof(
    fc.constantFrom(...'aeounxyzAÄÖÜäöüßéèçñ·-09.'),
    fc.constantFrom(
      ...'аеорсухіабвгдЖщ',
      ...'αβγδωΣς',
      ...'例字漢あいうアイウ한글',
      ...'אבגדמصر',
      'ك',
      '\u0308',
      '\u0301',
      '\u200d',
    ),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
  );
  const domain = fc
    .tuple(fc.array(letter, { minLength: 1, maxLength: 12 }), fc.constantFrom('example', 'de', 'бг', '中国'))
    .map(([letters, top]) => `${letters.join('')}.${top}`);
  let taken = 0;
  fc.assert(
    fc.property(domain, (one) => {
      if (/\P{ASCII}/u.test(one) && ofService(`ann@${one}`) !== null) taken += 1;
      compare(`ann@${one}`);
    }),
    { numRuns: 5_000 },
  );
  assert.ok(taken > 200, `only ${taken} of them are internationalized`);
  const label = fc.string({ unit: fc.constantFrom(...'abcdexyz0189-'), minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(label, (one) => compare(`ann@xn--${one}.example`)),
    { numRuns: 5_000 },
  );
});
