// The judgement of a worker by its beats. It must not wait: a tick is a call.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPulse, MAX_SILENT_TICKS, type Pulse } from './pulse.ts';

const ticksOf = (pulse: Pulse, count: number): boolean[] => Array.from({ length: count }, () => pulse.tick());

test('a worker counts as hanging once, after three whole intervals without a beat', () => {
  const pulse = createPulse();
  pulse.beat();
  assert.deepEqual(ticksOf(pulse, 6), [false, false, false, true, false, false]);
});

test('a worker that beats is never judged, however late its beats are read', () => {
  const pulse = createPulse();
  for (let round = 0; round < 100; round += 1) {
    pulse.beat();
    assert.deepEqual(ticksOf(pulse, MAX_SILENT_TICKS), [false, false, false]);
  }
});

test('a worker is not judged before its first beat', () => {
  const pulse = createPulse();
  assert.ok(!ticksOf(pulse, 100).includes(true));
});
