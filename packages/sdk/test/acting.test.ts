// The client of a page on which somebody acts as another user: one token, and never the session of the browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createActingClient } from '../src/acting.ts';
import { BASE_URL, createService, type FakeService, ME, REFRESH, signedInTab } from './fixture.ts';

/** Opens a page in a browser that has a session of `u-1`, and whose person acts as `customer`. */
async function actingIn(service: FakeService) {
  const own = await signedInTab(service);
  const token = service.issueToken({ sub: 'customer' });
  const client = createActingClient({ baseUrl: BASE_URL, fetch: service.fetch }, token);
  const events: string[] = [];
  client.auth.subscribe(({ type, subject }) => void events.push(`${type} ${subject}`));
  return { own, token, client, events };
}

test('every request carries the token, and changes the CSRF token', async () => {
  const service = createService();
  const { client, token, events } = await actingIn(service);
  assert.equal(await client.auth.restore(), 'authenticated');
  assert.deepEqual(events, ['authenticated customer']);
  await client.get('/api/v1/users/me');
  await client.put('/api/v1/users/me', { body: { first_name: 'Other' } });
  const sent = service.requests.filter(({ path }) => path === '/api/v1/users/me');
  assert.deepEqual(
    sent.map(({ headers }) => headers.get('authorization')),
    [`Bearer ${token}`, `Bearer ${token}`],
  );
  assert.match(sent[1]?.headers.get('x-csrf-token') ?? '', /^csrf-/);
  assert.equal(service.count(REFRESH), 0, 'the refresh cookie is not used');
});

test('a token that is refused ends the session, and nothing goes on as the person of the browser', async () => {
  const service = createService();
  const { client, own, events } = await actingIn(service);
  await client.auth.restore();
  service.expireTokens();
  await assert.rejects(client.get('/api/v1/users/me'), { status: 401 });
  assert.deepEqual(events.slice(1), ['session_ended null']);
  assert.equal(client.auth.state, 'anonymous');
  await assert.rejects(client.get('/api/v1/users/me'), { status: 401 });
  assert.equal(await client.auth.restore(), 'anonymous');
  assert.equal(service.count(REFRESH), 0);
  assert.equal(service.count(ME), 2, 'no request was sent again');
  // The session of the browser goes on.
  assert.equal(own.auth.state, 'authenticated');
  await own.get('/api/v1/users/me');
  assert.ok(service.count(REFRESH) > 0);
});

test('a token that is dead when the page opens ends the session at the first request', async () => {
  const service = createService();
  const { client, events } = await actingIn(service);
  service.expireTokens();
  await assert.rejects(client.get('/api/v1/users/me'), { status: 401 });
  await assert.rejects(client.get('/api/v1/users/me'), { status: 401 });
  assert.equal(client.auth.state, 'anonymous');
  assert.equal(events.at(-1), 'session_ended null');
});

test('ending it ends that session alone', async () => {
  const service = createService();
  const { client, own, token } = await actingIn(service);
  await client.auth.restore();
  service.always('POST /api/v1/auth/logout', () => Response.json({ message: '' }));
  await client.auth.signOut();
  const [logout] = service.requests.filter(({ path }) => path === '/api/v1/auth/logout');
  assert.equal(logout?.headers.get('authorization'), `Bearer ${token}`);
  assert.equal(client.auth.state, 'anonymous');
  assert.equal(own.auth.state, 'authenticated');
});

test('an option that is not valid is refused', () => {
  assert.throws(() => createActingClient({ baseUrl: 'accounts' }, 'token'), TypeError);
});
