import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../errors.ts';
import { MAX_DEPTH, refuseLargeJson } from './json-size.ts';

/** Returns the code of the refusal, if any. */
const refused = (text: string, maxValues = 200): string | undefined => {
  try {
    refuseLargeJson(Buffer.from(text), maxValues);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof AppError);
    return error.code;
  }
};

test('as many values as allowed pass, one more is refused, in arrays and objects', () => {
  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]));
  for (const make of [(count: number) => Array(count).fill([]), members]) {
    assert.equal(refused(JSON.stringify(make(200))), undefined);
    assert.equal(refused(JSON.stringify(make(201))), 'body_too_large');
    assert.equal(refused(JSON.stringify(make(2_000), null, 2), 2_000), undefined);
    assert.equal(refused(JSON.stringify(make(2_001), null, 2), 2_000), 'body_too_large');
  }
});

test('every level of nested arrays and objects counts, and empty ones contain no value', () => {
  const chain = `${'['.repeat(30)}${']'.repeat(30)}`;
  // 29 values in each chain, and the chain itself.
  assert.equal(refused(`[${Array(6).fill(chain)}]`, 180), undefined);
  assert.equal(refused(`[${Array(6).fill(chain)}]`, 179), 'body_too_large');
  assert.equal(refused('{"a":{"b":[ \n]}, "c":[ 1 ]}', 4), undefined);
  assert.equal(refused('{"a":{"b":[ \n]}, "c":[ 1 ]}', 3), 'body_too_large');
});

test('brackets and commas in a string do not count, with any escapes', () => {
  for (const text of [
    ','.repeat(1_000),
    '['.repeat(1_000),
    '\\'.repeat(999),
    '"'.repeat(999),
    '",'.repeat(999),
    '\\",{'.repeat(999),
    '𝒜,é'.repeat(999),
  ]) {
    assert.equal(refused(JSON.stringify({ [text]: text, more: [text] })), undefined, text.slice(0, 9));
    assert.equal(refused(JSON.stringify([text, ...Array(200).fill(0)])), 'body_too_large', text.slice(0, 9));
  }
});

test(`${MAX_DEPTH} levels pass, one more is refused, and closed ones do not count`, () => {
  const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}0${'}]'.repeat(levels / 2)}`;
  assert.equal(refused(nested(MAX_DEPTH)), undefined);
  assert.equal(refused(nested(MAX_DEPTH + 2)), 'malformed_json');
  assert.equal(refused(`[${nested(MAX_DEPTH - 2)},${nested(MAX_DEPTH - 2)}]`), undefined);
  assert.equal(refused('['.repeat(1_000_000)), 'malformed_json');
});

test('invalid JSON is left to the parser', () => {
  for (const text of ['', '"', '\\', '"\\', ']]]]', '{"a":', `"${'x'.repeat(99)}`, `${'}'.repeat(99)}[`])
    assert.equal(refused(text), undefined, text);
});
