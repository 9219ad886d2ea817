// Tests how much memory the limit on repeated entries uses. The tests of the audit log cover which entries are written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRepeatCount, subjectKey } from './repeat-count.ts';

/** Counts hits in memory, in one window. */
function createLimiter(): Parameters<typeof createRepeatCount>[0] {
  const hits = new Map<string, number>();
  return {
    hit: async (key, { limit }) => {
      const count = (hits.get(key) ?? 0) + 1;
      hits.set(key, count);
      return { allowed: count <= limit, limit, remaining: Math.max(0, limit - count), resetSeconds: 60 };
    },
  };
}

test('a subject is never longer than an email, and different texts have different subjects', () => {
  const longest = 'x'.repeat(254);
  assert.equal(subjectKey(longest), longest);
  const [one, other] = [subjectKey('x'.repeat(65_536)), subjectKey(`${'x'.repeat(65_535)}y`)];
  assert.match(one, /^sha256:[0-9a-f]{64}$/);
  assert.notEqual(one, other);
  assert.equal(subjectKey('x'.repeat(65_536)), one);
});

test('ended windows are removed from memory when another one begins', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const counts = createRepeatCount<null>(createLimiter(), async () => {});
  for (let key = 0; key < 100; key += 1) await counts.admits(`early ${key}`);
  now = 30_000;
  await counts.admits('late');
  assert.equal(counts.size, 101);
  now = 60_000;
  await counts.admits('new');
  assert.equal(counts.size, 2, 'windows of the first minute are removed, running ones stay');
});

test('the number of windows is limited within a minute', async () => {
  const counts = createRepeatCount<null>(createLimiter(), async () => {});
  for (let key = 0; key < 10_050; key += 1) await counts.admits(`${key}`);
  assert.equal(counts.size, 10_000);
});

test('an event counts at once while that takes no statement, and otherwise not at all', async () => {
  const counts = createRepeatCount<null>(createLimiter(), async () => {});
  const answers = Array.from({ length: 12 }, () => counts.admitsAtOnce('one'));
  assert.deepEqual(answers, [...Array(10).fill(true), false, false]);
  // Two refusals were not counted: 50 of 60 are left.
  const later = await Promise.all(Array.from({ length: 51 }, () => counts.admits('one')));
  assert.deepEqual(later, [...Array(50).fill(true), false]);
});
