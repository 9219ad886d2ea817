import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptBodies } from './kept-bodies.ts';

const body = (length: number, text = 'x'): Buffer => Buffer.from(text.repeat(length));

test('a kept body is returned under its key, and the last one replaces it', () => {
  const kept = new KeptBodies(10_000);
  kept.set('a', body(1));
  kept.set('a', body(2));
  assert.deepEqual(kept.get('a'), body(2));
  assert.equal(kept.get('b'), undefined);
});

test('the bodies that were not used for longest are dropped', () => {
  const kept = new KeptBodies(10_000);
  for (const key of ['a', 'b']) kept.set(key, body(4_000, key));
  assert.deepEqual(kept.get('a'), body(4_000, 'a'));
  kept.set('c', body(4_000, 'c'));
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => kept.get(key)?.toString('latin1', 0, 1)),
    ['a', undefined, 'c'],
  );
});

test('replacing a body frees its bytes', () => {
  const kept = new KeptBodies(10_000);
  kept.set('a', body(4_000));
  for (let time = 0; time < 10; time += 1) kept.set('b', body(4_000));
  assert.ok(kept.get('a'));
});

test('a body of more than half of the bytes is not kept, and drops no other', () => {
  const kept = new KeptBodies(10_000);
  kept.set('a', body(1));
  kept.set('b', body(5_001));
  assert.deepEqual([kept.get('a')?.length, kept.get('b')], [1, undefined]);
});

test('many empty bodies do not grow without limit', () => {
  const kept = new KeptBodies(10_000);
  const keys = Array.from({ length: 1_000 }, (_, index) => `${index}`);
  for (const key of keys) kept.set(key, body(0));
  assert.ok(keys.filter((key) => kept.get(key)).length < 20);
});
