import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOutageLog } from './outage-log.ts';

test('an outage is told at its begin and its end; one that comes and goes, once a minute', () => {
  const told: string[] = [];
  let time = 0;
  const { failed, succeeded } = createOutageLog<string>(
    { begin: (error) => void told.push(error), end: () => void told.push('works') },
    60_000,
    () => time,
  );
  succeeded();
  failed('first');
  failed('second');
  succeeded();
  succeeded();
  assert.deepEqual(told.splice(0), ['first', 'works']);
  for (time = 1_000; time < 60_000; time += 1_000) {
    failed('flaps');
    succeeded();
  }
  failed('late');
  assert.deepEqual(told.splice(0), ['late']);
  time = 600_000;
  failed('the same outage');
  succeeded();
  assert.deepEqual(told, ['works']);
});
