import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differences } from './migrations.ts';

const files = [
  { name: '0001-a', checksum: 'a' },
  { name: '0002-b', checksum: 'b' },
];

test('a listed migration that changed or is missing, and one that is not listed, are reported', () => {
  assert.deepEqual(differences({ '0001-a': 'a', '0002-b': 'b' }, files), []);
  assert.match(differences({ '0001-a': 'x', '0002-b': 'b' }, files).join(), /^0001-a was changed/);
  assert.match(differences({ '0001-a': 'a', '0002-b': 'b', '0003-c': 'c' }, files).join(), /^0003-c is gone/);
  assert.match(differences({ '0001-a': 'a' }, files).join(), /^0002-b is not listed.*--add/);
});
