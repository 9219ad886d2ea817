import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countFailure, holdTarget, isProbed, limitOf, PROBED_AFTER, roomToNote } from './held.ts';

const held = () => holdTarget({ id: 'a', parallel: 8, leaseUntil: 30_000, failures: 0, nextAt: 0 });

test('after twenty failures, one delivery at a time; those under way do not lengthen the wait', () => {
  const target = held();
  for (let i = 1; i < PROBED_AFTER; i += 1) countFailure(target, false, undefined, 1_000);
  assert.deepEqual([isProbed(target), limitOf(target), target.nextAt], [false, 8, 0]);
  for (let i = 0; i < 8; i += 1) countFailure(target, false, undefined, 1_000);
  assert.deepEqual([target.failures, limitOf(target)], [PROBED_AFTER, 1]);
  assert.ok(target.nextAt >= 5_000 && target.nextAt <= 6_000, String(target.nextAt));
  countFailure(target, true, undefined, 10_000);
  assert.equal(target.failures, PROBED_AFTER + 1);
  assert.ok(target.nextAt >= 34_000 && target.nextAt <= 40_000, String(target.nextAt));
  // One that began long before the probe.
  countFailure(target, false, undefined, 10_000);
  assert.equal(target.failures, PROBED_AFTER + 1);
});

test('deliveries are noted before there is room, and one alone while the target waits as one', () => {
  const target = held();
  assert.equal(roomToNote(target), 16);
  target.sending = 8;
  assert.equal(roomToNote(target), 8);
  target.noted = Array.from({ length: 5 }, (_, id) => ({
    id: String(id),
    sourceId: '',
    type: '',
    key: String(id),
    isReplay: false,
    attempts: 0,
    dueInMs: 0,
    triedForMs: null,
  }));
  assert.equal(roomToNote(target), 0);
  target.failures = PROBED_AFTER;
  target.noted = [];
  assert.equal(roomToNote(target), -7);
  target.sending = 0;
  assert.equal(roomToNote(target), 1);
});
