// CSRF: every state-changing route refuses requests without the token that belongs to the browser's cookie.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newEmail, PASSWORD, startTestService } from '@castellan/testing/harness';
import { assertRefused, postText } from '@castellan/testing/http/fixture';

const service = await startTestService({ after });

/** Returns the cookie and the token of a new browser. */
async function newBrowser(): Promise<{ cookie: string; token: string }> {
  const client = service.client();
  const answer = await client.get('/api/v1/auth/csrf-token');
  return { cookie: `csrf_token=${client.cookies.get('csrf_token')}`, token: answer.body.data.csrf_token };
}

/** Returns another text of the same length and alphabet. */
const spoiled = (text: string): string =>
  `${text.slice(0, -2)}${text.at(-2) === 'A' ? 'B' : 'A'}${text.at(-1)}`;

test('CSRF is checked before the body is read and before the caller is authenticated', async () => {
  const client = service.client();
  const headers = { 'x-csrf-token': null, 'content-type': 'application/json' };
  assertRefused(
    await client.request('POST', '/api/v1/auth/login', { raw: '{', headers }),
    403,
    'csrf_invalid',
  );
  assertRefused(
    await client.request('POST', '/api/v1/auth/logout', {
      headers: { ...headers, authorization: 'Bearer x' },
    }),
    403,
    'csrf_invalid',
  );
});

test('a refusal is an audit event that names the route and the address', async () => {
  const answer = await service.client().request('POST', '/api/v1/auth/logout/all', {
    headers: { 'x-csrf-token': null },
  });
  const [entry] = await service.sql<{
    actor_id: null;
    resource_type: string;
    details: Record<string, string>;
  }>(
    `select actor_id, resource_type, details from audit_logs
     where action = 'csrf_refused' and details->>'request_id' = $1`,
    [answer.headers.get('x-request-id')],
  );
  assert.equal(entry?.resource_type, 'security_event');
  assert.equal(entry.actor_id, null);
  assert.equal(entry.details.route, '/api/v1/auth/logout/all');
  assert.equal(entry.details.address, '127.0.0.1');
});

test('safe methods need no token', async () => {
  for (const method of ['GET', 'HEAD', 'OPTIONS']) {
    const answer = await service.client().request(method, '/api/v1/users/me');
    assert.notEqual(answer.status, 403, method);
  }
});

test('the cookie is kept, so that the tokens of all tabs of a browser stay valid', async () => {
  const browser = service.client();
  const first = await browser.get('/api/v1/auth/csrf-token');
  const cookie = browser.cookies.get('csrf_token');
  const second = await browser.get('/api/v1/auth/csrf-token');
  assert.equal(browser.cookies.get('csrf_token'), cookie);
  assert.notEqual(first.body.data.csrf_token, second.body.data.csrf_token);
  for (const tab of [first, second, first]) {
    const answer = await browser.request('POST', '/api/v1/auth/logout', {
      headers: { 'x-csrf-token': tab.body.data.csrf_token },
    });
    assertRefused(answer, 401, 'token_missing');
  }
});

test('a cookie that this service did not sign is replaced', async () => {
  const browser = service.client();
  browser.cookies.set('csrf_token', spoiled((await newBrowser()).cookie.slice('csrf_token='.length)));
  const before = browser.cookies.get('csrf_token');
  await browser.get('/api/v1/auth/csrf-token');
  assert.notEqual(browser.cookies.get('csrf_token'), before);
  assertRefused(await browser.post('/api/v1/auth/logout'), 401, 'token_missing');
});

test('signing in keeps the cookie, and the token stays valid for later requests', async () => {
  const browser = service.client();
  const registered = await browser.post('/api/v1/auth/register', {
    email: newEmail(),
    password: PASSWORD,
    first_name: 'Ada',
    last_name: 'Lovelace',
  });
  assert.equal(registered.status, 201, registered.text);
  const cookie = browser.cookies.get('csrf_token');
  assert.equal((await postText(browser, '/api/v1/auth/login', '{}')).status, 422);
  assert.equal(browser.cookies.get('csrf_token'), cookie);
});

test('a flood of requests without a CSRF token writes a limited number of entries', async (t) => {
  const service = await startTestService(t);
  await Promise.all(
    Array.from({ length: 150 }, () => fetch(`${service.url}/api/v1/auth/logout`, { method: 'POST' })),
  );
  const [row] = await service.sql<{ entries: number; told: number }>(
    "select count(*)::int as entries, count(*) filter (where details ? 'more_left_out')::int as told from audit_logs where action = 'csrf_refused'",
  );
  assert.ok(row && row.entries >= 60 && row.entries <= 120, JSON.stringify(row));
  assert.ok(row.told >= 1);
});
