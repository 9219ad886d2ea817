import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aligned, jsonText, printable, printableLines, shown, widthOf } from './text.ts';

const hostile = 'a\u001b]0;x\u0007\u009b31m\u202eb\u2028c\r\nd\u007f';
const unsafe = /(?!\n)[\p{Cc}\p{Zl}\p{Bidi_Control}]/u;

test('no control character of a name reaches the terminal', () => {
  assert.equal(printable(hostile), 'a\\u001b]0;x\\u0007\\u009b31m\\u202eb\\u2028c\\u000d\\u000ad\\u007f');
  assert.equal(printableLines('one\ntwo\u001b'), 'one\ntwo\\u001b');
  assert.equal(printable('Zoë 山田 👩‍💻'), 'Zoë 山田 👩‍💻');
  assert.doesNotMatch(shown([hostile, { hostile }]), unsafe);
});

test('JSON has no control character either, and is the same value', () => {
  const value = { [hostile]: [hostile, 1, null], nested: { deep: true } };
  for (const indent of [0, 2]) {
    const text = jsonText(value, indent);
    assert.doesNotMatch(text, unsafe);
    assert.deepEqual(JSON.parse(text), value);
  }
  assert.equal(jsonText(value).includes('\n'), false);
});

test('values are shown for people', () => {
  assert.deepEqual([null, undefined, '', [], true, false, 0, 'x', ['a', 'b']].map(shown), [
    '-',
    '-',
    '-',
    '-',
    'yes',
    'no',
    '0',
    'x',
    'a, b',
  ]);
});

test('columns are aligned by what a terminal shows', () => {
  assert.deepEqual(['abc', 'é', 'e\u0301', '山田', '👍'].map(widthOf), [3, 1, 1, 4, 2]);
  assert.deepEqual(
    aligned([
      ['山', 'x', 'last'],
      ['abc', '', 'y'],
    ]),
    ['山   x  last', 'abc     y'],
  );
  assert.deepEqual(aligned([['a', 'b']], [4]), ['a     b']);
});
