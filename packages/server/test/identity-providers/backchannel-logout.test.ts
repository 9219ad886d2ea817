// Logout tokens of providers: which sessions end by one, that each counts once, and which tokens do not count.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { signIn, startTestService } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { encodePart, secondsNow } from '@castellan/testing/openid/proofs';
import { type AddedIdentity, addIdentity, addProvider, beginWith } from '@castellan/testing/openid/providers';
import { formRequest } from '@castellan/testing/service-accounts/token-services';
import { isAccepted, isRefreshable } from '@castellan/testing/sessions/accounts';
import { addPerson, type Person } from '@castellan/testing/users/people';
import { removeSessionRows } from '../../src/cleanup.ts';

const environment = { CONCURRENT_SESSION_LIMIT: '0' };
const service = await startTestService({ after }, environment);
const twin = await service.another();
const issuer = await startIssuer({ after });
const stranger = await startIssuer({ after });
const { issuer: address } = issuer;
const provider = await addProvider(service, { issuer: address, client_id: issuer.client.id });
const rival = await addProvider(service, { issuer: address, client_id: 'rival' });
const pathOf = (slug: string): string => `/api/v1/auth/providers/${slug}/backchannel-logout`;

const send = (token: string, { slug } = provider, at = service): Promise<Answer> =>
  post(pathOf(slug), `logout_token=${encodeURIComponent(token)}`, at);

const post = (path: string, form: string, at = service): Promise<Answer> =>
  at.client().request('POST', path, formRequest(form));

type Begun = { person: Person; client: TestClient; identity: AddedIdentity; sessionId: string };

/** Returns a person in a session that began with an identity of the provider. */
async function begun(sid: string | null = null, at = provider): Promise<Begun> {
  const person = await addPerson(service);
  const client = await signIn(service, person);
  const identity = await addIdentity(service, at, person.id);
  return { person, client, identity, sessionId: await beginWith(service, identity, sid) };
}

async function again({ person, identity }: Begun, sid: string | null): Promise<TestClient> {
  const client = await signIn(service, person);
  await beginWith(service, identity, sid);
  return client;
}

const isLive = ({ accessToken }: TestClient): Promise<boolean> => isAccepted(twin, accessToken ?? '');

function assertCounted(answer: Answer): void {
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.text, '');
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/);
}

function assertRefused(answer: Answer, description?: RegExp): void {
  assert.equal(answer.status, 400, answer.text);
  assert.deepEqual(Object.keys(answer.body), ['error', 'error_description']);
  assert.equal(answer.body.error, 'invalid_request');
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/);
  if (description) assert.match(answer.body.error_description, description);
}

test('a token with a sid ends what began in that session there, and nothing else', async () => {
  const who = await begun('one');
  const elsewhere = await again(who, 'two');
  const plain = await signIn(service, who.person);
  const other = await begun('one-of-somebody-else');
  assertCounted(await send(issuer.logoutToken({ sub: undefined, sid: 'one' })));
  assert.equal(await isLive(who.client), false);
  assert.equal(await isRefreshable(twin, who.client.refreshToken ?? ''), false);
  assert.deepEqual(await Promise.all([elsewhere, plain, other.client].map(isLive)), [true, true, true]);
  const [entry] = await service.sql<{ actor_id: string | null; details: Record<string, unknown> }>(
    `select actor_id, details from audit_logs where action = 'session_revoked' and resource_id = $1`,
    [who.person.id],
  );
  assert.equal(entry?.actor_id, null);
  const { reason, provider: slug, sessions_ended, session_ids } = entry?.details ?? {};
  assert.deepEqual(
    [reason, slug, sessions_ended, session_ids],
    ['provider_logout', provider.slug, 1, [who.sessionId]],
  );
});

test('a token with a sub ends everything that began with that identity, and no session by password', async () => {
  const who = await begun('x');
  const elsewhere = await again(who, null);
  const plain = await signIn(service, who.person);
  const other = await begun('x');
  assertCounted(await send(issuer.logoutToken({ sub: who.identity.subject })));
  assert.deepEqual(await Promise.all([who.client, elsewhere, plain, other.client].map(isLive)), [
    false,
    false,
    true,
    true,
  ]);
});

