import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeingOwnWrites } from './own-writes.ts';

/** Answers reads with this age unless they demand the newest state. `sent` has the `cache-control` of every read. */
function createPage(age: string | null) {
  const clock = { ms: 0 };
  const sent: (string | null)[] = [];
  const fetch: typeof globalThis.fetch = async (_input, init) => {
    const control = new Headers(init?.headers).get('cache-control');
    if (init?.method === 'GET') sent.push(control);
    if (init?.method === 'DELETE') throw new TypeError('no connection');
    return new Response('[]', { headers: age === null || control === 'no-cache' ? {} : { age } });
  };
  return { clock, sent, fetch: seeingOwnWrites(fetch, () => clock.ms) };
}
const url = 'http://castellan.test/api/v1/audit-logs';

test('a response that may be older than an own change is read again from the primary', async () => {
  const { clock, sent, fetch } = createPage('2');
  clock.ms = 10_000;
  await fetch(url, { method: 'POST' });
  clock.ms = 11_000;
  const response = await fetch(url, { method: 'GET', headers: { 'if-none-match': 'W/"1"' } });
  assert.equal(await response.text(), '[]');
  clock.ms = 12_000;
  await fetch(url, { method: 'GET' });
  assert.deepEqual(sent, [null, 'no-cache', null, 'no-cache']);
});

test('a response that is younger than the last own change is shown', async () => {
  const { clock, sent, fetch } = createPage('2');
  await fetch(url, { method: 'GET' });
  await fetch(url, { method: 'PUT' });
  clock.ms = 2_001;
  await fetch(url, { method: 'GET' });
  assert.deepEqual(sent, [null, null]);
});

test('a change without an answer counts, and the primary is asked once', async () => {
  const standby = createPage('10');
  await assert.rejects(standby.fetch(url, { method: 'DELETE' }), /no connection/);
  await standby.fetch(url, { method: 'GET' });
  assert.deepEqual(standby.sent, [null, 'no-cache']);
  const primary = createPage(null);
  await primary.fetch(url, { method: 'POST' });
  await primary.fetch(url, { method: 'GET' });
  assert.deepEqual(primary.sent, [null]);
});
