// Every setting of the service has a group of its own.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { groupNames, groupOf } from './groups.ts';

const documented = readFileSync(
  new URL('../../../../../../docs/configuration.md', import.meta.url),
  'utf8',
).matchAll(/^\| `([A-Z_]+)` \|/gm);

test('every documented setting is in a named group, and every group has one', () => {
  const names = [...documented].map(([, name = '']) => name);
  assert.ok(names.length > 40, `${names.length} settings`);
  assert.deepEqual(
    names.filter((name) => groupOf(name) === 'other'),
    [],
  );
  const used = new Set(names.map(groupOf));
  assert.deepEqual(
    groupNames.filter((group) => !used.has(group)),
    ['other'],
  );
  assert.equal(groupOf('SOMETHING_NEW'), 'other');
});
