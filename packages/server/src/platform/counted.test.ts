import assert from 'node:assert/strict';
import { test } from 'node:test';
import { duration } from './counted.ts';

for (const [minutes, english, german] of [
  [1, '1 minute', '1 Minute'],
  [30, '30 minutes', '30 Minuten'],
  [0.5, '0.5 minutes', '0,5 Minuten'],
  [0.01, '0.01 minutes', '0,01 Minuten'],
  [60, '1 hour', '1 Stunde'],
  [90, '90 minutes', '90 Minuten'],
  [1_440, '24 hours', '24 Stunden'],
  [2_880, '2 days', '2 Tage'],
  [2_940, '49 hours', '49 Stunden'],
  [10_080, '7 days', '7 Tage'],
  [525_601, '525,601 minutes', '525.601 Minuten'],
] as const)
  test(`${minutes} minutes are ${english} and ${german}`, () => {
    assert.equal(duration(minutes), english);
    assert.equal(duration(minutes, 'en'), english);
    assert.equal(duration(minutes, 'de'), german);
  });
