// Filters of the audit log: days, unknown actions, what is left out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filtersIn, isFiltered, startOfDay, toFilter, withKnownAction } from './filter.ts';

test('the last day is included', () => {
  assert.deepEqual(toFilter({ from: '2026-11-03', to: '2026-11-03' }, [], 'utc'), {
    from: '2026-11-03T00:00:00.000Z',
    to: '2026-11-04T00:00:00.000Z',
  });
});

test('a local day begins at local midnight', () => {
  assert.equal(startOfDay('2026-11-03', 'local'), new Date(2026, 10, 3).toISOString());
});

test('what is no day, and an action that nobody knows, is left out', () => {
  assert.equal(startOfDay('yesterday', 'utc'), undefined);
  assert.equal(startOfDay('2026-13-45', 'utc'), undefined);
  assert.deepEqual(toFilter({ action: 'made_up', from: 'x' }, ['login_failed'], 'utc'), {});
  assert.deepEqual(toFilter({ action: 'login_failed' }, ['login_failed'], 'utc'), {
    action: ['login_failed'],
  });
});

test('no chip shows an action that nobody knows', () => {
  assert.equal(isFiltered(withKnownAction({ action: 'made_up' }, ['login_failed'])), false);
  assert.equal(withKnownAction({ action: 'login_failed' }, ['login_failed']).action, 'login_failed');
});

test('an open entry is no filter', () => {
  const search = { entry: '42', address: '127.0.0.1' };
  assert.deepEqual(filtersIn(search), { address: '127.0.0.1' });
  assert.equal(isFiltered({}), false);
  assert.equal(isFiltered(search), true);
});
