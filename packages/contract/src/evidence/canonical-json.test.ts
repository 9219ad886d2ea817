// Tests the canonical form with the examples of RFC 8785.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalJson } from './canonical-json.ts';

test('the example of RFC 8785, 3.2.3', () => {
  const value: unknown = JSON.parse(`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
    "literals": [null, true, false]
  }`);
  assert.equal(
    canonicalJson(value),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

test('members are sorted by UTF-16 code units', () => {
  const value: unknown = JSON.parse(`{
    "\\u20ac": "Euro Sign", "\\r": "Carriage Return", "\\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
    "\\ud83d\\ude00": "Emoji: Grinning Face", "\\u0080": "Control", "\\u00f6": "Latin Small Letter O With Diaeresis"
  }`);
  const names = Object.keys(JSON.parse(canonicalJson(value)) as object);
  // JSON.parse puts the member named like an index first.
  assert.deepEqual(names, ['1', '\r', '\u0080', '\u00f6', '\u20ac', '\u{1F600}', '\uFB33']);
  assert.equal(canonicalJson({ b: 1, a: { d: [], c: {} } }), '{"a":{"c":{},"d":[]},"b":1}');
});

test('numbers are as RFC 8785, appendix B, writes them', () => {
  const texts = ['0', '0', '5e-324', '1.7976931348623157e+308', '9007199254740992', '295147905179352830000'];
  const values = [0, -0, 5e-324, Number.MAX_VALUE, 2 ** 53, 295147905179352830000];
  assert.deepEqual(values.map(canonicalJson), texts);
});

test('what JSON cannot hold is refused', () => {
  for (const value of [Number.NaN, Infinity, undefined, 1n, () => 0, Symbol('a'), '\ud800', { '\udc00': 1 }])
    assert.throws(() => canonicalJson({ value }), TypeError);
  assert.throws(() => canonicalJson([undefined]), TypeError);
});
