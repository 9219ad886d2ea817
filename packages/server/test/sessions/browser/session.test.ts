// Who is found by the cookie of a browser, what makes it worthless at once, and that it opens nothing else.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { signIn, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { type Account, addUser } from '@castellan/testing/sessions/accounts';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { statementsOf } from '@castellan/testing/statements';
import { revokeSigningKey } from '../../../src/modules/sessions/keys/revocation.ts';
import { rotateSigningKey } from '../../../src/modules/sessions/keys/rotation.ts';
import { findBy, findWith, isLive, reload, SSO, ssoOf, startWithApplication } from './fixture.ts';

const { service, admin } = await startWithApplication({ after });
const twin = await service.another();

const sessionOf = (client: TestClient): string => readToken(client.accessToken ?? '').claims.sid;

async function newBrowser(on = service): Promise<{ user: Account; client: TestClient; value: string }> {
  const user = await addUser(on);
  const client = await signIn(on, user);
  return { user, client, value: ssoOf(client) };
}

test('one statement finds the person, the session and the proof of its sign-in, to the millisecond', async () => {
  const { user, client, value } = await newBrowser();
  let found = await findBy(service, value);
  const sent = await statementsOf(async () => {
    found = await findBy(service, value);
  });
  assert.equal(sent.length, 1);
  const { session } = found;
  assert.ok(session);
  assert.deepEqual(
    [session.user_id, session.session_id, session.email, session.acr, session.amr],
    // Without a factor the row needs no context: a password is what there is.
    [user.id, sessionOf(client), user.email, null, null],
  );
  assert.ok(session.now >= session.auth_time);
  assert.ok(session.now.getTime() - session.auth_time.getTime() < 60_000);
});

test('a request without the cookie asks the database nothing', async () => {
  for (const cookie of [null, '', 'csrf_token=x', `${SSO}=`, `${SSO}=short`, `${SSO}=${'!'.repeat(64)}`])
    assert.deepEqual(
      await statementsOf(async () =>
        assert.deepEqual(await findWith(service, cookie), { session: null, reason: 'missing' }),
      ),
      [],
      String(cookie),
    );
});

test('of two different values none counts, in any order; the same one twice does', async () => {
  const { value } = await newBrowser();
  const { value: tossed } = await newBrowser();
  for (const [first, second] of [
    [value, tossed],
    [tossed, value],
    [value, 'x'],
    ['x', value],
  ])
    assert.deepEqual(await findWith(service, `${SSO}=${first}; ${SSO}=${second}`), {
      session: null,
      reason: 'missing',
    });
  assert.ok((await findWith(service, `${SSO}=${value}; ${SSO}=${value}`)).session);
  assert.equal(await isLive(service, value), true);
});

test('the random bits of one person under the id of another find nobody', async () => {
  const { value } = await newBrowser();
  const { value: other } = await newBrowser();
  const crossed = Buffer.concat([
    Buffer.from(other, 'base64url').subarray(0, 16),
    Buffer.from(value, 'base64url').subarray(16),
  ]).toString('base64url');
  assert.equal(await isLive(service, crossed), false);
});

/** Each ends the session, or what it stands on; `at`: where. Another instance knows at its next request. */
const ends: [string, (about: { user: Account; client: TestClient }) => Promise<unknown>][] = [
  ['a sign-out', ({ client }) => client.post('/api/v1/auth/logout')],
  ['a sign-out everywhere', ({ client }) => client.post('/api/v1/auth/logout/all')],
  ['its owner', ({ client }) => client.delete(`/api/v1/auth/sessions/${sessionOf(client)}`)],
  [
    'an administrator',
    ({ user, client }) => admin.delete(`/api/v1/users/${user.id}/sessions/${sessionOf(client)}`),
  ],
  ['an administrator who ends all', ({ user }) => admin.delete(`/api/v1/users/${user.id}/sessions`)],
  ['a deactivation', ({ user }) => admin.put(`/api/v1/users/${user.id}`, { is_active: false })],
  [
    'a password that an administrator sets',
    ({ user }) => admin.put(`/api/v1/users/${user.id}`, { password: 'AnotherPassword!42' }),
  ],
  ['the deletion of the user', ({ user }) => admin.delete(`/api/v1/users/${user.id}`)],
  [
    'a statement in the database',
    ({ client }) => service.sql('update sessions set revoked_at = now() where id = $1', [sessionOf(client)]),
  ],
  [
    'the end of its time',
    ({ client }) => service.sql('update sessions set expires_at = now() where id = $1', [sessionOf(client)]),
  ],
];
for (const [what, end] of ends)
  test(`${what} ends it at once, at every instance`, async () => {
    const about = await newBrowser();
    assert.equal(await isLive(twin, about.value), true);
    const answer = await end(about);
    if (answer && typeof answer === 'object' && 'status' in answer) assert.equal(answer.status, 200);
    for (const instance of [service, twin]) assert.equal(await isLive(instance, about.value), false);
  });

