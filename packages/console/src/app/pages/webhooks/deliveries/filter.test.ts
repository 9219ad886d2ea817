import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFiltered, toFilter } from './filter.ts';

test('a day is whole, also the last of a year, and in the zone of this machine', () => {
  assert.deepEqual(toFilter({ from: '2026-12-31', to: '2026-12-31' }, 'utc'), {
    from: '2026-12-31T00:00:00.000Z',
    to: '2027-01-01T00:00:00.000Z',
  });
  assert.deepEqual(toFilter({ from: '2026-07-01' }, 'local'), { from: new Date(2026, 6, 1).toISOString() });
});

test('what is not set is left out', () => {
  assert.deepEqual(toFilter({}, 'utc'), {});
  assert.deepEqual(toFilter({ state: 'dead', type: 'role_created' }, 'utc'), {
    state: 'dead',
    type: 'role_created',
  });
  assert.equal(isFiltered({}), false);
  assert.equal(isFiltered({ state: undefined, to: '2026-07-01' }), true);
});
