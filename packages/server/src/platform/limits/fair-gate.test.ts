// Tests the fair gate: whose turn is next, its limits, and callers that disconnect.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFairGate, type FairGate } from './fair-gate.ts';
import { GateFullError, type Leave } from './gate.ts';

const idle = { running: 0, waiting: 0 };
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Enters, and notes the key in `begun` when the turn comes. */
function enter(gate: FairGate, key: string, begun: string[], gone = new AbortController()) {
  const work: { leave: Leave; gone: AbortController; turn: Promise<void> } = {
    leave: () => assert.fail(`${key} has no turn`),
    gone,
    turn: gate.enter(key, gone.signal).then((leave) => {
      begun.push(key);
      work.leave = leave;
    }),
  };
  return work;
}

describe('fair gate', () => {
  test('a free turn goes to a user who has none, before an earlier task of a user who has one', async () => {
    const gate = createFairGate({ running: 2, runningOfKey: 2, waiting: 10 });
    const begun: string[] = [];
    const [first, second] = [enter(gate, 'a', begun), enter(gate, 'b', begun)];
    const others = ['a', 'b', 'c', 'd'].map((key) => enter(gate, key, begun));
    await settled();
    assert.deepEqual(begun.splice(0), ['a', 'b']);
    first?.leave();
    await settled();
    assert.deepEqual(begun.splice(0), ['a'], 'a has none left, and came first');
    second?.leave();
    await settled();
    assert.deepEqual(begun.splice(0), ['b']);
    others[0]?.leave();
    await settled();
    others[1]?.leave();
    await settled();
    assert.deepEqual(begun.splice(0), ['c', 'd']);
    for (const work of others.slice(2)) work.leave();
    assert.deepEqual(gate.stats(), idle);
  });

  test('one key has a second turn while nobody else waits, and no third', async () => {
    const gate = createFairGate({ running: 3, runningOfKey: 2, waiting: 10 });
    const begun: string[] = [];
    const own = [1, 2, 3].map(() => enter(gate, 'a', begun));
    await settled();
    assert.deepEqual(begun.splice(0), ['a', 'a']);
    const other = enter(gate, 'b', begun);
    await settled();
    assert.deepEqual(begun.splice(0), ['b'], 'the waiting one of a holds up nobody');
    const late = [enter(gate, 'a', begun), enter(gate, 'c', begun)];
    own[0]?.leave();
    await settled();
    assert.deepEqual(begun.splice(0), ['c'], 'c has none, and goes before the earlier ones of a');
    for (const work of [own[1], other]) work?.leave();
    await settled();
    assert.deepEqual(begun.splice(0), ['a', 'a']);
    for (const work of [own[2], ...late]) work?.leave();
    assert.deepEqual(gate.stats(), idle);
  });

  test('too many waiting tasks are refused, and one that is gone waits no more', async () => {
    const gate = createFairGate({ running: 1, runningOfKey: 1, waiting: 1 });
    const begun: string[] = [];
    const first = enter(gate, 'a', begun);
    const second = enter(gate, 'b', begun);
    await assert.rejects(enter(gate, 'c', begun).turn, GateFullError);
    const reason = new Error('gone');
    second.gone.abort(reason);
    await assert.rejects(second.turn, reason);
    assert.deepEqual(gate.stats(), { running: 1, waiting: 0 });
    const third = enter(gate, 'd', begun);
    await settled();
    // The turn and the end of the connection arrive in one tick.
    first.leave();
    third.gone.abort(reason);
    await assert.rejects(third.turn, reason);
    await assert.rejects(gate.enter('e', AbortSignal.abort(reason)), reason);
    assert.deepEqual(gate.stats(), idle);
    first.leave();
    assert.deepEqual(gate.stats(), idle);
  });
});
