// When a request counts as more expensive than in the last release.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { complaintOf } from './cpu.ts';

const cost = (cpu: number[], statements = 1.02) => ({ cpu, statements });
const before = cost([100, 100, 100, 100]);

test('a ratio of 1.15 is allowed, a higher one is reported', () => {
  assert.equal(complaintOf(before, cost([115, 115, 115, 115])), undefined);
  assert.match(complaintOf(before, cost([117, 117, 117, 117])) ?? '', /costs 1\.17 times/);
});

test('rounds that other work made dear are no regression, while the cheapest are as cheap as before', () => {
  assert.equal(complaintOf(before, cost([100, 300, 300, 300])), undefined);
  assert.equal(complaintOf(cost([20, 100, 100, 100]), cost([100, 100, 100, 100])), undefined);
});

test('one more statement for each request is reported, however little time it costs', () => {
  assert.match(
    complaintOf(before, cost([50, 50, 50, 50], 2.03)) ?? '',
    /sends 2\.03 statements for a request, 1\.02 in/,
  );
});

test('a measurement without a figure is reported', () => {
  assert.ok(complaintOf(before, cost([])));
  assert.ok(complaintOf(before, cost([100], Number.NaN)));
});
