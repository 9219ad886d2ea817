// What is remembered of requests, and what is not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recentRequests, remembering, Secret } from './recent-requests.ts';

const BASE = 'https://id.example.com/api/v1';
const fetch = remembering(
  async () => new Response(),
  () => '/users',
);

test('requests are remembered with their page and without secrets, the latest first', async () => {
  await fetch(`${BASE}/users?size=25`, { method: 'GET' });
  await fetch(`${BASE}/users/1`, {
    method: 'PUT',
    headers: { authorization: 'Bearer secret', 'if-match': '"7"' },
    body: JSON.stringify({ first_name: 'Ada', password: 'very secret' }),
  });
  const [write, read] = recentRequests();
  assert.deepEqual(write, {
    page: '/users',
    method: 'PUT',
    url: `${BASE}/users/1`,
    ifMatch: '"7"',
    body: { first_name: 'Ada', password: new Secret('password') },
  });
  assert.equal(read?.url, `${BASE}/users?size=25`);
});

test('sign-ins, tokens and addresses with a key are not remembered, own sessions are', async () => {
  const before = recentRequests().length;
  await fetch(`${BASE}/auth/login`, { method: 'POST', body: '{"email":"a","password":"b"}' });
  await fetch(`${BASE}/oauth/token`, { method: 'POST', body: 'grant_type=client_credentials' });
  await fetch(`${BASE}/users?search=castellan_${'a'.repeat(12)}_${'b'.repeat(40)}`);
  assert.equal(recentRequests().length, before);
  await fetch(`${BASE}/auth/sessions?page=1`);
  assert.equal(recentRequests().length, before + 1);
});

test('a page that reads for days keeps little', async () => {
  for (let number = 0; number < 500; number += 1) await fetch(`${BASE}/roles/${number}`);
  assert.equal(recentRequests().length, 60);
  assert.equal(recentRequests()[0]?.url, `${BASE}/roles/499`);
});
