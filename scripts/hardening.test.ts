// That the report adds up, and that a scenario which came, went or was renamed is noticed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Outcome } from '../packages/server/test/hardening/scenario.ts';
import { WATCHED } from '../packages/server/test/secret-watch.ts';
import { differences, halfRun, pageOf, rowsOf, totalsOf } from './hardening.ts';

const outcome = (name: string, more: Partial<Outcome> = {}): Outcome => ({
  area: 'races',
  name,
  tried: 10,
  injected: 0,
  held: 5,
  ok: true,
  ...more,
});

test('runs of one scenario are added, and one failure among them counts', () => {
  const rows = rowsOf([outcome('a'), outcome('b'), outcome('a', { tried: 1_000, injected: 2, ok: false })]);
  assert.deepEqual(rows, [
    { area: 'races', name: 'a', tried: 1_010, injected: 2, held: 10, ok: false, runs: 2 },
    { area: 'races', name: 'b', tried: 10, injected: 0, held: 5, ok: true, runs: 1 },
  ]);
  assert.equal(totalsOf(rows), '2 scenarios, 1,020 cases tried, 2 faults injected, 15 invariants held');
});

test('a page lists every scenario under its area, with what it was run on', () => {
  const page = pageOf(rowsOf([outcome('a'), outcome('b', { area: 'faults', injected: 3 })]), ['On this.']);
  assert.match(page, /- On this\.\n/);
  assert.match(page, /## Races\n\n\|[^#]*\| a \| 10 \| {2}\| 5 \|\n/);
  assert.match(page, /## Faults\n\n\|[^#]*\| b \| 10 \| 3 \| 5 \|\n/);
});

test('a page is current for just the scenarios that it lists, whatever they counted', () => {
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

test('a page whose sums are not those of its rows is not current', () => {
  const rows = rowsOf([outcome('a'), outcome('b')]);
  const page = pageOf(rows, []).replace('| a | 10 |', '| a | 9,999 |');
  assert.deepEqual(differences(rows, page), ['its totals are not the sums of its rows']);
});

test('the watch over secrets is listed, and no part of the sums', () => {
  const rows = rowsOf([outcome('a'), outcome(WATCHED, { area: 'secrets', tried: 1_000_000 })]);
  assert.match(totalsOf(rows), /^1 scenarios, 10 cases tried/);
  assert.ok(pageOf(rows, []).includes('1,000,000'));
  assert.deepEqual(differences(rows, pageOf(rows, [])), []);
});

test('a scenario that ran on one database of two is told', () => {
  const watched = outcome(WATCHED, { area: 'secrets' });
  const rows = rowsOf([outcome('a'), outcome('a'), outcome('b'), ...Array(9).fill(watched)]);
  assert.deepEqual(halfRun(rows), ['did not run everywhere: b']);
});
