// Ages of proofs: exact in words, and the one that is set can be kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agesWith, ageText } from './ages.ts';

test('an age is told exactly', () => {
  assert.deepEqual([30, 60, 90, 600, 3_600, 5_400, 86_400].map(ageText), [
    '30 seconds',
    '1 minute',
    '90 seconds',
    '10 minutes',
    '1 hour',
    '90 minutes',
    '24 hours',
  ]);
});

test('an unusual age that is set is among those to choose from, in order', () => {
  assert.deepEqual(agesWith(90).slice(0, 3), [60, 90, 300]);
  assert.deepEqual(agesWith(300), agesWith(null));
});
