// The list of the caller's own live sessions, and ending one of them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { addUser, isAccepted, isRefreshable } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';

const service = await startTestService({ after });
const PATH = '/api/v1/auth/sessions';

const idOf = (client: TestClient): string => readToken(client.accessToken as string).claims.sid;
async function listed(client: TestClient): Promise<{ id: string; current: boolean }[]> {
  const answer = await client.get(PATH);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data;
}
const end = (client: TestClient, id: string) => client.delete(`${PATH}/${id}`);

test('the list contains the live sessions, newest first, and marks the current one', async () => {
  const user = await addUser(service);
  const clients = [await signIn(service, user), await signIn(service, user), await signIn(service, user)];
  const newestFirst = clients.map(idOf).reverse();
  for (const client of clients) {
    const list = await listed(client);
    assert.deepEqual(
      list.map((session) => session.id),
      newestFirst,
    );
    assert.deepEqual(
      list.filter((session) => session.current).map((session) => session.id),
      [idOf(client)],
    );
  }
});

test('the list comes in pages with the true total, for the owner and for administrators', async () => {
  const user = await addUser(service);
  const clients = [await signIn(service, user), await signIn(service, user), await signIn(service, user)];
  const newestFirst = clients.map(idOf).reverse();
  const admin = await signIn(service, ADMIN);
  for (const [client, path] of [
    [clients[0] as TestClient, PATH],
    [admin, `/api/v1/users/${user.id}/sessions`],
  ] as const) {
    const read = async (query: string) => (await client.get(path + query)).body;
    const whole = await read('');
    assert.deepEqual(whole.pagination, { page: 1, limit: 50, total: 3, pages: 1 });
    const pages = [await read('?size=2'), await read('?size=2&page=2'), await read('?size=2&page=3')];
    assert.deepEqual(
      pages.map(({ data }) => data.map(({ id }: { id: string }) => id)),
      [newestFirst.slice(0, 2), newestFirst.slice(2), []],
    );
    for (const [at, { pagination }] of pages.entries())
      assert.deepEqual(pagination, { page: at + 1, limit: 2, total: 3, pages: 2 });
    assert.equal((await client.get(`${path}?size=101`)).status, 422);
  }
  await end(clients[0] as TestClient, idOf(clients[1] as TestClient));
  assert.equal((await (clients[0] as TestClient).get(PATH)).body.pagination.total, 2);
});

test('a session shows address, user agent and times, and nothing that could be used as a token', async () => {
  const user = await addUser(service);
  const client = service.client();
  const { email, password } = user;
  const login = await client.post(
    '/api/v1/auth/login',
    { email, password },
    { headers: { 'user-agent': 'Lynx/2.9' } },
  );
  client.accessToken = login.body.data.access_token;
  const answer = await client.get(PATH);
  const [session] = answer.body.data;
  assert.deepEqual(Object.keys(session).sort(), [
    'created_at',
    'current',
    'expires_at',
    'id',
    'last_address',
    'last_used_at',
    'origin_address',
    'unusual_network',
    'user_agent',
  ]);
  assert.equal(session.origin_address, '127.0.0.1');
  assert.equal(session.user_agent, 'Lynx/2.9');
  const days = (Date.parse(session.expires_at) - Date.parse(session.created_at)) / 86_400_000;
  assert.ok(Math.abs(days - 7) < 0.01, `${days} days`);
});

test('a refresh updates last_used_at, and a rotation also updates expires_at', async () => {
  const client = await signIn(service, await addUser(service));
  await service.sql(
    `update sessions set last_used_at = last_used_at - interval '1 hour', expires_at = expires_at - interval '1 hour'
     where id = $1`,
    [idOf(client)],
  );
  await service.sql(
    `update session_tokens set expires_at = expires_at - interval '1 hour' where session_id = $1 and kind = 'refresh'`,
    [idOf(client)],
  );
  const times = async () => {
    const [session] = (await client.get(PATH)).body.data;
    return { used: Date.parse(session.last_used_at), ends: Date.parse(session.expires_at) };
  };
  const before = await times();
  await client.post('/api/v1/auth/new_access_token');
  const used = await times();
  assert.ok(used.used > before.used + 3_000_000);
  assert.equal(used.ends, before.ends);
  await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
  assert.ok((await times()).ends > before.ends + 3_000_000);
});

test('ended and expired sessions, and those of others, are not listed', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const ended = await signIn(service, user);
  await ended.post('/api/v1/auth/logout');
  const expired = await signIn(service, user);
  await service.sql("update sessions set expires_at = now() - interval '1 second' where id = $1", [
    idOf(expired),
  ]);
  await signIn(service, await addUser(service));
  assert.deepEqual(
    (await listed(client)).map((session) => session.id),
    [idOf(client)],
  );
});

test("ending one of the caller's own sessions ends its tokens and leaves the others", async () => {
  const user = await addUser(service);
  const [client, other] = [await signIn(service, user), await signIn(service, user)];
  const answer = await end(client, idOf(other));
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body), ['message']);
  assert.equal(await isAccepted(service, other.accessToken as string), false);
  assert.equal(await isRefreshable(service, other.refreshToken as string), false);
  assert.ok(await isAccepted(service, client.accessToken as string));
  const [event] = await eventsOf(service, 'session_revoked', user);
  assert.equal(event?.details.session_id, idOf(other));
  assert.equal(event?.actor_id, user.id);
});

test('the current session can end itself', async () => {
  const client = await signIn(service, await addUser(service));
  assert.equal((await end(client, idOf(client))).status, 200);
  assert.equal((await client.get(PATH)).body.code, 'token_revoked');
});

test('an id in upper case is the same session', async () => {
  const user = await addUser(service);
  const [client, other] = [await signIn(service, user), await signIn(service, user)];
  assert.equal((await end(client, idOf(other).toUpperCase())).status, 200);
  assert.equal(await isAccepted(service, other.accessToken as string), false);
});

test('the session of another user is 404 like one that never existed, and stays live', async () => {
  const client = await signIn(service, await addUser(service));
  const stranger = await signIn(service, await addUser(service));
  const theirs = await end(client, idOf(stranger));
  const nobodys = await end(client, crypto.randomUUID());
  assert.equal(theirs.status, 404, theirs.text);
  assert.equal(theirs.body.code, 'session_not_found');
  delete theirs.body.request_id;
  delete nobodys.body.request_id;
  assert.deepEqual(theirs.body, nobodys.body);
  assert.ok(await isAccepted(service, stranger.accessToken as string));
});

test('a session that has ended is 404', async () => {
  const user = await addUser(service);
  const [client, other] = [await signIn(service, user), await signIn(service, user)];
  await end(client, idOf(other));
  assert.equal((await end(client, idOf(other))).status, 404);
});

test('an id that is not a UUID is 400', async () => {
  const client = await signIn(service, await addUser(service));
  const answer = await end(client, 'current');
  assert.equal(answer.status, 400, answer.text);
  assert.equal(answer.body.code, 'invalid_id');
});
