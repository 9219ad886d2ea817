import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterMs } from './retry-times.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

test('waits grow from five seconds to six hours', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 50].map((failures) => retryAfterMs(failures, 0, 0));
  assert.deepEqual(waits, [
    5 * SECOND,
    30 * SECOND,
    2 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    6 * HOUR,
    6 * HOUR,
    6 * HOUR,
  ]);
});

test('a wait is shortened by up to a fifth, and lengthened to what the receiver asks, up to an hour', () => {
  assert.equal(retryAfterMs(1, 0, 1), 4 * SECOND);
  assert.equal(retryAfterMs(1, 7 * SECOND, 1), 7 * SECOND);
  assert.equal(retryAfterMs(1, 24 * HOUR, 1), HOUR);
  assert.equal(retryAfterMs(9, 7 * SECOND, 0), 6 * HOUR);
  for (let i = 0; i < 100; i += 1) {
    const wait = retryAfterMs(2);
    assert.ok(wait >= 24 * SECOND && wait <= 30 * SECOND, String(wait));
  }
});
