// Tests the gate: order, limits, callers that disconnect, and no memory of idle keys.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createGate, type Gate, GateFullError } from './gate.ts';

const idle = { keys: 0, running: 0, waiting: 0 };

/** A task that runs until it is ended. */
function startWork(gate: Gate, key: string, gone = new AbortController()) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const work = { begun: false, end: resolve, gone, done: Promise.resolve() };
  work.done = gate.run(key, { gone: gone.signal }, () => {
    work.begun = true;
    return promise;
  });
  return work;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('gate', () => {
  test('runs the limit of tasks per key at once, the others in order of arrival, each key separately', async () => {
    const gate = createGate({ running: 2, waiting: 10 });
    const own = Array.from({ length: 5 }, () => startWork(gate, 'a'));
    const other = startWork(gate, 'b');
    const begun = () => own.map((work) => work.begun);
    await settled();
    assert.deepEqual(begun(), [true, true, false, false, false]);
    assert.equal(other.begun, true);
    assert.deepEqual(gate.stats(), { keys: 2, running: 3, waiting: 3 });
    own[1]?.end();
    await settled();
    assert.deepEqual(begun(), [true, true, true, false, false]);
    for (const work of [...own, other]) work.end();
    await Promise.all([...own, other].map(({ done }) => done));
    assert.deepEqual(gate.stats(), idle);
  });

  test('a task is refused at once when the queue is full, and does not start', async () => {
    const gate = createGate({ running: 1, waiting: 1 });
    const accepted = [startWork(gate, 'a'), startWork(gate, 'a')];
    const refused = startWork(gate, 'a');
    await assert.rejects(refused.done, GateFullError);
    assert.equal(refused.begun, false);
    for (const work of accepted) work.end();
    await Promise.all(accepted.map(({ done }) => done));
    assert.deepEqual(gate.stats(), idle);
  });

  test('a caller that disconnects leaves the queue, and its task does not start', async () => {
    const gate = createGate({ running: 1, waiting: 2 });
    const [first, left, last] = [startWork(gate, 'a'), startWork(gate, 'a'), startWork(gate, 'a')];
    left.gone.abort(new Error('gone'));
    await assert.rejects(left.done, /gone/);
    assert.deepEqual(gate.stats(), { keys: 1, running: 1, waiting: 1 });
    first.end();
    await settled();
    assert.deepEqual([left.begun, last.begun], [false, true]);
    last.end();
    await last.done;
    assert.deepEqual(gate.stats(), idle);
  });

  test('a caller that disconnects at the moment of its turn passes the turn on', async () => {
    const gate = createGate({ running: 1, waiting: 2 });
    const [first, left, last] = [startWork(gate, 'a'), startWork(gate, 'a'), startWork(gate, 'a')];
    first.end();
    await first.done;
    left.gone.abort(new Error('gone'));
    last.end();
    await Promise.allSettled([left.done, last.done]);
    assert.equal(last.begun, true);
    assert.deepEqual(gate.stats(), idle);
  });

  test('a task whose turn comes too late is refused', async () => {
    const gate = createGate({ running: 1, waiting: 1, maxWaitMs: -1 });
    const [first, late] = [startWork(gate, 'a'), startWork(gate, 'a')];
    first.end();
    await assert.rejects(late.done, GateFullError);
    assert.equal(late.begun, false);
    assert.deepEqual(gate.stats(), idle);
  });

  test('a failed task ends its turn, and a turn that is ended twice counts once', async () => {
    const gate = createGate({ running: 1, waiting: 1 });
    await assert.rejects(
      gate.run('a', undefined, () => Promise.reject(new Error('fault'))),
      /fault/,
    );
    const leave = await gate.enter('a');
    const next = startWork(gate, 'a');
    leave();
    leave();
    assert.deepEqual(gate.stats(), { keys: 1, running: 1, waiting: 0 });
    next.end();
    await next.done;
    assert.deepEqual(gate.stats(), idle);
  });
});
