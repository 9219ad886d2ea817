// Tests what every destination has: work is claimed while there is room, tried again after a pause, and kept when it is dead.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createDeliveryWorker, type Destination } from './worker.ts';

type Work = { id: number; attempts: number };

/** A destination in memory. `events` says what happened, in order. */
function inMemory(waiting: Work[], options: Partial<Destination<Work>> = {}) {
  const events: string[] = [];
  const destination: Destination<Work> = {
    parallel: 2,
    claim: async (free) => {
      const work = waiting.splice(0, free);
      return { work, nextMs: work.length === free ? 0 : 3_600_000 };
    },
    send: async ({ id }) => {
      events.push(`send ${id}`);
      return 'sent';
    },
    failed: ({ id }) => void events.push(`failed ${id}`),
    backoff: { firstMs: 1_000, maxMs: 4_000 },
    settle: {
      sent: async ({ id }) => void events.push(`sent ${id}`),
      obsolete: async ({ id }) => void events.push(`obsolete ${id}`),
      retry: async ({ id }, _error, afterMs) =>
        void events.push(`retry ${id} ${afterMs >= 800 && afterMs <= 1_000}`),
    },
    unreachableMs: 1,
    tell: {
      unreachable: () => void events.push('unreachable'),
      reachable: () => void events.push('reachable'),
      unsettled: () => assert.fail(),
      cutOff: (underWay) => void events.push(`cut off ${underWay}`),
    },
    ...options,
  };
  return { worker: createDeliveryWorker(destination), events };
}

const works = (count: number): Work[] => Array.from({ length: count }, (_, id) => ({ id, attempts: 1 }));

async function until(met: () => boolean): Promise<void> {
  for (let i = 0; !met(); i += 1) {
    assert.ok(i < 5_000, 'not within 5,000 rounds');
    await pause(1);
  }
}

test('no more than `parallel` are under way, and the end of one claims the next', async () => {
  let [running, most] = [0, 0];
  const { worker } = inMemory(works(7), {
    send: async () => {
      running += 1;
      most = Math.max(most, running);
      await pause(1);
      running -= 1;
      return 'sent';
    },
  });
  worker.start();
  await until(() => worker.stats().sent === 7);
  await worker.stop();
  assert.equal(most, 2);
});

test('a failure is retried after a pause; without a dead letter, for ever', async () => {
  const { worker, events } = inMemory(works(1), { send: () => Promise.reject(new Error('refused')) });
  assert.equal(await worker.drain(), 0);
  assert.deepEqual(events, ['failed 0', 'retry 0 true']);
  assert.deepEqual(worker.stats(), { sent: 0, retried: 1, dead: 0 });
});

test('the last failure makes work dead, and work that is obsolete is not sent', async () => {
  const dead: number[] = [];
  const { worker, events } = inMemory(works(2), {
    send: async ({ id }) => {
      if (id === 0) throw new Error('refused');
      return 'obsolete';
    },
    deadLetter: { isDue: () => true, settle: async ({ id }) => void dead.push(id) },
  });
  assert.equal(await worker.drain(), 0);
  assert.deepEqual(dead, [0]);
  assert.deepEqual(events.sort(), ['failed 0', 'obsolete 1']);
  assert.deepEqual(worker.stats(), { sent: 0, retried: 0, dead: 1 });
});

test('claims that fail are told once, and go on when they succeed', async () => {
  const waiting = works(1);
  let failures = 0;
  const { worker, events } = inMemory([], {
    claim: async (free) => {
      failures += 1;
      if (failures <= 3) throw new Error('down');
      return { work: waiting.splice(0, free), nextMs: 3_600_000 };
    },
  });
  worker.start();
  await until(() => worker.stats().sent === 1);
  await worker.stop();
  assert.deepEqual(events.sort(), ['reachable', 'send 0', 'sent 0', 'unreachable']);
});

test('a stop claims nothing more, and tells what is cut off', async () => {
  const waiting = works(3);
  const { worker, events } = inMemory(waiting, { send: () => new Promise(() => undefined) });
  worker.start();
  await until(() => waiting.length === 1);
  await worker.stop(10);
  worker.wake();
  await pause(5);
  assert.equal(waiting.length, 1);
  assert.deepEqual(events, ['cut off 2']);
});
