// Where keys lead in the matrix.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeAfter } from './keys.ts';

const after = (key: string, row: number, column: number, ctrlKey = false) =>
  placeAfter({ key, ctrlKey }, { row, column }, 4, 3);

test('arrows stop at the edges', () => {
  assert.deepEqual(after('ArrowUp', 0, 1), { row: 0, column: 1 });
  assert.deepEqual(after('ArrowDown', 2, 1), { row: 3, column: 1 });
  assert.deepEqual(after('ArrowDown', 3, 1), { row: 3, column: 1 });
  assert.deepEqual(after('ArrowLeft', 1, 0), { row: 1, column: 0 });
  assert.deepEqual(after('ArrowRight', 1, 1), { row: 1, column: 2 });
  assert.deepEqual(after('ArrowRight', 1, 2), { row: 1, column: 2 });
});

test('Home and End lead to the ends of the row, with Ctrl to those of the matrix', () => {
  assert.deepEqual(after('Home', 2, 2), { row: 2, column: 0 });
  assert.deepEqual(after('End', 2, 0), { row: 2, column: 2 });
  assert.deepEqual(after('Home', 2, 2, true), { row: 0, column: 0 });
  assert.deepEqual(after('End', 0, 0, true), { row: 3, column: 2 });
  assert.equal(after('a', 0, 0), undefined);
});
