// Connecting identities to the own account: by a sign-in that the account begins, and one that waits in the browser. It is the account
// that proved itself a moment ago, and no identity has two accounts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { mailsTo } from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { eventually, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addPerson, type Person } from '@castellan/testing/users/people';
import { volley } from '@castellan/testing/volley';
import { addProvider, comeBack, type Provider, pageOf, signInThere, somebody } from './sign-in/fixture.ts';

const service = await startTestService(
  { after },
  { CONCURRENT_SESSION_LIMIT: '0', RATE_LIMIT_PROVIDER_START: 'off' },
);
const twin = await service.another();
const issuer = await startIssuer({ after });
const provider = await addProvider(service, issuer);
const OWN = '/api/v1/users/me/identities';
const PENDING = `${OWN}/pending`;

type SignedIn = { person: Person; client: TestClient };

async function signedIn(state: Parameters<typeof addPerson>[1] = {}): Promise<SignedIn> {
  const person = await addPerson(service, state);
  return { person, client: await signIn(service, person) };
}

const ownersOf = async (subject: string): Promise<string[]> =>
  (
    await service.sql<{ user_id: string }>('select user_id from identities where subject = $1', [subject])
  ).map(({ user_id }) => user_id);
const age = ({ id }: Person) =>
  service.sql("update sessions set created_at = created_at - interval '1 hour' where user_id = $1", [id]);

/** Goes to the provider to connect, and returns what it answers. */
async function gone({ client }: SignedIn, claims: { sub: string }, at: Provider = provider) {
  const begun = await client.post(OWN, { provider: at.slug });
  assert.equal(begun.status, 200, begun.text);
  issuer.person = claims;
  return issuer.approve(begun.body.data.redirect_to);
}

/** Leaves somebody waiting in the browser: the provider's people get no account by themselves. */
async function waiting(
  client: TestClient,
  claims = somebody({ email: undefined }),
): Promise<{ sub: string }> {
  const page = pageOf(await signInThere(client, provider, claims));
  assert.equal(page.result, 'pending');
  return claims;
}

test('a sign-in that the account begins connects, whatever the address there is', async () => {
  const who = await signedIn();
  const other = await addPerson(service);
  const claims = somebody({ email: other.email });
  const answer = await comeBack(who.client, provider, await gone(who, claims));
  assert.equal(pageOf(answer).result, 'connected');
  assert.deepEqual(await ownersOf(claims.sub), [who.person.id]);
  const [identity] = (await who.client.get(OWN)).body.data.identities;
  assert.deepEqual([identity.subject, identity.email], [claims.sub, other.email]);
  await eventually(() => mailsTo(service, who.person.email, 'identity_connected')[0], 'the mail');
  assert.deepEqual(mailsTo(service, other.email, 'identity_connected'), []);
});

test('it takes a recent proof, a CSRF token, and a provider that is there', async () => {
  const { person, client } = await signedIn();
  assertRefused(await client.post(OWN, { provider: 'nowhere' }), 404, 'identity_provider_not_found');
  const inactive = await addProvider(service, issuer, { is_active: false });
  assertRefused(await client.post(OWN, { provider: inactive.slug }), 404, 'identity_provider_not_found');
  assertRefused(await client.post(OWN, {}), 400, 'invalid_input');
  assertRefused(await client.post(OWN, { provider: 'x'.repeat(41) }), 400, 'invalid_input');
  assertRefused(
    await client.post(OWN, { provider: provider.slug }, { headers: { 'x-csrf-token': null } }),
    403,
    'csrf_invalid',
  );
  assertRefused(await service.client().post(OWN, { provider: provider.slug }), 401, 'token_missing');
  await age(person);
  for (const [path, body] of [
    [OWN, { provider: provider.slug }],
    [PENDING, undefined],
  ] as const)
    assertRefused(await client.post(path, body), 403, 'step_up_required');
});

test('a provider that is away: 503, and the account goes on', async () => {
  const away = await startIssuer({ after });
  away.misbehaviour.trouble = { discovery: 'dead' };
  const down = await addProvider(service, away);
  const { client } = await signedIn();
  const answer = await client.post(OWN, { provider: down.slug });
  assertRefused(answer, 503, 'provider_unavailable');
  assert.ok(Number(answer.headers.get('retry-after')) > 0);
  assert.equal((await client.get(OWN)).status, 200);
});

