import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs } from './backoff.ts';

test('waits double up to the longest, and are shortened by up to a fifth', () => {
  const backoff = { firstMs: 1_000, maxMs: 5_000 };
  const waits = [1, 2, 3, 4, 2_000].map((attempts) => backoffMs(backoff, attempts, 1));
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 5_000, 5_000]);
  assert.equal(backoffMs(backoff, 4, 0), 4_000);
  for (let i = 0; i < 100; i += 1) {
    const wait = backoffMs(backoff, 1);
    assert.ok(wait >= 800 && wait <= 1_000, String(wait));
  }
});
