// Tests which delivery begins next: those with one key follow each other, and one that has to wait holds up no other key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLineup, type Queued } from './lineup.ts';

const queued = (id: number, key: string, dueInMs = 0): Queued => ({
  id: String(id),
  sourceId: String(id),
  type: 'role_updated',
  key,
  isReplay: false,
  attempts: dueInMs > 0 ? 1 : 0,
  dueInMs,
  triedForMs: null,
});

/** Takes what may begin now. */
function takeAll({ take }: ReturnType<typeof createLineup>): Queued[] {
  const taken: Queued[] = [];
  for (let one = take(); one; one = take()) taken.push(one);
  return taken;
}
const ids = (some: readonly Queued[]) => some.map(({ id }) => Number(id));

test('one delivery of each key is under way, in the order of the ids', () => {
  const lineup = createLineup();
  lineup.add([queued(1, 'a'), queued(2, 'a'), queued(3, 'b'), queued(4, 'a')], 0);
  const [first, other] = takeAll(lineup);
  assert.ok(first && other);
  assert.deepEqual(ids([first, other]), [1, 3]);
  assert.deepEqual(lineup.excluded(0).sort(), ['a', 'b']);
  lineup.settle(first, null);
  assert.deepEqual(ids(takeAll(lineup)), [2]);
  lineup.settle(other, null);
  assert.deepEqual(lineup.excluded(0), ['a']);
});

test('a failure holds up its key alone, until its time has come', () => {
  const lineup = createLineup();
  lineup.add([queued(1, 'a'), queued(2, 'a'), queued(3, 'b'), queued(4, 'b')], 0);
  const [first, other] = takeAll(lineup);
  assert.ok(first && other);
  lineup.settle(first, 5_000);
  lineup.settle(other, null);
  assert.deepEqual(ids(takeAll(lineup)), [4]);
  assert.deepEqual([lineup.stuck, lineup.due(4_999), lineup.due(5_000)], [1, [], ['a']]);
  assert.deepEqual(lineup.excluded(4_999).sort(), ['a', 'b']);
  assert.deepEqual(lineup.excluded(5_000), ['b']);
  lineup.add([queued(1, 'a'), queued(2, 'a')], 5_000);
  assert.deepEqual(ids(takeAll(lineup)), [1]);
  assert.equal(lineup.stuck, 0);
});

test('what is read before it is due makes its key wait, with all that follow', () => {
  const lineup = createLineup();
  lineup.add([queued(1, 'a', 3_000), queued(2, 'a'), queued(3, 'b'), queued(4, 'a', 9_000)], 1_000);
  assert.deepEqual(ids(takeAll(lineup)), [3]);
  assert.deepEqual([lineup.due(3_999), lineup.due(4_000)], [[], ['a']]);
  lineup.release();
  assert.deepEqual(lineup.excluded(1_000), ['b']);
});

test('what is put back is the next one with its key', () => {
  const lineup = createLineup();
  lineup.add([queued(1, 'a'), queued(2, 'b'), queued(3, 'a')], 0);
  const [first] = takeAll(lineup);
  assert.ok(first);
  lineup.putBack(first);
  assert.deepEqual([ids(takeAll(lineup)), lineup.underWay], [[1], 2]);
});
