// Revocation: what ends with which token, and that nobody learns from the answer what a text was.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { signIn, startTestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import {
  clientToken,
  FORM_TYPE,
  formRequest,
  postForm,
} from '@castellan/testing/service-accounts/token-services';
import { isAccepted, isRefreshable, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { openSigner, readToken } from '@castellan/testing/sessions/own-tokens';
import { statementsOf } from '@castellan/testing/statements';
import { addPerson, eventsOf } from '@castellan/testing/users/people';

const service = await startTestService(
  { after },
  { CONCURRENT_SESSION_LIMIT: '0', REFRESH_REUSE_INTERVAL: '0' },
);
const twin = await service.another();

const revoke = (token: string, form: Record<string, string> = {}) =>
  postForm(service, 'revoke', { token, ...form });

async function signedIn(): Promise<{
  client: TestClient;
  id: string;
  email: string;
  access: string;
  refresh: string;
}> {
  const person = await addPerson(service);
  const client = await signIn(service, person);
  return { ...person, client, access: client.accessToken ?? '', refresh: client.refreshToken ?? '' };
}

/** Revokes the token, asserts the answer that every text gets, and returns the actions that were recorded. */
async function revokeAndRead(token: string, hint?: string): Promise<{ action: string; details: unknown }[]> {
  const answer = await revoke(token, hint === undefined ? {} : { token_type_hint: hint });
  assert.deepEqual([answer.status, answer.text], [200, '']);
  return (await eventsOf(service, answer)).map(({ action, details: { address, request_id, ...details } }) => {
    assert.deepEqual([address, request_id], ['127.0.0.1', answer.headers.get('x-request-id')]);
    return { action, details };
  });
}

test('an access token of a user ends alone, at every instance', async () => {
  const { client, access, refresh } = await signedIn();
  const other = await client.post('/api/v1/auth/new_access_token', { refresh_token: refresh });
  const { sid } = readToken(access).claims;
  assert.deepEqual(await revokeAndRead(access), [
    { action: 'access_token_revoked', details: { session_id: sid } },
  ]);
  for (const at of [twin, service]) {
    assert.equal(await isAccepted(at, access), false);
    assert.equal(await isAccepted(at, other.body.data.access_token), true);
    assert.equal(await isRefreshable(at, refresh), true);
  }
  assert.deepEqual(await revokeAndRead(access), []);
});

test('a refresh token ends its session with every token, as signing out does', async () => {
  const { id, email, client, access, refresh } = await signedIn();
  const kept = await signIn(service, { email, password: 'QaRegisterPass!47' });
  const { sid } = readToken(access).claims;
  assert.deepEqual(await revokeAndRead(client.refreshToken ?? '', 'access_token'), [
    { action: 'logout', details: { email, session_id: sid } },
  ]);
  for (const at of [twin, service]) {
    assert.equal(await isAccepted(at, access), false);
    assert.equal(await isRefreshable(at, refresh), false);
    assert.equal(await isAccepted(at, kept.accessToken ?? ''), true);
  }
  assert.deepEqual(await liveSessionIds(service, id), [readToken(kept.accessToken ?? '').claims.sid]);
  const [session] = await service.sql('select revoked_reason from sessions where id = $1', [sid]);
  assert.equal(session?.revoked_reason, 'logout');
  assert.deepEqual(await revokeAndRead(refresh), []);
  await assertSound(service);
});

test('an exchanged refresh token ends its session without the event of a reuse', async () => {
  for (const isRowGone of [false, true]) {
    const { client, email, access, refresh } = await signedIn();
    const { body } = await client.post('/api/v1/auth/refresh', { refresh_token: refresh });
    if (isRowGone)
      await service.sql('delete from session_tokens where rotated_at is not null and user_id = $1', [
        readToken(access).claims.sub,
      ]);
    assert.deepEqual(await revokeAndRead(refresh), [
      { action: 'logout', details: { email, session_id: readToken(access).claims.sid } },
    ]);
    assert.equal(await isAccepted(twin, body.data.access_token), false);
    assert.equal(await isRefreshable(twin, body.data.refresh_token), false);
  }
});

test('an access token of a service account ends alone; the key and its other tokens go on', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read'] });
  const [token, other] = [await clientToken(service, account), await clientToken(service, account)];
  assert.deepEqual(await revokeAndRead(token), [
    { action: 'access_token_revoked', details: { key_id: account.keyId } },
  ]);
  const statusOf = async (at: typeof service, credential: string) =>
    (await at.client().get('/api/v1/roles', { headers: { authorization: `Bearer ${credential}` } })).status;
  for (const at of [twin, service]) {
    assert.equal(await statusOf(at, token), 401);
    assert.equal(await statusOf(at, other), 200);
    assert.equal(await statusOf(at, account.key), 200);
  }
  assert.deepEqual(await revokeAndRead(token), []);
});

test('an API key does not end, and neither does anything by a text that is no live token', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read'] });
  const { client, access, refresh } = await signedIn();
  const sign = await openSigner(service);
  const { claims } = readToken(refresh);
  const texts = [
    account.key,
    `${account.key}x`,
    `${access}x`,
    `${refresh}x`,
    refresh.slice(0, -1),
    // Signed by this service for this session, but never issued: an expired one, and one of another user.
    sign({ ...claims, exp: claims.iat, iat: claims.iat - 60, nbf: claims.iat - 60 }),
    sign({ ...claims, sub: account.id }),
    'x',
    'a.b.c',
    'x'.repeat(9_000),
  ];
  for (const text of texts) {
    assert.deepEqual(await revokeAndRead(text), [], text.slice(0, 60));
    assert.deepEqual(await revokeAndRead(text, 'refresh_token'), []);
  }
  assert.equal(await isAccepted(twin, access), true);
  assert.equal((await client.get('/api/v1/auth/sessions')).body.data.length, 1);
  const headers = { authorization: `Bearer ${account.key}` };
  assert.equal((await twin.client().get('/api/v1/roles', { headers })).status, 200);
});

test('a text that cannot be a token costs no statement', async () => {
  const { key } = await addServiceAccount(service);
  for (const token of [key, 'x', 'a.b.c', 'x'.repeat(9_000)])
    assert.deepEqual(await statementsOf(() => revoke(token)), [], token.slice(0, 20));
});

test('a missing token is 400', async () => {
  for (const form of ['', 'token=', 'token', 'token_type_hint=access_token']) {
    const answer = await postForm(service, 'revoke', form);
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_request'], answer.text);
  }
});

test('a browser needs no CSRF token, and its cookies end nothing', async () => {
  const { client, access } = await signedIn();
  const answer = await client.request('POST', '/api/v1/oauth/revoke', {
    raw: 'token=x',
    headers: { 'x-csrf-token': null, 'content-type': FORM_TYPE },
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('set-cookie'), null);
  assert.equal(await isAccepted(service, access), true);
});

test('RATE_LIMIT_REVOKE counts per address, 60 a minute by default', async (t) => {
  const limited = await startTestService(t, { RATE_LIMIT_REVOKE: '2/minute' });
  const send = () => limited.client().request('POST', '/api/v1/oauth/revoke', formRequest({ token: 'x' }));
  for (let sent = 0; sent < 2; sent += 1) assert.equal((await send()).status, 200);
  const over = await send();
  assert.deepEqual([over.status, over.body.error], [429, 'rate_limited']);
  assert.match(over.headers.get('retry-after') ?? '', /^\d+$/);
  const { body } = await limited.client().get('/docs/openapi.json');
  assert.equal(body.paths['/api/v1/oauth/revoke'].post['x-rate-limit'].limit, 2);
});
