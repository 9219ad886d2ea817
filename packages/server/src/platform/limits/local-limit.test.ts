// Tests the limit that is counted in the process: windows, refusals, limited memory. The clock is a number.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalLimit } from './local-limit.ts';

const rule = { limit: 2, windowSeconds: 60 };

test('a window allows the limit of hits, marks the first refusal, and the next window starts at 0', () => {
  let now = 5_000;
  const limit = createLocalLimit(rule, { now: () => now });
  const hit = () => limit.hit('a');
  assert.deepEqual(hit(), { allowed: true, limit: 2, remaining: 1, resetSeconds: 60, firstRefusal: false });
  now += 20_500;
  assert.deepEqual(hit(), { allowed: true, limit: 2, remaining: 0, resetSeconds: 40, firstRefusal: false });
  assert.equal(limit.refusal('a'), null);
  assert.deepEqual(hit(), { allowed: false, limit: 2, remaining: 0, resetSeconds: 40, firstRefusal: true });
  assert.deepEqual(hit(), { allowed: false, limit: 2, remaining: 0, resetSeconds: 40, firstRefusal: false });
  assert.equal(limit.hit('b').allowed, true);
  assert.equal(limit.refusal('a')?.resetSeconds, 40);
  now += 39_500;
  assert.equal(limit.refusal('a'), null);
  assert.equal(hit().remaining, 1);
});

test('a hit with a weight counts as many, and marks the first refusal', () => {
  const limit = createLocalLimit(rule);
  assert.equal(limit.hit('a', 2).allowed, true);
  assert.equal(limit.hit('b').allowed, true);
  const { allowed, firstRefusal, remaining } = limit.hit('b', 4);
  assert.deepEqual([allowed, firstRefusal, remaining], [false, true, 0]);
  assert.equal(limit.hit('b', 4).firstRefusal, false);
});

test('refusal() counts nothing', () => {
  const limit = createLocalLimit(rule);
  for (let count = 0; count < 10; count += 1) assert.equal(limit.refusal('a'), null);
  assert.equal(limit.hit('a').remaining, 1);
});

test('the oldest window is dropped at the maximum of keys, after the ended ones', () => {
  let now = 0;
  const limit = createLocalLimit(rule, { now: () => now, maxKeys: 2 });
  for (const key of ['a', 'a', 'b', 'b', 'c', 'c']) limit.hit(key);
  assert.equal(limit.hit('b').allowed, false);
  assert.equal(limit.hit('a').allowed, true);
  now = 61_000;
  assert.equal(limit.hit('d').remaining, 1);
  assert.equal(limit.hit('e').remaining, 1);
  assert.equal(limit.hit('d').remaining, 0);
});
