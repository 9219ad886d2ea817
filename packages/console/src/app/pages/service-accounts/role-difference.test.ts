// A change of roles applies to the roles that somebody else has stored by then.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceOf, withDifference } from './role-difference.ts';

test('what others add and remove stays, beside what the person does', () => {
  const mine = differenceOf(['a', 'b', 'c'], ['a', 'c', 'd']);
  assert.deepEqual(mine, { added: ['d'], removed: ['b'] });
  assert.deepEqual(withDifference(['a', 'b', 'e'], mine), ['a', 'e', 'd']);
});

test('what both do happens once', () => {
  const mine = differenceOf(['a'], ['b']);
  assert.deepEqual(withDifference(['b'], mine), ['b']);
});