test('with both, the session must be one of that subject', async () => {
  const [who, other] = [await begun('shared'), await begun('shared')];
  assertCounted(await send(issuer.logoutToken({ sub: who.identity.subject, sid: 'shared' })));
  assert.deepEqual(await Promise.all([who.client, other.client].map(isLive)), [false, true]);
});

test('with both, sessions of that subject of which the provider told no sid end too', async () => {
  const who = await begun(null);
  const elsewhere = await again(who, 'another');
  const other = await begun(null);
  assertCounted(await send(issuer.logoutToken({ sub: undefined, sid: 'told-later' })));
  assert.equal(await isLive(who.client), true);
  assertCounted(await send(issuer.logoutToken({ sub: who.identity.subject, sid: 'told-later' })));
  assert.deepEqual(await Promise.all([who.client, elsewhere, other.client].map(isLive)), [false, true, true]);
});

test('a token counts for the provider that it was sent to alone', async () => {
  const who = await begun('own', rival);
  const subject = who.identity.subject;
  assertCounted(await send(issuer.logoutToken({ sub: subject })));
  assertRefused(await send(issuer.logoutToken({ sub: subject }), rival));
  assert.equal(await isLive(who.client), true);
  assertCounted(await send(issuer.logoutToken({ sub: subject, aud: ['castellan', 'rival'] }), rival));
  assert.equal(await isLive(who.client), false);
});

test('the answer is the same whether or not the person is known', async () => {
  const { headers, text } = await send(issuer.logoutToken({ sub: 'nobody' }));
  const who = await begun();
  const known = await send(issuer.logoutToken({ sub: who.identity.subject }));
  assert.equal(known.text, text);
  const namesOf = (all: Headers) => [...all.keys()].filter((name) => !name.startsWith('ratelimit'));
  assert.deepEqual(namesOf(known.headers), namesOf(headers));
});

test('a token counts once, on whatever instance, also of twenty at once', async () => {
  const who = await begun();
  const token = issuer.logoutToken({ sub: who.identity.subject });
  assertCounted(await send(token));
  const anew = await again(who, null);
  for (const at of [service, twin]) assertRefused(await send(token, provider, at), /used before/);
  assert.equal(await isLive(anew), true);
  const next = issuer.logoutToken({ sub: who.identity.subject });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => send(next, provider, index % 2 === 0 ? service : twin)),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  assert.equal(answers.filter(({ status }) => status === 400).length, 19);
  assert.equal(await isLive(anew), false);
});

test('what is noted of tokens goes when they have expired', async () => {
  const token = issuer.logoutToken({ sub: 'nobody', jti: 'to be forgotten' });
  assertCounted(await send(token));
  const hash = createHash('sha256').update('to be forgotten').digest();
  const noted = () => service.sql('select from used_logout_tokens where jti_hash = $1', [hash]);
  await removeSessionRows(service.service.deps);
  assert.equal((await noted()).length, 1);
  await service.sql("update used_logout_tokens set expires_at = now() - interval '1 second'");
  await removeSessionRows(service.service.deps);
  assert.equal((await noted()).length, 0);
});

test('a sign-in that waits for its second factor is over, too', async () => {
  const { person, identity } = await begun();
  await service.sql(
    `insert into pending_sign_ins (token_hash, user_id, browser_hash, network, session_epoch, password_epoch, identity_id,
       provider_sid, expires_at)
     values (sha256('waits'), $1, sha256('browser'), '', 0, 0, $2, 'waiting', now() + interval '10 minutes')`,
    [person.id, identity.id],
  );
  assertCounted(await send(issuer.logoutToken({ sub: undefined, sid: 'waiting' })));
  assert.deepEqual(
    await service.sql('select from pending_sign_ins where identity_id = $1', [identity.id]),
    [],
  );
});

