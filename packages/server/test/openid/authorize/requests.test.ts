// Authorization requests: what each check answers, and what leads to a code.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, test } from 'node:test';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { addProvider } from '@castellan/testing/openid/providers';
import { requireOfRole } from '@castellan/testing/second-factors/requirements';
import { formRequest } from '@castellan/testing/service-accounts/token-services';
import { addRole } from '@castellan/testing/users/people';
import { startWithAdmin } from '../../applications/fixture.ts';
import { addApplication, addSignedIn, exchange, REDIRECT } from '../fixture.ts';
import {
  AUTHORIZE,
  act,
  ask,
  interactionOf,
  ledTo,
  parametersOf,
  read,
  resume,
  type Sent,
  verifier,
} from './fixture.ts';

const { service, admin } = await startWithAdmin({ after }, { RATE_LIMIT_AUTHORIZE: 'off' });
const web = await addApplication(admin, [service]);
const foreign = await addApplication(admin, [service], { first_party: false });
const native = await addApplication(admin, [service], {
  type: 'native',
  redirect_uris: ['http://127.0.0.1/cb', 'com.example.app:/cb'],
});
const ada = await addSignedIn(service);
// Signs in again, now that browsers get a cookie.
const reader = await signIn(service, ADMIN);
const ISSUER = service.service.deps.settings.publicUrl;

test('a signed-in person is led back with a code, which brings tokens', async () => {
  const answer = await ask(ada.client, web, { state: 'a\r\n"\u{1F511}', nonce: 'n' });
  assert.equal(answer.status, 303, answer.text);
  const { address, fields } = ledTo(answer);
  assert.equal(address, REDIRECT);
  assert.deepEqual(Object.keys(fields), ['code', 'state', 'iss']);
  assert.equal(fields.state, 'a\r\n"\u{1F511}');
  assert.equal(fields.iss, ISSUER);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
  const tokens = await exchange(service, web, { code: fields.code ?? '', verifier });
  assert.equal(tokens.status, 200, tokens.text);
  const sessions = await service.sql('select 1 from application_sessions where user_id = $1', [
    ada.person.id,
  ]);
  assert.equal(sessions.length, 1);
});

const pages: [string, Sent][] = [
  ['an unknown application', { client_id: 'unknown' }],
  ['no application', { client_id: undefined }],
  ['no redirect address', { redirect_uri: undefined }],
  ['a redirect address with a slash more', { redirect_uri: `${REDIRECT}/` }],
  ['a redirect address of somebody else', { redirect_uri: 'https://evil.example/cb' }],
  [
    'a pushed request that is unknown',
    { request_uri: `urn:ietf:params:oauth:request_uri:${'A'.repeat(43)}` },
  ],
];
for (const [what, changed] of pages)
  test(`${what}: a page, and no redirect, whatever else is wrong`, async () => {
    for (const also of [{}, { response_type: 'token' }, { prompt: 'none' }, { request: 'x' }]) {
      const answer = await ask(ada.client, web, { ...also, ...changed });
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.headers.get('location'), null);
      assert.match(answer.headers.get('content-type') ?? '', /text\/html/);
    }
  });