test('an identity of another account is connected to neither way', async () => {
  const owner = await signedIn();
  const claims = somebody();
  await comeBack(owner.client, provider, await gone(owner, claims));
  const thief = await signedIn();
  const page = pageOf(await comeBack(thief.client, provider, await gone(thief, claims)));
  assert.deepEqual([page.result, page.kind], ['failed', 'taken']);
  assert.deepEqual(await ownersOf(claims.sub), [owner.person.id]);
});

test('what a session began connects nothing after the session has ended', async () => {
  const who = await signedIn();
  const claims = somebody();
  const came = await gone(who, claims);
  await who.client.post('/api/v1/auth/logout');
  const page = pageOf(await comeBack(who.client, provider, came));
  assert.deepEqual([page.result, page.kind], ['failed', 'session']);
  assert.deepEqual(await ownersOf(claims.sub), []);
});

test('what waits in the browser is connected to the account that signs in there, once', async () => {
  const { person, client } = await signedIn();
  const { sub } = await waiting(client);
  const answer = await client.post(PENDING);
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.body.data.subject, sub);
  assert.deepEqual(answer.body.data.provider.slug, provider.slug);
  assert.match(answer.headers.getSetCookie().join('\n'), /^castellan_provider=; .*Max-Age=0/m);
  assert.deepEqual(await ownersOf(sub), [person.id]);
  assertRefused(await client.post(PENDING), 404, 'pending_identity_not_found');
  const [entry] = await service.sql<{ details: Record<string, unknown> }>(
    `select details from audit_logs where action = 'identity_connected' and resource_id = $1`,
    [person.id],
  );
  assert.equal(entry?.details.subject, sub);
  await eventually(() => mailsTo(service, person.email, 'identity_connected')[0], 'the mail');
});

test('nothing waits: no cookie, another browser’s, two cookies, an expired one, one of an inactive provider', async () => {
  const { client } = await signedIn();
  assertRefused(await client.post(PENDING), 404, 'pending_identity_not_found');
  const other = await signedIn();
  await waiting(other.client);
  const cookie = other.client.cookies.get('castellan_provider') ?? '';
  for (const value of [`${cookie.slice(0, -1)}${cookie.endsWith('A') ? 'B' : 'A'}`, 'x', '']) {
    client.cookies.set('castellan_provider', value);
    assertRefused(await client.post(PENDING), 404, 'pending_identity_not_found');
  }
  await service.sql('update identity_providers set is_active = false where id = $1', [provider.id]);
  assertRefused(await other.client.post(PENDING), 404, 'pending_identity_not_found');
  await service.sql('update identity_providers set is_active = true where id = $1', [provider.id]);
  await service.sql('update provider_sign_ins set expires_at = now()');
  assertRefused(await other.client.post(PENDING), 404, 'pending_identity_not_found');
});

test('of two accounts that connect one identity at once, one gets it', async () => {
  for (let round = 0; round < 3; round += 1) {
    const first = await signedIn();
    const second = { person: await addPerson(service), client: service.client() };
    await second.client.at(twin.url).login(second.person);
    const other = second.client.at(twin.url);
    const claims = somebody({ email: undefined });
    await waiting(first.client, claims);
    await waiting(other.at(service.url), claims);
    const answers = await volley([
      { client: first.client, method: 'POST', path: PENDING, hold: 'head' },
      { client: other, method: 'POST', path: PENDING, hold: 'head' },
    ]);
    assert.deepEqual(
      answers.map(({ status, body }) => body.code ?? status).sort(),
      [201, 'identity_taken'],
      answers.map(({ text }) => text).join(),
    );
    assert.equal((await ownersOf(claims.sub)).length, 1);
  }
});

test('of two requests at once in one browser, one connects', async () => {
  const { person, client } = await signedIn();
  const { sub } = await waiting(client);
  const shot = { method: 'POST', path: PENDING, hold: 'head' } as const;
  const answers = await volley([
    { ...shot, client },
    { ...shot, client: client.at(twin.url) },
  ]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 404]);
  assert.deepEqual(await ownersOf(sub), [person.id]);
});

test('an identity that the account has already stays one', async () => {
  const who = await signedIn();
  const claims = somebody({ email: undefined });
  await waiting(who.client, claims);
  await comeBack(who.client, provider, await gone(who, claims));
  assert.deepEqual(await ownersOf(claims.sub), [who.person.id]);
});
