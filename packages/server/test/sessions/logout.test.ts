// Signing out of one session or of all: what ends is refused at once, everything else stays usable.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { addUser, isAccepted, isRefreshable, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { atOnce } from './at-once.ts';
import { setCookieOf } from './set-cookie.ts';

const service = await startTestService({ after });
const LOGOUT = '/api/v1/auth/logout';
const LOGOUT_ALL = '/api/v1/auth/logout/all';

const access = (client: TestClient): string => client.accessToken as string;
const refresh = (client: TestClient): string => client.refreshToken as string;
const sessionOf = (client: TestClient): string => readToken(access(client)).claims.sid;

async function assertEnded(where: TestService, client: TestClient): Promise<void> {
  assert.equal(await isAccepted(where, access(client)), false, 'the access token is still accepted');
  assert.equal(await isRefreshable(where, refresh(client)), false, 'the refresh token still works');
}

async function assertLive(where: TestService, client: TestClient): Promise<void> {
  assert.ok(await isAccepted(where, access(client)));
  assert.ok(await isRefreshable(where, refresh(client)));
}

test('logout returns only a message, and ends the session with both its tokens', async () => {
  const client = await signIn(service, await addUser(service));
  const answer = await client.post(LOGOUT);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body), ['message']);
  await assertEnded(service, client);
});

test('logout ends every access token that was derived from the session', async () => {
  const client = await signIn(service, await addUser(service));
  const byCookie = await client.post('/api/v1/auth/new_access_token');
  const byBody = await client.post('/api/v1/auth/refresh', { refresh_token: refresh(client) });
  await client.post(LOGOUT);
  for (const answer of [byCookie, byBody])
    assert.equal(await isAccepted(service, answer.body.data.access_token), false);
  assert.equal(await isRefreshable(service, byBody.body.data.refresh_token), false);
  await assertEnded(service, client);
});

for (const path of [LOGOUT, LOGOUT_ALL])
  for (const [secure, environment] of [
    [true, {}],
    [false, { COOKIE_SECURE: 'false' }],
  ] as const)
    test(`${path} clears the cookie with the attributes it was set with, ${secure ? '' : 'not '}Secure`, async () => {
      const where = secure ? service : await service.another(environment);
      const client = where.client();
      const set = setCookieOf(await client.login(await addUser(service)), 'refresh_token');
      const cleared = setCookieOf(await client.post(path), 'refresh_token');
      assert.equal(cleared?.value, '');
      assert.match(cleared?.attributes.expires ?? '', /1970/);
      const { expires: _expires, 'max-age': _none, ...rest } = cleared?.attributes ?? {};
      const { 'max-age': _seconds, ...original } = set?.attributes ?? {};
      assert.deepEqual(rest, original);
      assert.equal(client.cookies.has('refresh_token'), false);
    });

test('logout leaves the other sessions of the user usable', async () => {
  const user = await addUser(service);
  const [one, other] = [await signIn(service, user), await signIn(service, user)];
  await one.post(LOGOUT);
  await assertEnded(service, one);
  await assertLive(service, other);
});

test('logout ends the session of the refresh cookie, even if the access token belongs to another session', async () => {
  const user = await addUser(service);
  const [byCookie, byToken] = [await signIn(service, user), await signIn(service, user)];
  byCookie.accessToken = access(byToken);
  assert.equal((await byCookie.post(LOGOUT)).status, 200);
  assert.equal(await isRefreshable(service, refresh(byCookie)), false);
  await assertLive(service, byToken);
});

test('without a cookie logout ends the session of the access token', async () => {
  const user = await addUser(service);
  const [client, other] = [await signIn(service, user), await signIn(service, user)];
  client.cookies.delete('refresh_token');
  await client.post(LOGOUT);
  await assertEnded(service, client);
  await assertLive(service, other);
});

test('a cookie of another user is ignored: that session stays, the one of the access token ends', async () => {
  const victim = await signIn(service, await addUser(service));
  const client = await signIn(service, await addUser(service));
  client.cookies.set('refresh_token', refresh(victim));
  assert.equal((await client.post(LOGOUT)).status, 200);
  await assertLive(service, victim);
  await assertEnded(service, client);
});

for (const [what, cookie] of [
  ['garbage', async () => 'garbage'],
  ['an access token', async (user) => access(await signIn(service, user))],
  [
    'a session that has ended',
    async (user) => {
      const ended = await signIn(service, user);
      const token = refresh(ended);
      await ended.post(LOGOUT);
      return token;
    },
  ],
] as [string, (user: { email: string; password: string }) => Promise<string>][])
  test(`with a cookie of ${what} logout ends the session of the access token`, async () => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    client.cookies.set('refresh_token', await cookie(user));
    assert.equal((await client.post(LOGOUT)).status, 200);
    assert.deepEqual((await liveSessionIds(service, user.id)).includes(sessionOf(client)), false);
  });

test('logout is an event of its session', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  await client.post(LOGOUT);
  const events = await eventsOf(service, 'logout', user);
  assert.equal(events.length, 1);
  assert.equal(events[0]?.actor_id, user.id);
  assert.equal(events[0]?.details.session_id, sessionOf(client));
});

test('a second logout with the same token is refused as revoked', async () => {
  const client = await signIn(service, await addUser(service));
  await client.post(LOGOUT);
  const again = await client.post(LOGOUT);
  assert.equal(again.status, 401);
  assert.equal(again.body.code, 'token_revoked');
});

test('logout needs a token and a CSRF token: the cookie alone ends nothing', async () => {
  const client = await signIn(service, await addUser(service));
  for (const path of [LOGOUT, LOGOUT_ALL]) {
    assert.equal((await client.post(path, undefined, { headers: { authorization: null } })).status, 401);
    assert.equal((await client.post(path, undefined, { headers: { 'x-csrf-token': null } })).status, 403);
  }
  await assertLive(service, client);
});

test('logout/all returns only a message and ends every session of the user, and of nobody else', async () => {
  const user = await addUser(service);
  const sessions = [await signIn(service, user), await signIn(service, user), await signIn(service, user)];
  const stranger = await signIn(service, await addUser(service));
  const answer = await (sessions[0] as TestClient).post(LOGOUT_ALL);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body), ['message']);
  for (const client of sessions) await assertEnded(service, client);
  await assertLive(service, stranger);
  const [event] = await eventsOf(service, 'logout_all', user);
  assert.equal(event?.details.sessions, 3);
});

test('after logout/all the user can sign in again', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  await client.post(LOGOUT_ALL);
  await assertLive(service, await signIn(service, user));
});

test('16 parallel sign-outs of one session answer 200 or "revoked", never a 5xx', async () => {
  const client = await signIn(service, await addUser(service));
  const answers = await atOnce(16, () => client.post(LOGOUT));
  for (const answer of answers)
    assert.ok(answer.status === 200 || answer.body.code === 'token_revoked', answer.text);
  assert.ok(answers.some((answer) => answer.status === 200));
  await assertEnded(service, client);
});
