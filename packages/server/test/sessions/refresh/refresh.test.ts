// Exchanging a refresh token with /auth/refresh: rotation, retries, reuse, and invalid tokens.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { addUser, isAccepted, isRefreshable, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { hashOf, readToken } from '@castellan/testing/sessions/own-tokens';
import { setCookieOf } from '../set-cookie.ts';

const service = await startTestService({ after });

const refresh = (client: TestClient, token: string | null): Promise<Answer> =>
  client.post('/api/v1/auth/refresh', { refresh_token: token }, { headers: { cookie: csrfOnly(client) } });

// For a client that does not keep the refresh token as a cookie.
const csrfOnly = (client: TestClient): string | null => {
  const csrf = client.cookies.get('csrf_token');
  return csrf ? `csrf_token=${csrf}` : null;
};

/** Makes the exchange of the token appear to be so many seconds old. */
const ageExchange = (where: TestService, token: string | null, seconds: number) =>
  where.sql(
    'update session_tokens set rotated_at = rotated_at - make_interval(secs => $2) where token_hash = $1',
    [hashOf(token as string), seconds],
  );

function assertRefused(answer: Answer): void {
  assert.equal(answer.status, 401, answer.text);
  assert.equal(answer.body.code, 'refresh_token_invalid');
  assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
  assert.equal(setCookieOf(answer, 'refresh_token'), undefined);
}

test('a refresh returns a new access token, a new refresh token, the type and a message', async () => {
  const client = await signIn(service, await addUser(service));
  const answer = await refresh(client, client.refreshToken);
  assert.equal(answer.status, 200, answer.text);
  const { access_token, refresh_token, ...rest } = answer.body.data;
  assert.deepEqual(rest, { token_type: 'bearer' });
  assert.equal(typeof answer.body.message, 'string');
  assert.notEqual(refresh_token, client.refreshToken);
  assert.notEqual(access_token, client.accessToken);
  assert.ok(await isAccepted(service, access_token));
});

test('a refresh keeps the session, and earlier access tokens of it stay valid', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const { data } = (await refresh(client, client.refreshToken)).body;
  const { sid } = readToken(client.accessToken as string).claims;
  assert.equal(readToken(data.access_token).claims.sid, sid);
  assert.equal(readToken(data.refresh_token).claims.sid, sid);
  assert.deepEqual(await liveSessionIds(service, user.id), [sid]);
  assert.ok(await isAccepted(service, client.accessToken as string));
});

test('a refresh is an event of its session', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  await refresh(client, client.refreshToken);
  const [event] = await eventsOf(service, 'session_refreshed', user);
  assert.equal(event?.actor_id, user.id);
  assert.equal(event?.details.session_id, readToken(client.accessToken as string).claims.sid);
});

test('within the reuse interval a retry gets the same successor, byte for byte', async () => {
  const client = await signIn(service, await addUser(service));
  const first = await refresh(client, client.refreshToken);
  await ageExchange(service, client.refreshToken, 25);
  const retry = await refresh(client, client.refreshToken);
  assert.equal(retry.body.data.refresh_token, first.body.data.refresh_token);
  assert.notEqual(retry.body.data.access_token, first.body.data.access_token);
});

test('an exchanged token used after the interval ends its session only; the event is written and the answer is 401', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const elsewhere = await signIn(service, user);
  const { data } = (await refresh(client, client.refreshToken)).body;
  await ageExchange(service, client.refreshToken, 31);
  assertRefused(await refresh(client, client.refreshToken));
  for (const token of [client.accessToken as string, data.access_token])
    assert.equal(await isAccepted(service, token), false);
  assertRefused(await refresh(client, data.refresh_token));
  assert.ok(await isAccepted(service, elsewhere.accessToken as string));
  const [event, ...more] = await eventsOf(service, 'refresh_token_reuse', user);
  assert.equal(event?.details.session_id, readToken(client.accessToken as string).claims.sid);
  assert.deepEqual(more, []);
});

test('the last token of a chain works after the intervals of all its predecessors', async () => {
  const client = await signIn(service, await addUser(service));
  let token = client.refreshToken;
  for (let turn = 0; turn < 3; turn += 1) {
    const answer = await refresh(client, token);
    await ageExchange(service, token, 60);
    token = answer.body.data.refresh_token;
  }
  assert.equal((await refresh(client, token)).status, 200);
});

test('REFRESH_REUSE_INTERVAL=0 treats a second use of a token as theft at once', async () => {
  const strict = await service.another({ REFRESH_REUSE_INTERVAL: '0' });
  const client = await signIn(strict, await addUser(service));
  const first = await refresh(client, client.refreshToken);
  assertRefused(await refresh(client, client.refreshToken));
  assertRefused(await refresh(client, first.body.data.refresh_token));
});

test('a browser that sends its cookie’s token gets the successor as a cookie, other clients get none', async () => {
  const client = await signIn(service, await addUser(service));
  assert.equal(setCookieOf(await refresh(client, client.refreshToken), 'refresh_token'), undefined);
  const answer = await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
  const cookie = setCookieOf(answer, 'refresh_token');
  assert.equal(cookie?.value, answer.body.data.refresh_token);
  assert.equal(cookie?.attributes.path, '/api/v1/auth');
  assert.ok(cookie && 'httponly' in cookie.attributes && 'secure' in cookie.attributes);
});

test('a refresh without a token is 422', async () => {
  for (const body of [{}, { refresh_token: '' }, { refresh_token: 7 }, { refresh_token: null }])
    assert.equal((await service.client().post('/api/v1/auth/refresh', body)).status, 422);
});

test('an expired refresh token is refused by the database’s time, and its session is not revoked', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  await service.sql(
    "update session_tokens set expires_at = now() - interval '1 second' where token_hash = $1",
    [hashOf(client.refreshToken as string)],
  );
  assertRefused(await refresh(client, client.refreshToken));
  assert.equal((await liveSessionIds(service, user.id)).length, 1);
});

test('a refresh of a session that has expired or was revoked is refused', async () => {
  for (const change of ["expires_at = now() - interval '1 second'", 'revoked_at = now()']) {
    const user = await addUser(service);
    const client = await signIn(service, user);
    await service.sql(`update sessions set ${change} where user_id = $1`, [user.id]);
    assertRefused(await refresh(client, client.refreshToken));
    assert.equal(await isRefreshable(service, client.refreshToken as string), false);
  }
});
