import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from '@castellan/testing/linear-time';
import { acceptsCoding, preferenceFor, preferredType } from './accept.ts';

for (const [accept, quality, isNamed] of [
  [undefined, 1, false],
  ['*/*', 1, false],
  ['text/html', 1, true],
  ['TEXT/HTML ; Q=0.5', 0.5, true],
  ['application/json, text/html;q=0.1', 0.1, true],
  ['text/html;q=0, */*', 0, true],
  ['text/*;q=0.3, */*;q=0.9', 0.3, false],
  ['text/html;level=1;q=0.4', 0.4, true],
  ['text/html;q=often', 1, true],
  ['text/html;q=7', 1, true],
  ['application/json', 0, false],
  ['', 0, false],
] as const)
  test(`Accept: ${accept} weighs text/html with ${quality}`, () => {
    assert.deepEqual(preferenceFor('text/html', accept), { quality, isNamed });
  });

test('a long hostile header is read in linear time', () => {
  const read = (size: number) =>
    assert.equal(preferenceFor('text/html', 'a/b;q=1;,'.repeat(size)).quality, 0);
  assertLinear('a header', read, 20_000);
  const readSpaces = (size: number) =>
    assert.equal(acceptsCoding('gzip', `br${' '.repeat(size)}x, gzip;q=0`), false);
  assertLinear('a header of spaces', readSpaces, 20_000);
});

for (const [header, accepts] of [
  [undefined, false],
  ['', false],
  ['*', false],
  ['br, deflate', false],
  ['x-gzip', false],
  ['gzip', true],
  ['br , GZIP ; q=0.001', true],
  ['gzip;q=0', false],
  ['gzip ; Q=0.000, br', false],
  [['br', 'gzip'], true],
] as const)
  test(`Accept-Encoding: ${header} takes gzip: ${accepts}`, () => {
    assert.equal(
      acceptsCoding('gzip', header === undefined || typeof header === 'string' ? header : [...header]),
      accepts,
    );
  });

for (const [accept, preferred] of [
  [undefined, 'a/first'],
  ['*/*', 'a/first'],
  ['b/second', 'b/second'],
  ['b/second, */*', 'b/second'],
  ['b/*, a/first', 'a/first'],
  ['b/*', 'b/second'],
  ['a/first, b/second', 'a/first'],
  ['b/second, a/first', 'a/first'],
  ['b/second;q=0.9, a/first;q=0.8', 'b/second'],
  ['b/second;q=0.1', 'b/second'],
  ['b/second;q=0.5, a/first', 'a/first'],
  ['b/second;q=0', 'a/first'],
  ['b/second;q=0, a/first;q=0', 'a/first'],
  ['c/third', 'a/first'],
  ['', 'a/first'],
] as const)
  test(`Accept: ${accept} prefers ${preferred}`, () => {
    assert.equal(preferredType(['a/first', 'b/second'], accept), preferred);
  });
