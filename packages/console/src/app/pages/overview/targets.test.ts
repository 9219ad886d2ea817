// What needs attention leads to lists that the console has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attentionFilters } from '@castellan/contract/dashboard';
import { targetOf } from './targets.ts';

test('every filter of the service leads to its list', () => {
  for (const { resource, query } of Object.values(attentionFilters))
    assert.deepEqual(targetOf({ resource: `/api/v1/${resource}`, query }), {
      to: `/${resource}`,
      search: query,
    });
});
