// What each request of an application to sign out does: it ends the session that its hint names, asks, or is refused.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import { formRequest } from '@castellan/testing/service-accounts/token-services';
import { startWithAdmin } from '../../applications/fixture.ts';
import { addApplication, assertDead, tokensOf } from '../fixture.ts';
import {
  AFTERWARDS,
  askedIn,
  assertCleared,
  assertPage,
  hintOf,
  inBrowser,
  isSessionLive,
  LOGOUT,
  locationOf,
  logout,
} from './fixture.ts';

const { service, admin } = await startWithAdmin({ after }, { RATE_LIMIT_AUTHORIZE: 'off' });
const twin = await service.another();
const fields = { post_logout_redirect_uris: [AFTERWARDS, `${AFTERWARDS}?from=here`] };
const web = await addApplication(admin, [service, twin], fields);
const other = await addApplication(admin, [service, twin], fields);

const decide = (
  client: Awaited<ReturnType<typeof inBrowser>>['client'],
  id: string,
  decision: 'sign_out' | 'stay',
) =>
  client.post(
    `/api/v1/oauth/interactions/${id}/sign-out`,
    { decision },
    { headers: { authorization: null } },
  );

test('a hint of this session ends it at once: cookies, tokens and an audit entry that names the application', async () => {
  const who = await inBrowser(service);
  const tokens = await tokensOf(service, web, who);
  const answer = await logout(who.client, {
    id_token_hint: tokens.id_token,
    post_logout_redirect_uri: AFTERWARDS,
    state: 'a&b="ü',
  });
  assert.equal(locationOf(answer), `${AFTERWARDS}?state=a%26b%3D%22%C3%BC`);
  assertCleared(answer);
  assert.equal(await isSessionLive(service, who.sessionId), false);
  await assertDead(twin, web, tokens);
  const entries = await service.sql<{ details: Record<string, unknown> }>(
    `select details from audit_logs where action = 'logout' and actor_id = $1`,
    [who.person.id],
  );
  assert.deepEqual(
    entries.map(({ details }) => [details.session_id, details.application_id]),
    [[who.sessionId, web.id]],
  );
});

test('without an address, the person is told here; an address with a query keeps it', async () => {
  const first = await inBrowser(service);
  assert.match(
    locationOf(await logout(first.client, { id_token_hint: await hintOf(service, web, first) })),
    /\/sign-out$/,
  );
  assert.equal(await isSessionLive(service, first.sessionId), false);

  const second = await inBrowser(service);
  const answer = await logout(second.client, {
    id_token_hint: await hintOf(service, web, second),
    client_id: web.client_id,
    post_logout_redirect_uri: `${AFTERWARDS}?from=here`,
    state: 'x',
  });
  assert.equal(locationOf(answer), `${AFTERWARDS}?from=here&state=x`);
});

test('the hint may be of another instance and of an ES256 application', async () => {
  const signing = await addApplication(admin, [service, twin], { ...fields, id_token_signing_alg: 'ES256' });
  const who = await inBrowser(service);
  const hint = await hintOf(service, signing, who);
  const answer = await logout(who.client.at(twin.url), { id_token_hint: hint });
  assert.match(locationOf(answer), /\/sign-out$/);
  assert.equal(await isSessionLive(service, who.sessionId), false);
});

test('any other hint, and none, make the page ask: of another session, of another person, and no hint at all', async () => {
  const who = await inBrowser(service);
  const earlier = await hintOf(service, web, await inBrowser(service, who.person));
  const foreign = await hintOf(service, web, await inBrowser(service));
  const requests: Record<string, string>[] = [
    { id_token_hint: earlier },
    { id_token_hint: foreign, post_logout_redirect_uri: AFTERWARDS },
    { client_id: web.client_id, post_logout_redirect_uri: AFTERWARDS },
    { client_id: web.client_id },
    { logout_hint: who.person.email },
    {},
  ];
  for (const request of requests) {
    const answer = await logout(who.client, request);
    askedIn(answer);
    assert.deepEqual(answer.headers.getSetCookie(), []);
    assert.equal(await isSessionLive(service, who.sessionId), true, JSON.stringify(request));
  }
});

test('the hint of one application does not sign out at another, though the session is the same', async () => {
  const who = await inBrowser(service);
  // `other` sends an ID token of its own for a session of somebody else: its sid is none of this browser.
  const foreign = await hintOf(service, other, await inBrowser(service));
  askedIn(await logout(who.client, { id_token_hint: foreign }));
  assert.equal(await isSessionLive(service, who.sessionId), true);
});

test('the page signs out, once, and leads to the address with its state', async () => {
  const who = await inBrowser(service);
  const id = askedIn(
    await logout(who.client, { client_id: web.client_id, post_logout_redirect_uri: AFTERWARDS, state: 's' }),
  );
  const answer = await decide(who.client, id, 'sign_out');
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.redirect_to, `${AFTERWARDS}?state=s`);
  assertCleared(answer);
  assert.equal(await isSessionLive(service, who.sessionId), false);
  assertRefused(await decide(who.client, id, 'sign_out'), 404, 'interaction_not_found');
  assertPage(await logout(who.client, { interaction: id }));
});

test('who stays goes back to the application, or to the front page, and stays signed in', async () => {
  const who = await inBrowser(service);
  const asked = { client_id: web.client_id, post_logout_redirect_uri: AFTERWARDS };
  const back = await decide(who.client, askedIn(await logout(who.client, asked)), 'stay');
  assert.equal(back.body.data.redirect_to, AFTERWARDS);
  const here = await decide(who.client, askedIn(await logout(who.client, {})), 'stay');
  assert.equal(here.body.data.redirect_to, '/');
  assert.equal(await isSessionLive(service, who.sessionId), true);
  assert.deepEqual(here.headers.getSetCookie(), []);
});