test('tokens that do not count end nothing', async () => {
  const who = await begun('kept');
  const sub = who.identity.subject;
  const now = secondsNow();
  const good = issuer.logoutToken({ sub });
  const [header = '', claims = '', signature = ''] = good.split('.');
  const unsigned = `${encodePart({ alg: 'none', typ: 'logout+jwt' })}.${claims}.`;
  const tokens: Record<string, string> = {
    'of another issuer': stranger.logoutToken({ sub }),
    'of another issuer that names this one': stranger.logoutToken({ sub, iss: address }),
    'for another audience': issuer.logoutToken({ sub, aud: 'somebody' }),
    'without an audience': issuer.logoutToken({ sub, aud: undefined }),
    unsigned,
    'without its signature': `${header}.${claims}.`,
    altered: `${header}.${encodePart({ ...JSON.parse(Buffer.from(claims, 'base64url').toString()), sid: 'kept' })}.${signature}`,
    'without an event': issuer.logoutToken({ sub, events: undefined }),
    'with another event': issuer.logoutToken({ sub, events: { 'http://example.com/event': {} } }),
    'with a nonce': issuer.logoutToken({ sub, nonce: 'x' }),
    'without sub and sid': issuer.logoutToken({ sub: undefined }),
    'without jti': issuer.logoutToken({ sub, jti: undefined }),
    'without iat': issuer.logoutToken({ sub, iat: undefined }),
    'without exp': issuer.logoutToken({ sub, exp: undefined }),
    'that has expired': issuer.logoutToken({ sub, iat: now - 7_200, exp: now - 3_600 }),
    'of the future': issuer.logoutToken({ sub, iat: now + 7_200, exp: now + 10_800 }),
    'that is an ID token': issuer.logoutToken({ sub }, { typ: 'at+jwt' }),
    'that is no token': 'x',
    'that is nothing but dots': '..',
  };
  for (const [name, token] of Object.entries(tokens)) {
    const answer = await send(token);
    assert.equal(answer.status, 400, `${name}: ${answer.text}`);
    assertRefused(answer);
  }
  assert.equal(await isLive(who.client), true);
  assertCounted(await send(good));
  assert.equal(await isLive(who.client), false);
});

test('bodies and addresses that are wrong', async () => {
  const token = issuer.logoutToken({ sub: 'nobody' });
  const client = service.client();
  const path = pathOf(provider.slug);
  assertRefused(await post(pathOf('nowhere'), `logout_token=${token}`), /no such identity provider/);
  assertRefused(await post(path, ''));
  assertRefused(await post(path, `logout_token=${token}&logout_token=${token}`));
  assertRefused(await post(`${path}?logout_token=${token}`, ''));
  const json = await client.request('POST', path, { json: { logout_token: token } });
  assert.deepEqual([json.status, json.body.error], [400, 'invalid_request']);
  assertRefused(await post(path, `logout_token=${'x'.repeat(17_000)}`));
  assert.equal((await client.get(path)).status, 405);
  await service.sql('update identity_providers set is_active = false where id = $1', [rival.id]);
  assertRefused(await send(issuer.logoutToken({ sub: 'nobody', aud: 'rival' }), rival));
});

test('a provider that does not answer ends nothing, and holds no connection', async () => {
  const away = await startIssuer({ after });
  away.misbehaviour.trouble = { discovery: 'dead' };
  const gone = await addProvider(service, { issuer: away.issuer });
  const who = await begun(null, gone);
  assertRefused(await send(away.logoutToken({ sub: who.identity.subject }), gone));
  assert.equal(await isLive(who.client), true);
});

test('requests of one address are limited', async () => {
  const [row] = await service.sql<{ hits: number }>(
    "select hits from rate_limits where key like 'backchannel-logout|%' limit 1",
  );
  assert.ok((row?.hits ?? 0) > 20);
  await service.sql("update rate_limits set hits = 600 where key like 'backchannel-logout|%'");
  const answer = await send(issuer.logoutToken({ sub: 'nobody' }));
  assert.deepEqual([answer.status, answer.body.error], [429, 'rate_limited']);
  await service.sql("delete from rate_limits where key like 'backchannel-logout|%'");
});
