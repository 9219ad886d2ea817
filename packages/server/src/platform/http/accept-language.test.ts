import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '@castellan/testing/linear-time';
import { preferredLanguage } from './accept-language.ts';

for (const [header, language] of [
  [null, null],
  ['', null],
  ['*', null],
  ['fr, es;q=0.5', null],
  ['de', 'de'],
  ['DE', 'de'],
  ['de-CH', 'de'],
  ['de-Latn-DE-1996', 'de'],
  ['en-GB, de;q=0.9', 'en'],
  ['de;q=0.7, en;q=0.8', 'en'],
  ['fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5', 'en'],
  ['de;q=0.8, en;q=0.8', 'de'],
  ['de;q=0', null],
  ['de;q=0.0, en;q=0.001', 'en'],
  ['*;q=1, de;q=0.1', 'de'],
  ['de ; q=0.5 , en ; q=0.6', 'en'],
  ['deu', null],
  ['d', null],
  ['de_DE', null],
  ['de-', null],
  ['de\u0000', null],
  ['__proto__, constructor', null],
  ['de;q=often', 'de'],
] as const)
  test(`Accept-Language: ${JSON.stringify(header)} prefers ${language}`, () => {
    assert.equal(preferredLanguage(['en', 'de'], header), language);
  });

for (const piece of ['de;q=0.1,', ',', ';q=1;', 'a-', 'de-de-', ' ', 'x;'.repeat(3)])
  test(`a header of many times ${JSON.stringify(piece)} is read in linear time`, () => {
    assertLinear(piece, (size) => void preferredLanguage(['en', 'de'], `${piece.repeat(size)},fr`), 20_000);
  });

test('thousands of ranges are judged, and the last one may be the best', () => {
  const many = Array.from({ length: 5_000 }, (_, at) => `x${at}-de;q=0.9`).join(',');
  assert.equal(preferredLanguage(['en', 'de'], `${many},en;q=0.2,de;q=0.3`), 'de');
});
