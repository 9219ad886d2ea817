// The difference between two people.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EffectivePermission } from '@castellan/sdk';
import { differenceOf } from './difference.ts';

const permission = (name: string): EffectivePermission => ({
  name,
  description: '',
  group: { id: '1', name: 'group' },
  sources: [],
});

test('each permission is in one of the three lists', () => {
  const difference = differenceOf(
    [permission('b'), permission('a'), permission('c')],
    [permission('c'), permission('d')],
  );
  const namesOf = (list: readonly { name: string }[]) => list.map(({ name }) => name);
  assert.deepEqual(namesOf(difference.onlyLeft), ['a', 'b']);
  assert.deepEqual(namesOf(difference.both), ['c']);
  assert.deepEqual(namesOf(difference.onlyRight), ['d']);
  assert.equal(difference.onlyLeft[0]?.right, null);
  assert.equal(difference.onlyRight[0]?.right?.name, 'd');
});
