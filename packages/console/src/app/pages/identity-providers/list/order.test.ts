import assert from 'node:assert/strict';
import { test } from 'node:test';
import { movedTo, positionsFor } from './order.ts';

const placed = (...positions: number[]) =>
  positions.map((position, index) => ({ id: `abcd`[index] ?? '', position }));

test('an element moves up, down, to the ends, and nowhere', () => {
  const list = ['a', 'b', 'c', 'd'];
  assert.deepEqual(movedTo(list, 2, 0), ['c', 'a', 'b', 'd']);
  assert.deepEqual(movedTo(list, 0, 2), ['b', 'c', 'a', 'd']);
  assert.deepEqual(movedTo(list, 0, 3), ['b', 'c', 'd', 'a']);
  assert.deepEqual(movedTo(list, 1, 1), list);
});

test('only those are written whose position changes', () => {
  const swapped = movedTo(placed(10, 20, 30, 40), 1, 2);
  assert.deepEqual(
    [...positionsFor(swapped)],
    [
      ['c', 20],
      ['b', 30],
    ],
  );
  assert.deepEqual([...positionsFor(placed(10, 20))], []);
});

test('equal positions are written anew, so that the order is the one that was chosen', () => {
  const order = movedTo(placed(0, 0, 0), 2, 0);
  assert.deepEqual(
    [...positionsFor(order)],
    [
      ['c', 1],
      ['a', 2],
      ['b', 3],
    ],
  );
});
