// Signing out at the provider, too: where the browser is sent after a sign-out, and back. Nothing of it is in the answer of other sessions.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { signIn } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addPerson } from '@castellan/testing/users/people';
import { startWithAdmin } from '../applications/fixture.ts';
import { addApplication, tokensOf } from '../openid/fixture.ts';
import { AFTERWARDS, locationOf, logout } from '../openid/sign-out/fixture.ts';
import { accountOf, addProvider, type Provider, pageOf, signInThere, somebody } from './sign-in/fixture.ts';

const { service, admin } = await startWithAdmin({ after }, { RATE_LIMIT_AUTHORIZE: 'off' });
const issuer = await startIssuer({ after });
const upstream = await addProvider(service, issuer, { logout: 'upstream' });
const here = await addProvider(service, issuer);
const application = await addApplication(admin, [service], { post_logout_redirect_uris: [AFTERWARDS] });

const PUBLIC_URL = 'http://castellan.test';
const backAt = ({ slug }: Provider): string => `/api/v1/auth/providers/${slug}/signed-out`;

/** Returns a browser in which somebody signed in by the provider. */
async function signedInBy(provider: Provider): Promise<{ client: TestClient; id: string; sub: string }> {
  const client = service.client();
  const person = somebody();
  assert.equal(pageOf(await signInThere(client, provider, person)).result, 'signed_in');
  const token = await client.post('/api/v1/auth/new_access_token', {});
  client.accessToken = token.body.data.access_token;
  const account = await accountOf(client);
  assert.ok(account);
  return { client, id: account.id, sub: person.sub };
}

/** Asserts where the browser is sent to sign out there, and returns the state that it takes along. */
function assertSentThere(location: string, { sub }: { sub: string }): string {
  const { origin, pathname, searchParams } = new URL(location);
  assert.equal(origin + pathname, `${issuer.url}/logout`);
  assert.equal(readToken(searchParams.get('id_token_hint') ?? '').claims.sub, sub);
  assert.equal(searchParams.get('post_logout_redirect_uri'), `${PUBLIC_URL}${backAt(upstream)}`);
  return searchParams.get('state') ?? '';
}

test('the sign-out of a session that began there sends the browser there, and back to a page', async () => {
  const who = await signedInBy(upstream);
  const answer = await who.client.post('/api/v1/auth/logout');
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body).sort(), ['data', 'message']);
  const state = assertSentThere(answer.body.data.redirect_to, who);
  assert.equal((await who.client.get('/api/v1/users/me')).status, 401);
  const back = await who.client.get(`${backAt(upstream)}?state=${state}`);
  assert.equal(locationOf(back), '/sign-out');
  assert.deepEqual(back.headers.getSetCookie(), []);
});

test('other sessions are answered as ever', async () => {
  const person = await addPerson(service);
  const byPassword = await signIn(service, person);
  const { client: byOther } = await signedInBy(here);
  for (const client of [byPassword, byOther])
    assert.equal((await client.post('/api/v1/auth/logout')).text, '{"message":"Signed out."}');
});

test('a provider that is off, changed, or has no such address holds up nobody', async () => {
  const [off, changed, without] = [
    await addProvider(service, issuer, { logout: 'upstream' }),
    await addProvider(service, issuer, { logout: 'upstream' }),
    await startIssuer({ after }),
  ];
  without.misbehaviour.metadata = { end_session_endpoint: undefined };
  const plain = await addProvider(service, without, { logout: 'upstream' });
  const browsers = await Promise.all([off, changed].map((one) => signedInBy(one)));
  browsers.push(await signedInBy(plain));
  await service.sql('update identity_providers set is_active = false where id = $1', [off.id]);
  await service.sql("update identity_providers set logout = 'here' where id = $1", [changed.id]);
  for (const { client } of browsers)
    assert.equal((await client.post('/api/v1/auth/logout')).text, '{"message":"Signed out."}');
});

test('an ID token that this SECRET_KEY does not open is left out', async () => {
  const { client, id } = await signedInBy(upstream);
  await service.sql("update sessions set provider_id_token_sealed = '\\x00' where user_id = $1", [id]);
  const answer = await client.post('/api/v1/auth/logout');
  assert.equal(new URL(answer.body.data.redirect_to).searchParams.get('id_token_hint'), null);
});

test('a sign-out that an application asks for goes there first, then to the application', async () => {
  const who = await signedInBy(upstream);
  const [session] = await service.sql<{ id: string; email: string }>(
    'select s.id, u.email from sessions s join users u on u.id = s.user_id where u.id = $1',
    [who.id],
  );
  assert.ok(session);
  const person = { id: who.id, email: session.email, password: '' };
  const { id_token } = await tokensOf(service, application, {
    person,
    client: who.client,
    sessionId: session.id,
  });
  const answer = await logout(who.client, {
    id_token_hint: id_token,
    post_logout_redirect_uri: AFTERWARDS,
    state: 'mine',
  });
  const state = assertSentThere(locationOf(answer), who);
  assert.match(state, /^[\w-]{43}$/);
  const back = await who.client.get(`${backAt(upstream)}?state=${state}`);
  const next = locationOf(back);
  assert.equal(next, `/api/v1/oauth/logout?interaction=${state}`);
  assert.equal(locationOf(await who.client.get(next)), `${AFTERWARDS}?state=mine`);
  assert.equal((await who.client.get(next)).status, 400, 'once');
});

test('the page that asks leads there, too', async () => {
  const who = await signedInBy(upstream);
  const asked = await logout(who.client, { client_id: application.client_id });
  const [, id = ''] = /interaction=([\w-]{43})$/.exec(locationOf(asked)) ?? [];
  const decided = await who.client.post(
    `/api/v1/oauth/interactions/${id}/sign-out`,
    { decision: 'sign_out' },
    { headers: { authorization: null } },
  );
  assert.equal(assertSentThere(decided.body.data.redirect_to, who), 'signed-out');
});

test('what comes back leads nowhere else', async () => {
  const client = service.client();
  for (const state of [
    '',
    'https://evil.example',
    '//evil.example',
    '%0d%0ax: y',
    'x'.repeat(43).replace('x', '/'),
  ])
    assert.equal(locationOf(await client.get(`${backAt(upstream)}?state=${state}`)), '/sign-out', state);
  assert.equal(locationOf(await client.get(backAt(upstream))), '/sign-out');
  assert.equal((await client.get(`${backAt(upstream)}?state=${'x'.repeat(2_001)}`)).status, 422);
  const unknown = await client.get(`${backAt(upstream)}?state=${'x'.repeat(43)}`);
  assert.equal((await client.get(locationOf(unknown))).status, 400);
});
