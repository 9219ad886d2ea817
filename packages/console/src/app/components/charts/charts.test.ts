// The numbers behind the charts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countNetworks } from './networks.ts';
import { areaOf, lineOf, markOf, niceMax, pointsOf } from './scale.ts';

test('the axis ends at a round number that holds every value', () => {
  for (const [value, max] of [
    [0, 4],
    [4, 4],
    [7, 8],
    [11, 20],
    [33, 40],
    [100, 100],
    [101, 200],
  ] as const)
    assert.equal(niceMax(value), max, String(value));
});

test('points span the box, with 0 at the bottom', () => {
  const points = pointsOf([0, 5, 10], { width: 100, height: 50, max: 10 });
  assert.deepEqual(points, [
    [0, 50],
    [50, 25],
    [100, 0],
  ]);
  assert.equal(lineOf(points), 'M0.0 50.0 L50.0 25.0 L100.0 0.0');
  assert.equal(areaOf(points, 50), 'M0.0 50.0 L50.0 25.0 L100.0 0.0 L100.0 50 L0.0 50 Z');
  assert.equal(areaOf([], 50), '');
});

test('a single day is a point at the left edge', () => {
  assert.deepEqual(pointsOf([5], { width: 100, height: 50, max: 10 }), [[0, 25]]);
});

test('a mark has its place and no length', () => {
  assert.equal(markOf([100, 12.34]), 'M100.0 12.3h0');
  assert.equal(markOf(undefined), '');
});

test('sessions count for their network, those without an address for none', () => {
  assert.deepEqual(countNetworks(['10.0.0.1', null, '10.0.1.1', '10.0.1.9']), [
    { network: '10.0.1.0/24', sessions: 2 },
    { network: '10.0.0.0/24', sessions: 1 },
  ]);
});
