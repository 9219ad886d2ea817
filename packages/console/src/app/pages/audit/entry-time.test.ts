// The time in the id of an entry.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { periodAround } from './entry-time.ts';

test('the period lies around the time of the id', () => {
  // The example of RFC 9562, appendix A.6: Tuesday, February 22, 2022, 19:22:22 UTC.
  assert.deepEqual(periodAround('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'), {
    from: '2022-02-22T19:22:17.000Z',
    to: '2022-02-22T19:22:27.000Z',
  });
});

test('an id of another kind has no time', () => {
  assert.equal(periodAround('2489e9ad-2ee2-4e00-8ec9-32d5f69181c0'), null);
  assert.equal(periodAround('x'), null);
});
