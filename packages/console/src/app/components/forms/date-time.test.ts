// Moments in inputs, in both zones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromInput, toInput } from './date-time.ts';

test('an input in UTC shows the moment of the service', () => {
  assert.equal(toInput('2026-11-03T14:05:09.123Z', 'utc'), '2026-11-03T14:05');
  assert.equal(fromInput('2026-11-03T14:05', 'utc'), '2026-11-03T14:05:00.000Z');
});

test('a local input shows the clock of this machine', () => {
  const local = new Date(2026, 6, 1, 9, 30);
  assert.equal(toInput(local.toISOString(), 'local'), '2026-07-01T09:30');
  assert.equal(fromInput('2026-07-01T09:30', 'local'), local.toISOString());
});

test('what is typed stays, also a year of which one digit is typed', () => {
  for (const zone of ['local', 'utc'] as const)
    for (const typed of ['0002-01-01T10:00', '2026-12-31T23:59'])
      assert.equal(toInput(fromInput(typed, zone), zone), typed);
});

test('an empty input is no moment', () => {
  for (const zone of ['local', 'utc'] as const) assert.equal(fromInput('', zone), undefined);
  assert.equal(toInput(undefined, 'utc'), '');
});
