// Tests that the report adds up, and that added, removed and renamed scenarios are reported.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Outcome } from '@castellan/testing/scenario';
import { WATCHED } from '@castellan/testing/secret-watch';
import {
  conditionsOn,
  differences,
  halfRun,
  mergedRows,
  pageOf,
  rowsOf,
  rowsWithNew,
  totalsOf,
} from './hardening.ts';

const outcome = (name: string, more: Partial<Outcome> = {}): Outcome => ({
  area: 'races',
  name,
  tried: 10,
  injected: 0,
  held: 5,
  ok: true,
  ...more,
});

test('runs of one scenario are added up, and one failure fails the scenario', () => {
  const rows = rowsOf([outcome('a'), outcome('b'), outcome('a', { tried: 1_000, injected: 2, ok: false })]);
  assert.deepEqual(rows, [
    { ...outcome('a'), tried: 1_010, injected: 2, held: 10, ok: false, runs: 2 },
    { ...outcome('b'), runs: 1 },
  ]);
  assert.equal(totalsOf(rows), '2 scenarios, 1,020 cases tried, 2 faults injected, 15 invariants held');
});

test('a page lists every scenario under its area, and the conditions of the run', () => {
  const page = pageOf(rowsOf([outcome('a'), outcome('b', { area: 'faults', injected: 3 })]), ['On this.']);
  assert.match(page, /- On this\.\n/);
  assert.match(page, /## Races\n\n\|[^#]*\| a \| 10 \| {2}\| 5 \|\n/);
  assert.match(page, /## Faults\n\n\|[^#]*\| b \| 10 \| 3 \| 5 \|\n/);
});

test('a page is current if it lists exactly the scenarios that ran, whatever they counted', () => {
  const page = pageOf(rowsOf([outcome('a'), outcome('with | and `marks`', { tried: 12_345 })]), []);
  assert.deepEqual(
    differences(rowsOf([outcome('a', { tried: 1 }), outcome('with | and `marks`')]), page),
    [],
  );
  assert.deepEqual(differences(rowsOf([outcome('a'), outcome('new')]), page), [
    'not on the page: Races: new',
    'did not run: Races: with | and `marks`',
  ]);
  assert.deepEqual(differences([], page).length, 2);
  const moved = rowsOf([outcome('a', { area: 'tokens' }), outcome('with | and `marks`')]);
  assert.deepEqual(differences(moved, page).length, 2, 'the area is part of it');
});

test('a page whose totals are not the sums of its rows is stale', () => {
  const rows = rowsOf([outcome('a'), outcome('b')]);
  const page = pageOf(rows, []).replace('| a | 10 |', '| a | 9,999 |');
  assert.deepEqual(differences(rows, page), ['its totals are not the sums of its rows']);
});

test('the watch for secrets is listed but not part of the totals', () => {
  const rows = rowsOf([outcome('a'), outcome(WATCHED, { area: 'secrets', tried: 1_000_000 })]);
  assert.match(totalsOf(rows), /^1 scenarios, 10 cases tried/);
  assert.ok(pageOf(rows, []).includes('1,000,000'));
  assert.deepEqual(differences(rows, pageOf(rows, [])), []);
});

test('a race that ran on only one of two databases is reported', () => {
  const watched = outcome(WATCHED, { area: 'secrets' });
  const free = outcome('c', { area: 'faults' });
  const rows = rowsOf([outcome('a'), outcome('a'), outcome('b'), free, ...Array(9).fill(watched)]);
  assert.deepEqual(halfRun(rows), ['did not run everywhere: b']);
});

test('a partial run replaces and adds its own rows, and the totals are recomputed', () => {
  const conditions = [
    'On the embedded PostgreSQL, 2 shared cores:\n  9.0 minutes.',
    'On another: 8.0 minutes.',
  ];
  const watch = outcome(WATCHED, { area: 'secrets', tried: 1_000 });
  const page = pageOf(rowsOf([outcome('a'), outcome('b | c', { tried: 7 }), watch]), conditions);
  const ran = rowsOf([
    outcome('a', { tried: 90 }),
    outcome('new', { area: 'faults', injected: 3 }),
    outcome(WATCHED, { area: 'secrets', tried: 1 }),
  ]);
  const rows = mergedRows(page, ran);
  assert.deepEqual(
    rows.map(({ name, tried }) => [name, tried]),
    [
      ['a', 90],
      ['b | c', 7],
      ['new', 10],
      [WATCHED, 1_000],
    ].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  );
  assert.deepEqual(conditionsOn(page), conditions);
  const merged = pageOf(rows, conditionsOn(page));
  assert.ok(merged.includes('**3 scenarios, 107 cases tried, 3 faults injected, 15 invariants held.**'));
  assert.deepEqual(differences(rows, merged), []);
  assert.equal(pageOf(mergedRows(merged, []), conditions), merged);
});

test('new scenarios are added to the page, removed ones deleted, and the figures of the others kept', () => {
  const page = pageOf(rowsOf([outcome('a', { tried: 900 }), outcome('gone')]), ['On this.']);
  const ran = rowsOf([outcome('a', { tried: 1 }), outcome('new', { tried: 7 })]);
  const rows = rowsWithNew(page, ran);
  assert.deepEqual(
    rows.map(({ name, tried }) => [name, tried]),
    [
      ['a', 900],
      ['new', 7],
    ],
  );
  assert.deepEqual(differences(ran, pageOf(rows, conditionsOn(page))), []);
});
