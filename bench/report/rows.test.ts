// What the table of the benchmarks says about goals and growth.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countGoals, type Row, tableOfRows } from './rows.ts';

const row = (more: Partial<Row>): Row => ({
  part: 'users',
  name: 'page 1',
  condition: '',
  unit: 'ms',
  values: [10, 20, 30],
  ...more,
});
const lastLine = (rows: Row[]): string => tableOfRows(rows).split('\n').at(-1) ?? '';

test('a goal is shown with its figure, and marked when it is missed', () => {
  const held = row({ goals: [{ figure: 'p95', most: 30 }] });
  assert.match(lastLine([held]), /\| p95 ≤ 30: 30 \|/);
  const missed = row({ goals: [{ figure: 'median', most: 19 }] });
  assert.match(lastLine([missed]), /\| \*\*missed\*\* median ≤ 19: 20 \|/);
  assert.deepEqual(countGoals([held, missed]), { goals: 2, missed: 1 });
});

test('a ratio below its least is missed, and so is a figure that is no number', () => {
  const ratio = (value: number): Row =>
    row({ of: { what: 'bare', ratio: value }, goals: [{ figure: 'ratio', least: 0.6 }] });
  assert.equal(countGoals([ratio(0.59)]).missed, 1);
  assert.equal(countGoals([ratio(0.6)]).missed, 0);
  assert.equal(countGoals([ratio(Number.NaN)]).missed, 1);
});

test('growth is the factor for ten times the users, also over two decades', () => {
  const goals: Row['goals'] = [{ figure: 'growth', most: 1.5 }];
  const small = row({ users: 1_000, cpu: 100, goals });
  const large = row({ users: 100_000, cpu: 400, values: [40, 80, 90], goals });
  assert.match(lastLine([large, small]), /\*\*missed\*\* per decade ≤ 1.5: 2 \|.*\| 400 \| ×2, ×2 \|$/);
  assert.deepEqual(countGoals([small]), { goals: 0, missed: 0 }, 'one size cannot grow');
});

test('growth compares a row with the same row only', () => {
  const rows = [row({ users: 1_000, cpu: 1 }), row({ users: 10_000, cpu: 9, name: 'last page' })];
  assert.match(lastLine(rows), /\| {2}\|$/);
});

test('failed requests miss, also where the answered ones were fast', () => {
  const failed = row({ failed: 2, goals: [{ figure: 'p95', most: 50 }] });
  assert.match(lastLine([failed]), /\*\*missed\*\* failed requests: 2; p95 ≤ 50: 30/);
  assert.deepEqual(countGoals([failed]), { goals: 2, missed: 1 });
  assert.match(lastLine([row({ failed: 5, values: [] })]), /failed requests: 5 \| {2}\|/);
});
