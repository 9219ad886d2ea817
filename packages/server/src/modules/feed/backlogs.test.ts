import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBacklogs } from './backlogs.ts';
import { RING_BYTES } from './ring.ts';

test('one reader keeps at most as much as the ring, and all together the maximum', () => {
  const backlogs = createBacklogs(RING_BYTES + 100);
  const [first, second] = [backlogs.share(), backlogs.share()];
  assert.equal(first.takes(RING_BYTES), true);
  assert.equal(first.takes(1), false);
  assert.equal(second.takes(101), false);
  assert.equal(second.takes(100), true);
  first.end();
  first.end();
  assert.equal(second.takes(RING_BYTES - 100), true);
  assert.equal(backlogs.share().takes(101), false);
});