test('a request without a CSRF token signs nobody out at the page', async () => {
  const who = await inBrowser(service);
  const id = askedIn(await logout(who.client, {}));
  const answer = await who.client.post(
    `/api/v1/oauth/interactions/${id}/sign-out`,
    { decision: 'sign_out' },
    { headers: { 'x-csrf-token': null } },
  );
  assertRefused(answer, 403, 'csrf_invalid');
  assert.equal(await isSessionLive(service, who.sessionId), true);
});

test('an address that the application has lost is not gone to', async () => {
  const made = await addApplication(admin, [service, twin], fields);
  const who = await inBrowser(service);
  const id = askedIn(
    await logout(who.client, { client_id: made.client_id, post_logout_redirect_uri: AFTERWARDS }),
  );
  await service.sql(`update applications set post_logout_redirect_uris = '{}' where id = $1`, [made.id]);
  const answer = await decide(who.client, id, 'sign_out');
  assert.equal(answer.body.data.redirect_to, '/sign-out');
  assert.equal(await isSessionLive(service, who.sessionId), false);
});

test('nobody signed in: nothing ends, and the browser goes where the page would have led', async () => {
  const { client } = await inBrowser(service);
  client.cookies.delete('castellan_sso');
  const named = { client_id: web.client_id, post_logout_redirect_uri: AFTERWARDS, state: 's' };
  assert.equal(locationOf(await logout(client, named)), `${AFTERWARDS}?state=s`);
  assert.match(locationOf(await logout(client, {})), /\/sign-out$/);
});

test('a form is kept, and the browser comes back with its cookie', async () => {
  const who = await inBrowser(service);
  const hint = await hintOf(service, web, who);
  const form = { id_token_hint: hint, post_logout_redirect_uri: AFTERWARDS, state: 's' };
  // As from another site: no cookie, no CSRF token.
  const kept = await service.client().request('POST', LOGOUT, formRequest(form));
  const next = locationOf(kept);
  assert.match(next, /\/api\/v1\/oauth\/logout\?interaction=[\w-]{43}$/);
  assert.equal(await isSessionLive(service, who.sessionId), true);
  const answer = await who.client.at(twin.url).get(next);
  assert.equal(locationOf(answer), `${AFTERWARDS}?state=s`);
  assertCleared(answer);
  assert.equal(await isSessionLive(service, who.sessionId), false);
  assertPage(await who.client.get(next));

  const asking = await service.client().request('POST', LOGOUT, formRequest({ client_id: web.client_id }));
  const another = await inBrowser(service);
  const id = askedIn(await another.client.get(locationOf(asking)));
  assert.equal((await decide(another.client, id, 'sign_out')).status, 200);
  assert.equal(await isSessionLive(service, another.sessionId), false);
});

test('the pages are told the language that the application asks for, by GET and by a form', async () => {
  const who = await inBrowser(service);
  const asked = { client_id: web.client_id, ui_locales: 'fr de-AT' };
  const page = /\/sign-out\?interaction=([\w-]{43})&ui_locales=de$/;
  assert.match(locationOf(await logout(who.client, asked)), page);
  const kept = locationOf(await service.client().request('POST', LOGOUT, formRequest(asked)));
  const [, id = ''] = page.exec(locationOf(await who.client.get(kept))) ?? [];
  const answer = await decide(who.client, id, 'sign_out');
  assert.equal(answer.body.data.redirect_to, '/sign-out?ui_locales=de');
  assert.match(
    locationOf(await logout(service.client(), { ui_locales: 'de' })),
    /\/sign-out\?ui_locales=de$/,
  );
  assert.match(locationOf(await logout(service.client(), { ui_locales: 'fr' })), /\/sign-out$/);
});

test('20 parallel answers of one page end the session once, on two instances', async () => {
  const who = await inBrowser(service);
  const id = askedIn(await logout(who.client, {}));
  const clients = [who.client, who.client.at(twin.url)];
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => decide(clients[index % 2] ?? who.client, id, 'sign_out')),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  const [row] = await service.sql<{ count: string }>(
    `select count(*) from audit_logs where action = 'logout' and actor_id = $1`,
    [who.person.id],
  );
  assert.equal(row?.count, '1');
});

test('HEAD ends nothing, keeps nothing and uses nothing up', async () => {
  const who = await inBrowser(service);
  const hint = await hintOf(service, web, who);
  const head = (parameters: Record<string, string>) =>
    who.client.request('HEAD', `${LOGOUT}?${new URLSearchParams(parameters)}`, {
      headers: { authorization: null },
    });
  const kept = async () => (await service.sql('select from application_requests')).length;
  const before = await kept();
  const named = await head({ id_token_hint: hint, post_logout_redirect_uri: AFTERWARDS });
  assert.deepEqual([locationOf(named), named.text], [AFTERWARDS, '']);
  assert.match(locationOf(await head({})), /\/sign-out$/);
  assert.equal((await head({ id_token_hint: 'wrong' })).status, 400);
  assert.equal(await kept(), before);
  const form = await who.client.request('POST', LOGOUT, formRequest({ id_token_hint: hint }));
  const interaction = new URL(locationOf(form), service.url).searchParams.get('interaction') ?? '';
  assert.match(locationOf(await head({ interaction })), /\/sign-out$/);
  assert.equal(await isSessionLive(service, who.sessionId), true);
  assert.match(locationOf(await logout(who.client, { interaction })), /\/sign-out$/);
  assert.equal(await isSessionLive(service, who.sessionId), false);
});