test('a revoked key ends what it vouched for', async (t) => {
  const { service: own } = await startWithApplication(t);
  const { value } = await newBrowser(own);
  const { db, auditLog } = own.service.deps;
  const deps = { db, auditLog, secretKey: Buffer.from(TEST_SECRET_KEY) };
  const [key] = await own.sql('select key_id from signing_keys');
  await rotateSigningKey(deps, { atOnce: true });
  assert.equal(await isLive(own, value), true);
  await revokeSigningKey(deps, key?.key_id as string);
  await reload(own);
  assert.equal(await isLive(own, value), false);
});

for (const [which, lives] of [
  ['former', true],
  ['new', false],
] as const)
  test(`a refresh moves it to the new key: a revoked ${which} key ${lives ? 'leaves it' : 'ends it'}`, async (t) => {
    const { service: own } = await startWithApplication(t);
    const { client, value } = await newBrowser(own);
    const { db, auditLog } = own.service.deps;
    const deps = { db, auditLog, secretKey: Buffer.from(TEST_SECRET_KEY) };
    const [former] = await own.sql<{ key_id: string }>('select key_id from signing_keys');
    const { keyId } = await rotateSigningKey(deps, { atOnce: true });
    await own.sql('update signing_keys set signs_from = now() where key_id = $1', [keyId]);
    await reload(own);
    const { refreshToken } = client;
    const refreshed = await own.client().post('/api/v1/auth/refresh', { refresh_token: refreshToken });
    assert.equal(refreshed.status, 200, refreshed.text);
    assert.equal(await isLive(own, value), true);
    await revokeSigningKey(deps, which === 'new' ? keyId : (former?.key_id ?? ''));
    await reload(own);
    assert.equal(await isLive(own, value), lives);
  });

test('in another network it does not count, and nothing ends', async (t) => {
  const { service: own } = await startWithApplication(t, { VALIDATE_TOKEN_IP: 'true' });
  const { user, client, value } = await newBrowser(own);
  const strayed = await findBy(own, value, '203.0.113.9');
  assert.deepEqual(strayed, {
    session: null,
    reason: 'other_network',
    userId: user.id,
    sessionId: sessionOf(client),
  });
  assert.equal(await isLive(own, value), true);
  assert.equal((await client.get('/api/v1/users/me')).status, 200);
});

test('it opens no operation of the API, and nobody ends it where tokens are ended', async () => {
  const { client, value } = await newBrowser();
  const stranger = service.client();
  const bearer = await stranger.get('/api/v1/users/me', { headers: { authorization: `Bearer ${value}` } });
  assert.deepEqual([bearer.status, bearer.body.code], [401, 'token_invalid']);
  const cookieOnly = await stranger.get('/api/v1/users/me', {
    headers: { cookie: `${SSO}=${value}`, authorization: null },
  });
  assert.deepEqual([cookieOnly.status, cookieOnly.body.code], [401, 'token_missing']);
  for (const path of ['refresh', 'new_access_token']) {
    const inBody = await stranger.post(`/api/v1/auth/${path}`, { refresh_token: value });
    assert.deepEqual([inBody.status, inBody.body.code], [401, 'refresh_token_invalid'], path);
  }
  stranger.cookies.set('refresh_token', value);
  const asRefresh = await stranger.post('/api/v1/auth/new_access_token');
  assert.deepEqual([asRefresh.status, asRefresh.body.code], [401, 'refresh_token_invalid']);
  assert.equal(await isLive(service, value), true);
  assert.equal((await client.get('/api/v1/users/me')).status, 200);
});
