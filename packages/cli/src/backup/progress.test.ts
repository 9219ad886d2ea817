import assert from 'node:assert/strict';
import { test } from 'node:test';
import { progressBar } from './progress.ts';

function barOn(isTTY: boolean) {
  const written: string[] = [];
  let now = 0;
  const bar = progressBar({ isTTY, write: (text: string) => written.push(text) }, () => now);
  return { bar, written, wait: (ms: number) => (now += ms) };
}

test('a terminal shows the part that is done, at most ten times a second, and nothing afterwards', () => {
  const { bar, written, wait } = barOn(true);
  bar.report({ table: 'users', done: 0, total: 200 });
  wait(99);
  bar.report({ table: 'users', done: 50, total: 200 });
  wait(1);
  bar.report({ table: 'users', done: 100, total: 200 });
  wait(100);
  // An estimate that was too low.
  bar.report({ table: 'roles', done: 300, total: 200 });
  wait(100);
  bar.report({ table: 'roles', done: 1, total: 0 });
  bar.clear();
  const line = (full: number, percent: string, table: string): string =>
    `\r\u001b[K[${'#'.repeat(full)}${'-'.repeat(30 - full)}] ${percent} %  ${table}`;
  assert.deepEqual(written, [
    line(0, ' 0', 'users'),
    line(15, '50', 'users'),
    line(29, '99', 'roles'),
    line(0, ' 0', 'roles'),
    '\r\u001b[K',
  ]);
});

test('anything else gets nothing', () => {
  const { bar, written } = barOn(false);
  bar.report({ table: 'users', done: 1, total: 2 });
  bar.clear();
  assert.deepEqual(written, []);
});