test('a repeated parameter, a wrong encoding and NUL are a page; too much is 414; JSON is 415', async () => {
  const good = parametersOf(web);
  for (const bad of [`${good}&state=2`, `${good}&x=%zz`, `${good}&x=%00`, `${good}&x=%ff`]) {
    const answer = await ada.client.get(`${AUTHORIZE}?${bad}`);
    assert.deepEqual([answer.status, answer.headers.get('location')], [400, null]);
    const posted = await ada.client.request('POST', AUTHORIZE, {
      raw: bad,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.deepEqual([posted.status, posted.headers.get('location')], [400, null]);
  }
  assert.equal((await ask(ada.client, web, { state: 'x'.repeat(4_097) })).status, 414);
  assert.equal((await ada.client.post(AUTHORIZE, {})).status, 415);
});

test('the page tells the difference to all, and what is registered to administrators alone', async () => {
  const wrong = { redirect_uri: `${REDIRECT}/` };
  const own = await ask(ada.client, web, wrong);
  assert.match(own.text, /Only the slash at the end differs/);
  assert.ok(!own.text.includes(`<code>${REDIRECT}</code>`));
  assert.ok((await ask(reader, web, wrong)).text.includes(`<code>${REDIRECT}</code>`));
  const role = await addRole(service, 'application.read');
  const auditor = await addSignedIn(service, { roles: [role] });
  const isTold = async () =>
    (await ask(auditor.client, web, wrong)).text.includes(`<code>${REDIRECT}</code>`);
  assert.equal(await isTold(), true);
  await service.sql('update users set must_change_password = true where id = $1', [auditor.person.id]);
  assert.equal(await isTold(), false);
  await service.sql('update users set must_change_password = false where id = $1', [auditor.person.id]);
  await requireOfRole(service, role, 'aal2');
  assert.equal(await isTold(), false);
  await requireOfRole(service, role, null);
  assert.equal(await isTold(), true);
  const script = await ask(ada.client, web, { redirect_uri: 'https://x/<script>' });
  assert.ok(!script.text.includes('<script>'));
});

const refusals: [error: string, changed: Sent][] = [
  ['request_not_supported', { request: 'x' }],
  ['request_uri_not_supported', { request_uri: 'https://app.example.com/r' }],
  ['invalid_request', { response_type: undefined }],
  ['unsupported_response_type', { response_type: 'token' }],
  ['unsupported_response_type', { response_type: 'code id_token' }],
  ['invalid_request', { response_mode: 'fragment' }],
  ['invalid_request', { code_challenge: undefined, code_challenge_method: undefined }],
  ['invalid_request', { code_challenge_method: 'plain' }],
  ['invalid_request', { code_challenge_method: undefined }],
  ['invalid_request', { code_challenge: 'short' }],
  ['invalid_scope', { scope: undefined }],
  ['invalid_scope', { scope: 'address phone' }],
  ['invalid_target', { resource: 'https://other.example' }],
  ['invalid_request', { prompt: 'nothing' }],
  ['invalid_request', { prompt: 'none login' }],
  ['invalid_request', { max_age: '-1' }],
  ['invalid_request', { max_age: '1000000001' }],
  ['invalid_request', { claims: '[]' }],
  ['invalid_request', { claims: `{"a":"${'\u00e9'.repeat(2_050)}"}` }],
  ['invalid_request', { claims: '{"a":"\\u0000"}' }],
  ['invalid_request', { claims: '{"a":"\\ud800"}' }],
  ['invalid_request', { dpop_jkt: 'x' }],
  ['invalid_request', { nonce: 'x'.repeat(2_001) }],
  ['invalid_request', { id_token_hint: 'no.hint.x' }],
];
for (const [error, changed] of refusals)
  test(`${JSON.stringify(changed).slice(0, 60)}: the application is told ${error}`, async () => {
    const answer = await ask(ada.client, web, changed);
    const { address, fields } = ledTo(answer);
    assert.deepEqual([answer.status, address, fields.error], [303, REDIRECT, error], answer.text);
    assert.deepEqual([fields.state, fields.iss], ['s', ISSUER]);
    assert.match(fields.error_description ?? '', /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    assert.equal(fields.code, undefined);
  });

test('a request without PKCE is told the switch', async () => {
  const answer = await ask(ada.client, web, { code_challenge: undefined, code_challenge_method: undefined });
  assert.equal(
    ledTo(answer).fields.error_description,
    'Turn on PKCE in the application, or set require_pkce to false.',
  );
});

test('nobody signed in: login_required, or the page that signs in', async () => {
  const stranger = service.client();
  assert.equal(ledTo(await ask(stranger, web, { prompt: 'none' })).fields.error, 'login_required');
  const answer = await ask(stranger, web, { login_hint: 'ada@example.com' });
  assert.equal(ledTo(answer).address, `${ISSUER}/login`);
  const shown = await read(stranger, interactionOf(answer));
  assert.equal(shown.status, 200, shown.text);
  const { step, account, login_hint, providers } = shown.body.data;
  assert.deepEqual([step, account, login_hint, providers], ['sign_in', null, 'ada@example.com', []]);
  // Anyone may go on with it, as themselves, and once.
  const [one, two] = await Promise.all([
    resume(ada.client, interactionOf(answer)),
    resume(ada.client, interactionOf(answer)),
  ]);
  assert.deepEqual([one.status, two.status].toSorted(), [303, 400]);
});

test('the page that signs in has the providers that are active and shown', async () => {
  const stranger = service.client();
  const id = interactionOf(await ask(stranger, web));
  await addProvider(service, { name: 'Later', position: 2, kind: 'github' });
  await addProvider(service, { name: 'First', position: 1 });
  await addProvider(service, { is_shown: false });
  await addProvider(service, { is_active: false });
  const { providers } = (await read(stranger, id)).body.data;
  assert.deepEqual(providers, (await stranger.get('/api/v1/auth/providers')).body.data);
  assert.deepEqual(
    providers.map(({ name, kind }: { name: string; kind: string }) => [name, kind]),
    [
      ['First', 'oidc'],
      ['Later', 'github'],
    ],
  );
  // An account without a password proves who it is there.
  const again = interactionOf(await ask(ada.client, web, { prompt: 'login' }));
  const proof = (await read(ada.client, again)).body.data;
  assert.deepEqual([proof.step, proof.providers], ['reauthenticate', providers]);
});

test('prompt=login and max_age: a younger proof is asked for, and given', async () => {
  for (const changed of [{ prompt: 'login' }, { max_age: '0' }]) {
    const { client, person } = await addSignedIn(service);
    assert.equal(
      ledTo(await ask(client, web, { ...changed, ...(changed.prompt ? {} : { prompt: 'none' }) })).fields
        .error,
      changed.prompt ? undefined : 'login_required',
    );
    const id = interactionOf(await ask(client, web, changed));
    assert.equal((await read(client, id)).body.data.step, 'reauthenticate');
    assert.equal(interactionOf(await resume(client, id)), id);
    assert.equal((await act(client, id, 'reauthenticate', { password: 'wrong password' })).status, 400);
    const proved = await act(client, id, 'reauthenticate', { password: person.password });
    assert.equal(proved.status, 200, proved.text);
    assert.equal(proved.body.data.redirect_to, `${ISSUER}${AUTHORIZE}?interaction=${id}`);
    assert.ok(ledTo(await resume(client, id)).fields.code);
    assert.equal((await resume(client, id)).status, 400);
  }
});

test('select_account and create ask, and none refuses', async () => {
  const id = interactionOf(await ask(ada.client, web, { prompt: 'select_account' }));
  assert.equal((await read(ada.client, id)).body.data.account.email, ada.person.email);
  assert.equal((await act(ada.client, id, 'account', { decision: 'continue' })).status, 200);
  assert.ok(ledTo(await resume(ada.client, id)).fields.code);
  assert.equal(ledTo(await ask(ada.client, web, { prompt: 'create' })).address, `${ISSUER}/register`);
  const other = await addSignedIn(service);
  const next = interactionOf(await ask(other.client, web, { prompt: 'select_account' }));
  assert.equal((await act(other.client, next, 'account', { decision: 'switch' })).status, 200);
  assert.equal(ledTo(await resume(other.client, next)).address, `${ISSUER}/login`);
});

test('must_change_password and the access rule', async () => {
  const changing = await addSignedIn(service);
  await service.sql('update users set must_change_password = true where id = $1', [changing.person.id]);
  assert.equal(
    ledTo(await ask(changing.client, web, { prompt: 'none' })).fields.error,
    'interaction_required',
  );
  const id = interactionOf(await ask(changing.client, web));
  assert.equal((await read(changing.client, id)).body.data.step, 'change_password');
  const [permission] = await service.sql<{ id: string }>(
    `select id from permissions where name = 'users.read'`,
  );
  const closed = await addApplication(admin, [service], { required_permission_id: permission?.id });
  assert.equal(ledTo(await ask(ada.client, closed, { prompt: 'none' })).fields.error, 'access_denied');
  const refused = interactionOf(await ask(ada.client, closed));
  const { data } = (await read(ada.client, refused)).body;
  assert.deepEqual([data.step, data.required_permission], ['refused', 'users.read']);
  assert.equal((await act(ada.client, refused, 'cancel')).status, 200);
  assert.equal(ledTo(await resume(ada.client, refused)).fields.error, 'access_denied');
});

test('consent: once, again for more, denied, for the person who gave it, and always for programs', async () => {
  assert.equal(ledTo(await ask(ada.client, foreign, { prompt: 'none' })).fields.error, 'consent_required');
  const first = interactionOf(await ask(ada.client, foreign));
  const { consent } = (await read(ada.client, first)).body.data;
  assert.deepEqual(
    consent.scopes.map((one: { name: string; is_new: boolean }) => [one.name, one.is_new]),
    [
      ['openid', true],
      ['email', true],
    ],
  );
  const eve = await addSignedIn(service);
  assert.equal((await act(eve.client, first, 'consent', { decision: 'allow' })).status, 200);
  assert.equal(ledTo(await resume(ada.client, first)).address, `${ISSUER}/consent`);
  assert.equal((await act(service.client(), first, 'consent', { decision: 'allow' })).status, 401);
  assert.equal((await act(ada.client, first, 'consent', { decision: 'allow', scopes: [] })).status, 200);
  const { code = '' } = ledTo(await resume(ada.client, first)).fields;
  assert.equal((await exchange(service, foreign, { code, verifier })).body.scope, 'openid');
  assert.ok(ledTo(await ask(ada.client, foreign, { scope: 'openid' })).fields.code);
  const denied = interactionOf(await ask(ada.client, foreign, { scope: 'openid profile' }));
  assert.equal((await act(ada.client, denied, 'consent', { decision: 'deny' })).status, 200);
  assert.equal(ledTo(await resume(ada.client, denied)).fields.error, 'access_denied');
  for (const redirect_uri of ['http://127.0.0.1:4711/cb', 'com.example.app:/cb'])
    assert.equal(ledTo(await ask(ada.client, native, { redirect_uri })).address, `${ISSUER}/consent`);
  assert.equal((await ask(ada.client, native, { redirect_uri: 'http://127.0.0.1:4711/cb2' })).status, 400);
});

test('a click agrees to what the page showed, and to nothing that came since', async () => {
  const api = async (address: string, body: object) => {
    const answer = await admin.post(`/api/v1/${address}`, body);
    assert.equal(answer.status, 201, answer.text);
    return answer.body.data;
  };
  const group = await api('permission-groups', { name: 'orders' });
  const [first, second] = [
    await api('permissions', { name: 'read', group_id: group.id }),
    await api('permissions', { name: 'write', group_id: group.id }),
  ];
  const identifier = 'https://orders.example.com';
  const resource = await api('api-resources', {
    identifier,
    name: 'Orders',
    permission_group_ids: [group.id],
  });
  const carrying = (permission_ids: string[], scopes: string[]) => ({
    scopes,
    resources: [{ resource_id: resource.id, permission_ids }],
  });
  const narrow = carrying([first.id], ['openid']);
  const application = await addApplication(admin, [service], { first_party: false, ...narrow });
  const change = async (fields: object) =>
    assert.equal((await admin.put(`/api/v1/applications/${application.id}`, fields)).status, 200);
  const asking = { scope: 'openid email orders.read orders.write', resource: identifier };
  const shownTo = async (client: typeof reader, id: string) => {
    const { scopes, permissions } = (await read(client, id)).body.data.consent;
    return [...scopes, ...permissions].map(({ name }: { name: string }) => name);
  };
  const allow = async (id: string) => {
    assert.equal((await act(ada.client, id, 'consent', { decision: 'allow' })).status, 200);
    return ledTo(await resume(ada.client, id));
  };
  const id = interactionOf(await ask(ada.client, application, asking));
  assert.deepEqual(await shownTo(ada.client, id), ['openid', 'orders.read']);
  for (const wider of [
    carrying([first.id, second.id], ['openid']),
    carrying([first.id, second.id], ['openid', 'email']),
  ]) {
    await change(wider);
    assert.equal((await allow(id)).address, `${ISSUER}/consent`);
    const agreed = await service.sql('select from consents where application_id = $1', [application.id]);
    assert.equal(agreed.length, 0);
    await shownTo(ada.client, id);
  }
  assert.deepEqual(await shownTo(ada.client, id), ['openid', 'email', 'orders.read', 'orders.write']);
  // What another person is shown counts for them alone.
  await change(narrow);
  await shownTo(ada.client, id);
  await change(carrying([first.id, second.id], ['openid']));
  await shownTo(reader, id);
  assert.equal((await allow(id)).address, `${ISSUER}/consent`);
  assert.ok((await allow(id)).fields.code);
});

test('a port that is none is not registered', async () => {
  const redirect_uri = 'http://127.0.0.1:99999/cb';
  for (const changed of [{}, { response_mode: 'form_post' }, { response_mode: 'form_post', prompt: 'none' }])
    assert.equal((await ask(ada.client, native, { ...changed, redirect_uri })).status, 400);
});

test('a form is stored, and leads on to GET', async () => {
  const form = formRequest(Object.fromEntries(new URLSearchParams(parametersOf(web))), {});
  const answer = await ada.client.request('POST', AUTHORIZE, form);
  assert.deepEqual([answer.status, ledTo(answer).address], [303, `${ISSUER}${AUTHORIZE}`], answer.text);
  assert.ok(ledTo(await resume(ada.client, interactionOf(answer))).fields.code);
});

test('form_post: a separate page, with the state as it came', async () => {
  const answer = await ask(ada.client, web, { response_mode: 'form_post', state: '"\r\n<' });
  assert.equal(answer.status, 200);
  assert.match(answer.text, /name="state" value="&#34;&#13;&#10;&#60;"/);
  const policy = answer.headers.get('content-security-policy') ?? '';
  assert.match(policy, /form-action https:\/\/app\.example\.com;/);
  const [, style = ''] = /<style>(.*?)<\/style>/s.exec(answer.text) ?? [];
  assert.match(style, /prefers-color-scheme:dark/);
  assert.ok(policy.includes(`style-src 'sha256-${hash('sha256', style, 'base64')}';`), policy);
  assert.match(answer.text, /<button>Continue<\/button>/);
  assert.equal((await service.client().get('/form-post.js')).status, 200);
});

test('form_post: the policy names where the form goes, in a form that browsers read', async () => {
  const redirect_uris = ['http://127.0.0.1/cb', 'http://[::1]/cb', 'com.example.app:/cb'];
  const program = await addApplication(admin, [service], { type: 'native', redirect_uris });
  for (const [redirect_uri, source] of [
    ['http://127.0.0.1:4711/cb', 'http://127.0.0.1:4711'],
    ['http://[::1]:4711/cb', 'http:'],
    ['com.example.app:/cb', 'com.example.app:'],
  ] as const) {
    const sent = { redirect_uri, response_mode: 'form_post', prompt: 'none' };
    const { headers } = await ask(ada.client, program, sent);
    assert.ok(headers.get('content-security-policy')?.includes(`form-action ${source};`), redirect_uri);
  }
});

test('HEAD grants nothing; operations need the CSRF token; unknown requests are 404', async () => {
  const before = await service.sql('select 1 from access_grants');
  const head = await ada.client.request('HEAD', `${AUTHORIZE}?${parametersOf(web)}`);
  assert.deepEqual([head.status, head.text], [303, '']);
  assert.match(head.headers.get('location') ?? '', /\/login$/);
  assert.equal((await ada.client.request('HEAD', AUTHORIZE)).status, 400);
  assert.equal((await service.sql('select 1 from access_grants')).length, before.length);
  const id = interactionOf(await ask(service.client(), web));
  for (const name of ['consent', 'account', 'reauthenticate', 'cancel']) {
    const path = `/api/v1/oauth/interactions/${id}/${name}`;
    const plain = await ada.client.post(path, {}, { headers: { 'x-csrf-token': null } });
    assert.equal(plain.status, 403, plain.text);
  }
  assert.equal((await read(ada.client, 'A'.repeat(43))).status, 404);
  for (const [client, status] of [
    [ada.client, 404],
    [service.client(), 401],
  ] as const)
    for (const [name, body] of [
      ['consent', { decision: 'allow' }],
      ['account', { decision: 'continue' }],
      ['reauthenticate', { password: 'x' }],
    ] as const)
      assert.equal((await act(client, 'A'.repeat(43), name, body)).status, status, name);
  assert.equal((await act(ada.client, 'x', 'cancel')).status, 404);
});

test('a session that has ended yields no code', async () => {
  const { client, sessionId } = await addSignedIn(service);
  await service.sql(`update sessions set revoked_at = now(), revoked_reason = 'logout' where id = $1`, [
    sessionId,
  ]);
  assert.equal(ledTo(await ask(client, web, { prompt: 'none' })).fields.error, 'login_required');
});
