// Which cores a benchmark pins processes to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coresIn } from './suite.ts';

test('a list of cores may begin anywhere and have gaps', () => {
  assert.deepEqual(coresIn('0-1'), ['0', '1']);
  assert.deepEqual(coresIn('3'), ['3']);
  assert.deepEqual(coresIn('2,4-6'), ['2', '4', '5', '6']);
});
