// The open loop: when it sends, and from when it times.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLoop } from './open-loop.ts';

test('requests are sent before earlier ones are answered, and are timed from when they were due', async () => {
  const answers: (() => void)[] = [];
  const everyMs = 5;
  const times = await openLoop(
    () =>
      new Promise<void>((resolve) => {
        answers.push(resolve);
        // The server stalls until the last request has arrived.
        if (answers.length === 4) for (const answer of answers) answer();
      }),
    { everyMs, count: 4 },
  );
  assert.equal(times.length, 4);
  for (const [number, time] of times.entries())
    assert.ok(time >= (3 - number) * everyMs - 1, `request ${number} waited for the stall: ${time} ms`);
});

test('a request that fails fails the measurement', async () => {
  await assert.rejects(
    openLoop(() => Promise.reject(new Error('answered 500')), { everyMs: 1, count: 2 }),
    /answered 500/,
  );
});

test('a request that a busy generator sends late is timed from when it was due', async () => {
  const busyMs = 20;
  const [, second = 0] = await openLoop(
    async () => {
      const end = performance.now() + busyMs;
      while (performance.now() < end);
    },
    { everyMs: 1, count: 2 },
  );
  assert.ok(second >= 2 * busyMs - 1, `the second request was due in the first millisecond: ${second} ms`);
});
