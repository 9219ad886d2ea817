// CONCURRENT_SESSION_LIMIT: a sign-in beyond it ends the oldest session.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { signIn, startTestService, type TestService } from '@castellan/testing/harness';
import {
  type Account,
  addUser,
  isAccepted,
  isRefreshable,
  liveSessionIds,
} from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';

const service = await startTestService({ after });
const two = await service.another({ CONCURRENT_SESSION_LIMIT: '2' });
const idOf = (client: TestClient): string => readToken(client.accessToken as string).claims.sid;

async function signInTimes(where: TestService, user: Account, times: number): Promise<TestClient[]> {
  const clients: TestClient[] = [];
  for (let count = 0; count < times; count += 1) clients.push(await signIn(where, user));
  return clients;
}

test('with a limit of 2 the third sign-in ends the oldest session, with every token derived from it', async () => {
  const user = await addUser(service);
  const oldest = await signIn(two, user);
  const byCookie = await oldest.post('/api/v1/auth/new_access_token');
  const byBody = await oldest.post('/api/v1/auth/refresh', { refresh_token: oldest.refreshToken });
  const younger = await signInTimes(two, user, 2);
  for (const token of [oldest.accessToken, byCookie.body.data.access_token, byBody.body.data.access_token])
    assert.equal(await isAccepted(two, token), false);
  for (const token of [oldest.refreshToken, byBody.body.data.refresh_token])
    assert.equal(await isRefreshable(two, token), false);
  for (const client of younger) {
    assert.ok(await isAccepted(two, client.accessToken as string));
    assert.ok(await isRefreshable(two, client.refreshToken as string));
  }
});

test('a session that was ended by the limit is refused with that reason, and recorded in an event', async () => {
  const user = await addUser(service);
  const [oldest] = (await signInTimes(two, user, 3)) as [TestClient];
  assert.equal((await oldest.get('/api/v1/users/me')).body.code, 'token_revoked');
  const events = await eventsOf(service, 'session_revoked', user);
  assert.deepEqual(
    events.map((event) => [event.details.session_id, event.details.reason]),
    [[idOf(oldest), 'session_limit']],
  );
});

test('the oldest session by sign-in is ended, however recently it was used', async () => {
  const user = await addUser(service);
  const [oldest, second] = (await signInTimes(two, user, 2)) as [TestClient, TestClient];
  await oldest.post('/api/v1/auth/refresh', { refresh_token: oldest.refreshToken });
  await signIn(two, user);
  assert.equal(await isAccepted(two, oldest.accessToken as string), false);
  assert.ok(await isAccepted(two, second.accessToken as string));
});

test('the default limit is 5', async () => {
  const user = await addUser(service);
  const clients = await signInTimes(service, user, 6);
  assert.deepEqual(await liveSessionIds(service, user.id), clients.slice(1).map(idOf));
});

test('a limit of 1 keeps only the newest session', async () => {
  const one = await service.another({ CONCURRENT_SESSION_LIMIT: '1' });
  const user = await addUser(service);
  const [, newest] = (await signInTimes(one, user, 2)) as [TestClient, TestClient];
  assert.deepEqual(await liveSessionIds(service, user.id), [idOf(newest)]);
  assert.ok(await isAccepted(one, newest.accessToken as string));
});

for (const limit of ['0', '-1'])
  test(`a limit of ${limit} means no limit`, async () => {
    const uncapped = await service.another({ CONCURRENT_SESSION_LIMIT: limit });
    const user = await addUser(service);
    const clients = await signInTimes(uncapped, user, 7);
    assert.deepEqual(await liveSessionIds(service, user.id), clients.map(idOf));
  });

test('after lowering the limit the next sign-in ends all sessions beyond it', async () => {
  const user = await addUser(service);
  const clients = await signInTimes(service, user, 5);
  const newest = await signIn(two, user);
  assert.deepEqual(await liveSessionIds(service, user.id), [idOf(clients[4] as TestClient), idOf(newest)]);
});

test('ended and expired sessions do not count', async () => {
  const user = await addUser(service);
  const [kept, ended] = (await signInTimes(two, user, 2)) as [TestClient, TestClient];
  await ended.post('/api/v1/auth/logout');
  const expired = await signIn(two, user);
  await service.sql("update sessions set expires_at = now() - interval '1 second' where id = $1", [
    idOf(expired),
  ]);
  await signIn(two, user);
  assert.ok(await isAccepted(two, kept.accessToken as string));
});

test("each user's sessions are counted separately", async () => {
  const user = await addUser(service);
  const [client] = (await signInTimes(two, user, 2)) as [TestClient];
  await signInTimes(two, await addUser(service), 2);
  assert.ok(await isAccepted(two, client.accessToken as string));
});
