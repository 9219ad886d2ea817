// A new access token by the refresh cookie, or by the body for clients without cookies. The refresh token is not rotated.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { signIn, startTestService } from '@castellan/testing/harness';
import { addUser, isAccepted, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { hashOf, readToken } from '@castellan/testing/sessions/own-tokens';
import { atOnce } from '../at-once.ts';
import { setCookieOf } from '../set-cookie.ts';

const service = await startTestService({ after });
const PATH = '/api/v1/auth/new_access_token';

async function withoutRefreshCookie(client: TestClient): Promise<TestClient> {
  client.cookies.delete('refresh_token');
  return client;
}

function assertRefused(answer: Answer): void {
  assert.equal(answer.status, 401, answer.text);
  assert.equal(answer.body.code, 'refresh_token_invalid');
}

test('the cookie gets an access token and its type, nothing else', async () => {
  const client = await signIn(service, await addUser(service));
  const answer = await client.post(PATH, undefined, { headers: { authorization: null } });
  assert.equal(answer.status, 200, answer.text);
  const { access_token, ...rest } = answer.body.data;
  assert.deepEqual(rest, { token_type: 'bearer' });
  assert.equal(typeof answer.body.message, 'string');
  assert.ok(await isAccepted(service, access_token));
});

test('the cookie is never rotated: none is set, and the same token works 16 times in parallel and again', async () => {
  const client = await signIn(service, await addUser(service));
  for (const answer of await atOnce(16, () => client.post(PATH))) {
    assert.equal(answer.status, 200, answer.text);
    assert.equal(setCookieOf(answer, 'refresh_token'), undefined);
  }
  const [row] = await service.sql(
    'select rotated_at, successor_jti from session_tokens where token_hash = $1',
    [hashOf(client.refreshToken as string)],
  );
  assert.deepEqual(row, { rotated_at: null, successor_jti: null });
  assert.equal((await client.post(PATH)).status, 200);
});

test('the new access token belongs to the session of the cookie, and no session is added', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const answer = await client.post(PATH);
  const { sid } = readToken(client.accessToken as string).claims;
  assert.equal(readToken(answer.body.data.access_token).claims.sid, sid);
  assert.deepEqual(await liveSessionIds(service, user.id), [sid]);
});

test('without a cookie the token in the body is used, and is not rotated either', async () => {
  const client = await withoutRefreshCookie(await signIn(service, await addUser(service)));
  for (let turn = 0; turn < 2; turn += 1) {
    const answer = await client.post(PATH, { refresh_token: client.refreshToken });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(Object.keys(answer.body.data).sort(), ['access_token', 'token_type']);
  }
});

test('an empty cookie counts as none, and the body is used', async () => {
  const client = await signIn(service, await addUser(service));
  client.cookies.set('refresh_token', '');
  const answer = await client.post(PATH, { refresh_token: client.refreshToken });
  assert.equal(answer.status, 200, answer.text);
});

test('the cookie takes precedence over the body', async () => {
  const ada = await addUser(service);
  const client = await signIn(service, ada);
  const bob = await signIn(service, await addUser(service));
  const answer = await client.post(PATH, { refresh_token: bob.refreshToken });
  assert.equal(readToken(answer.body.data.access_token).claims.sub, ada.id);
});

test('neither cookie nor body is 401, however nothing is sent', async () => {
  const client = service.client();
  assertRefused(await client.post(PATH));
  assertRefused(await client.post(PATH, {}));
  assertRefused(await client.post(PATH, undefined, { headers: { 'content-type': 'application/json' } }));
});

test('a cookie without a CSRF token is 403, and returns nothing', async () => {
  const client = await signIn(service, await addUser(service));
  const answer = await client.post(PATH, undefined, { headers: { 'x-csrf-token': null } });
  assert.equal(answer.status, 403, answer.text);
  assert.equal(answer.body.code, 'csrf_invalid');
});

test('an exchanged token in the cookie works within the interval and ends the session after it', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const old = client.refreshToken as string;
  await client.post('/api/v1/auth/refresh', { refresh_token: old });
  client.cookies.set('refresh_token', old);
  assert.equal((await client.post(PATH)).status, 200);
  await service.sql(
    "update session_tokens set rotated_at = now() - interval '31 seconds' where token_hash = $1",
    [hashOf(old)],
  );
  assertRefused(await client.post(PATH));
  assert.deepEqual(await liveSessionIds(service, user.id), []);
});
