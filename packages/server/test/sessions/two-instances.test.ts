// A deployment of several instances: a change at one is effective at the others at the next request, and after restarts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { signIn, startTestService } from '@castellan/testing/harness';
import { addUser, isAccepted, isRefreshable } from '@castellan/testing/sessions/accounts';
import { counterOf, failLogins, logIn } from '@castellan/testing/sessions/attempts';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { atOnce } from './at-once.ts';

const service = await startTestService({ after });
const twin = await service.another();

/** Returns a session that the twin has just accepted, so that a cache there would contain it. */
async function signInAtBoth(): Promise<TestClient> {
  const client = await signIn(service, await addUser(service));
  for (let look = 0; look < 3; look += 1) assert.ok(await isAccepted(twin, client.accessToken as string));
  return client;
}

test('a session of one instance is accepted by the other: access, refresh by cookie and by body, CSRF', async () => {
  const client = await signInAtBoth();
  const there = client.at(twin.url);
  assert.equal((await there.post('/api/v1/auth/new_access_token')).status, 200);
  const refreshed = await there.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
  assert.equal(refreshed.status, 200, refreshed.text);
  assert.ok(await isAccepted(service, refreshed.body.data.access_token));
});

for (const [what, end] of [
  ['logout', (client) => client.post('/api/v1/auth/logout')],
  ['logout/all', (client) => client.post('/api/v1/auth/logout/all')],
  [
    'ending a session',
    (client) => client.delete(`/api/v1/auth/sessions/${readToken(client.accessToken as string).claims.sid}`),
  ],
  [
    'change_password',
    (client) =>
      client.post('/api/v1/auth/change_password', {
        current_password: 'QaRegisterPass!47',
        new_password: 'ReplacementPassword!42',
      }),
  ],
] as [string, (client: TestClient) => Promise<{ status: number; text: string }>][])
  test(`${what} at one instance takes effect at the next request to the other`, async () => {
    const client = await signInAtBoth();
    const { accessToken, refreshToken } = client;
    const answer = await end(client);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await isAccepted(twin, accessToken as string), false);
    assert.equal(await isRefreshable(twin, refreshToken as string), false);
  });

test('deactivation takes effect at the next request to every instance', async () => {
  const client = await signInAtBoth();
  const { sub } = readToken(client.accessToken as string).claims;
  await service.sql('update users set is_active = false where id = $1', [sub]);
  for (const where of [service, twin])
    assert.equal(await isAccepted(where, client.accessToken as string), false);
});

test('no request that starts after a logout was answered is accepted, under load on both instances', async () => {
  for (let round = 0; round < 5; round += 1) {
    const client = await signInAtBoth();
    const there = client.at(twin.url);
    let loggedOut = false;
    const load = atOnce(8, async (index) => {
      for (let request = 0; request < 12; request += 1) {
        const begunAfter = loggedOut;
        const { status } = await (index % 2 ? client : there).get('/api/v1/users/me');
        assert.ok(status === 200 || status === 401);
        if (begunAfter) assert.equal(status, 401);
      }
    });
    const { status } = await client.post('/api/v1/auth/logout');
    loggedOut = true;
    assert.equal(status, 200);
    await load;
    assert.equal((await there.get('/api/v1/users/me')).status, 401);
  }
});

test('revocations, sessions, exchanged tokens and locks survive a restart', async (t) => {
  const first = await startTestService(t);
  const [kept, ended] = [
    await signIn(first, await addUser(first)),
    await signIn(first, await addUser(first)),
  ];
  const exchanged = await kept.post('/api/v1/auth/refresh', { refresh_token: kept.refreshToken });
  await ended.post('/api/v1/auth/logout');
  const locked = await addUser(first);
  await failLogins(first.client(), locked.email, 5);
  await first.stop();

  const second = await first.another();
  assert.ok(await isAccepted(second, kept.accessToken as string));
  assert.equal(await isAccepted(second, ended.accessToken as string), false);
  assert.equal(await isRefreshable(second, ended.refreshToken as string), false);
  const retried = await kept
    .at(second.url)
    .post('/api/v1/auth/refresh', { refresh_token: kept.refreshToken });
  assert.equal(retried.body.data.refresh_token, exchanged.body.data.refresh_token);
  assert.equal((await logIn(second.client(), locked.email, locked.password)).body.code, 'account_locked');
  assert.equal((await counterOf(second, locked.email)).failures, 5);
});
