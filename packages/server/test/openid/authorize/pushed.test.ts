// Pushed authorization requests (RFC 9126), on two instances.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { type Answer, createClient, type TestClient } from '@castellan/testing/client';
import {
  assertionClaims,
  assertionFields,
  newProofKey,
  type ProofKey,
  publicKeyOf,
  secondsNow,
  signedJwt,
} from '@castellan/testing/openid/proofs';
import { watch } from '@castellan/testing/secret-watch';
import { formRequest } from '@castellan/testing/service-accounts/token-services';
import { startWithAdmin } from '../../applications/fixture.ts';
import {
  addApplication,
  addSignedIn,
  assertError,
  credentialsOf,
  exchange,
  REDIRECT,
  type TestApplication,
} from '../fixture.ts';
import {
  AUTHORIZE,
  act,
  ask,
  interactionOf,
  ledTo,
  parametersOf,
  resume,
  type Sent,
  verifier,
} from './fixture.ts';

const { service, admin } = await startWithAdmin({ after }, { RATE_LIMIT_AUTHORIZE: 'off' });
const twin = await service.another();
const instances = [service, twin];
const web = await addApplication(admin, instances);
const other = await addApplication(admin, instances);
const spa = await addApplication(admin, instances, { type: 'spa', redirect_uris: [REDIRECT] });
const ada = await addSignedIn(service);
const { publicUrl } = service.service.deps.settings;
const PAR = `${publicUrl}/api/v1/oauth/par`;

/** The browser of Ada at the other instance. */
const adaAtTwin = createClient(twin.url);
for (const [name, value] of ada.client.cookies) adaAtTwin.cookies.set(name, value);

type Pushing = { at?: typeof service; headers?: Record<string, string>; also?: string };

/** Pushes a request that is in order but for what is changed. `also`: more of the form. */
async function push(
  application: TestApplication,
  changed: Sent = {},
  { at = service, headers = {}, also = '' }: Pushing = {},
): Promise<Answer> {
  const credentials = credentialsOf(application);
  const form = parametersOf(application, { ...changed, ...credentials.form }) + also;
  const answer = await at
    .client()
    .request('POST', '/api/v1/oauth/par', formRequest(form, { ...credentials.headers, ...headers }));
  if (answer.status === 201) watch.note(answer.body.request_uri, 'request_uri');
  return answer;
}

async function pushed(application: TestApplication, changed: Sent = {}, more: Pushing = {}): Promise<string> {
  const answer = await push(application, changed, more);
  assert.equal(answer.status, 201, answer.text);
  return answer.body.request_uri;
}

const open = (
  client: TestClient,
  application: Pick<TestApplication, 'client_id'>,
  uri: string,
  more: Record<string, string> = {},
): Promise<Answer> =>
  client.get(
    `${AUTHORIZE}?${new URLSearchParams({ client_id: application.client_id, request_uri: uri, ...more })}`,
  );

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
const thumbprintOf = ({ jwk: { crv, kty, x, y } }: ProofKey): string =>
  hashOf(JSON.stringify({ crv, kty, x, y }));
const proof = (key: ProofKey, changed: object = {}): { dpop: string } => ({
  dpop: signedJwt(
    key,
    { typ: 'dpop+jwt', alg: key.alg, jwk: key.jwk },
    { jti: randomUUID(), htm: 'POST', htu: PAR, iat: secondsNow(), ...changed },
  ),
});

test('a pushed request leads to a code, on another instance, and only what was pushed counts', async () => {
  const answer = await push(web, { state: 'a\r\n"\u{1F511}', unknown: 'x', interaction: 'A'.repeat(43) });
  assert.equal(answer.status, 201, answer.text);
  assert.deepEqual(Object.keys(answer.body), ['request_uri', 'expires_in']);
  assert.match(answer.body.request_uri, /^urn:ietf:params:oauth:request_uri:[\w-]{43}$/);
  assert.equal(answer.body.expires_in, 90);
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/);
  const led = ledTo(
    await open(adaAtTwin, web, answer.body.request_uri, {
      state: 'forged',
      scope: 'openid roles',
      redirect_uri: 'https://evil.example/cb',
    }),
  );
  assert.equal(led.address, REDIRECT);
  assert.equal(led.fields.state, 'a\r\n"\u{1F511}');
  const tokens = await exchange(twin, web, { code: led.fields.code ?? '', verifier });
  assert.equal(tokens.body.scope, 'openid email', tokens.text);
});

test('discovery names the address', async () => {
  for (const name of ['openid-configuration', 'oauth-authorization-server']) {
    const { body } = await service.client().get(`/.well-known/${name}`);
    assert.equal(body.pushed_authorization_request_endpoint, PAR);
    assert.equal(body.require_pushed_authorization_requests, false);
  }
});

test('a request_uri counts once: for a code, for an error, and of parallel browsers for one', async () => {
  const uri = await pushed(web);
  assert.ok(ledTo(await open(ada.client, web, uri)).fields.code);
  const second = await open(ada.client, web, uri);
  assert.deepEqual([second.status, second.headers.get('location')], [400, null]);
  const refused = await pushed(web, { prompt: 'none' });
  assert.equal(ledTo(await open(service.client(), web, refused)).fields.error, 'login_required');
  assert.equal((await open(ada.client, web, refused)).status, 400);
  for (const changed of [{}, { prompt: 'none' }]) {
    const shared = await pushed(web, changed);
    const clients = Array.from({ length: 8 }, (_, index) => (index % 2 ? ada.client : adaAtTwin));
    const answers = await Promise.all(clients.map((client) => open(client, web, shared)));
    assert.equal(answers.filter(({ status }) => status === 303).length, 1);
    assert.equal(answers.filter(({ status }) => status === 400).length, 7);
  }
});

test('a person who signs in first uses it up at the end, also after its 90 seconds', async () => {
  const uri = await pushed(web, { prompt: 'login' });
  const { client, person } = await addSignedIn(service);
  const [one, two] = [await open(client, web, uri), await open(client, web, uri)].map(interactionOf);
  assert.ok(one && two && one !== two);
  await service.sql(`update application_requests set expires_at = now() where kind = 'pushed'`);
  assert.equal((await open(client, web, uri)).status, 400);
  for (const id of [one, two]) await act(client, id, 'reauthenticate', { password: person.password });
  assert.ok(ledTo(await resume(client, one)).fields.code);
  const late = await resume(client, two);
  assert.deepEqual([late.status, late.headers.get('location')], [400, null]);
});

test('unknown, expired and foreign ones are a page', async () => {
  const expired = await pushed(web);
  await service.sql(`update application_requests set expires_at = now() where kind = 'pushed'`);
  const foreign = await pushed(other);
  const { length } = foreign;
  for (const uri of [expired, foreign, `${foreign.slice(0, length - 43)}${'A'.repeat(43)}`, `${foreign}x`]) {
    const answer = await open(ada.client, web, uri);
    assert.deepEqual([answer.status, answer.headers.get('location')], [400, null]);
  }
  // Another application's attempt does not use it up.
  assert.ok(ledTo(await open(ada.client, other, foreign)).fields.code);
  const nameless = await pushed(other);
  const answer = await ada.client.get(`${AUTHORIZE}?request_uri=${encodeURIComponent(nameless)}`);
  assert.equal(answer.status, 400);
});

test('an application with require_par has no other way, and the way through the page is one', async () => {
  const strict = await addApplication(admin, instances, { require_par: true });
  assert.equal(ledTo(await ask(ada.client, strict)).fields.error, 'invalid_request');
  assert.ok(ledTo(await open(ada.client, strict, await pushed(strict))).fields.code);
  const id = interactionOf(
    await open(ada.client, strict, await pushed(strict, { prompt: 'select_account' })),
  );
  assert.equal((await act(ada.client, id, 'account', { decision: 'continue' })).status, 200);
  assert.ok(ledTo(await resume(ada.client, id)).fields.code);
  const form = formRequest({ client_id: strict.client_id, request_uri: await pushed(strict) });
  const posted = await ada.client.request('POST', AUTHORIZE, form);
  assert.ok(ledTo(await resume(ada.client, interactionOf(posted))).fields.code);
});

const errors: [error: string, changed: Sent][] = [
  ['invalid_request', { redirect_uri: undefined }],
  ['invalid_request', { redirect_uri: `${REDIRECT}/` }],
  ['invalid_request', { redirect_uri: 'https://evil.example/cb' }],
  ['request_not_supported', { request: 'x' }],
  ['request_uri_not_supported', { request_uri: 'https://app.example.com/r' }],
  ['request_uri_not_supported', { request_uri: `urn:ietf:params:oauth:request_uri:${'A'.repeat(43)}` }],
  ['invalid_request', { response_type: undefined }],
  ['unsupported_response_type', { response_type: 'token' }],
  ['invalid_request', { response_mode: 'fragment' }],
  ['invalid_request', { code_challenge: undefined, code_challenge_method: undefined }],
  ['invalid_scope', { scope: 'address' }],
  ['invalid_target', { resource: 'https://other.example' }],
  ['invalid_request', { prompt: 'none login' }],
  ['invalid_request', { max_age: '-1' }],
  ['invalid_request', { claims: '[]' }],
  ['invalid_request', { dpop_jkt: 'x' }],
  ['invalid_request', { id_token_hint: 'no.hint.x' }],
  ['invalid_request', { state: 'x'.repeat(2_001) }],
  ['invalid_request', { state: '\0' }],
];
for (const [error, changed] of errors)
  test(`${JSON.stringify(changed).slice(0, 60)}: ${error}, and nothing is kept`, async () => {
    const before = await service.sql('select 1 from application_requests');
    const answer = await push(web, changed);
    assertError(answer, 400, error);
    assert.match(answer.body.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    assert.equal((await service.sql('select 1 from application_requests')).length, before.length);
  });

test('an application without the grant type, a repeated field, JSON and too much are refused', async () => {
  const noCode = await addApplication(admin, instances, { grant_types: ['refresh_token'] });
  assertError(await push(noCode), 400, 'unauthorized_client');
  assertError(await push(web, {}, { also: '&state=2' }), 400, 'invalid_request');
  assertError(await push(web, { nonce: 'x'.repeat(4_097) }), 400, 'invalid_request');
  assertError(await push(web, { unknown: 'x'.repeat(17_000) }), 400, 'invalid_request');
  const json = { ...formRequest({ a: 'b' }).headers, 'content-type': 'application/json' };
  const answer = await service.client().request('POST', '/api/v1/oauth/par', { raw: '{}', headers: json });
  assertError(answer, 400, 'invalid_request');
});

test('who does not authenticate pushes nothing; every method of the token services counts', async () => {
  const key = newProofKey('ES256');
  const signing = await addApplication(admin, instances, {
    auth_method: 'private_key_jwt',
    jwks: { keys: [publicKeyOf(key)] },
  });
  const assertion = signedJwt(
    key,
    { alg: 'ES256', kid: key.kid },
    assertionClaims(signing.client_id, publicUrl),
  );
  const fields = assertionFields(assertion);
  assertError(await push(signing), 401, 'invalid_client');
  assert.equal((await push(signing, fields)).status, 201);
  assertError(await push(signing, fields), 401, 'invalid_client');
  const { client_secret, ...nobody } = web;
  assertError(await push(nobody), 401, 'invalid_client');
  assert.equal((await push(nobody, { client_secret })).status, 201);
  assertError(await push({ ...web, client_secret: other.client_secret ?? '' }), 401, 'invalid_client');
  assertError(await push(web, { client_id: other.client_id }), 400, 'invalid_request');
  assert.equal((await push(spa)).status, 201);
});

test('a proof or dpop_jkt binds the code to the key', async () => {
  const [key, stranger] = [newProofKey('ES256'), newProofKey('ES256')];
  const TOKEN = `${publicUrl}/api/v1/oauth/token`;
  const ways: [Sent, Record<string, string>][] = [
    [{}, proof(key)],
    [{ dpop_jkt: thumbprintOf(key) }, {}],
    [{ dpop_jkt: thumbprintOf(key) }, proof(key)],
  ];
  for (const [changed, headers] of ways) {
    const { code = '' } = ledTo(await open(ada.client, spa, await pushed(spa, changed, { headers }))).fields;
    const grant = { code, verifier };
    assertError(await exchange(service, spa, grant), 400, 'invalid_dpop_proof');
    const wrong = await exchange(service, spa, grant, {}, proof(stranger, { htu: TOKEN }));
    assertError(wrong, 400, 'invalid_dpop_proof');
    const right = await exchange(service, spa, grant, {}, proof(key, { htu: TOKEN }));
    assert.equal(right.body.token_type, 'DPoP', right.text);
  }
  // The key stays bound on the way through a page.
  const id = interactionOf(
    await open(ada.client, spa, await pushed(spa, { prompt: 'select_account' }, { headers: proof(key) })),
  );
  await act(ada.client, id, 'account', { decision: 'continue' });
  const { code = '' } = ledTo(await resume(ada.client, id)).fields;
  assertError(await exchange(service, spa, { code, verifier }), 400, 'invalid_dpop_proof');
});

test('a wrong proof, another key than dpop_jkt and a proof that was used push nothing', async () => {
  const [key, stranger] = [newProofKey('ES256'), newProofKey('ES256')];
  const before = await service.sql('select 1 from application_requests');
  const wrong: [Sent, { dpop: string }][] = [
    [{}, { dpop: 'x' }],
    [{}, proof(key, { htu: `${publicUrl}/api/v1/oauth/token` })],
    [{}, proof(key, { iat: secondsNow() - 90 })],
    [{ dpop_jkt: thumbprintOf(stranger) }, proof(key)],
  ];
  for (const [changed, headers] of wrong)
    assertError(await push(spa, changed, { headers }), 400, 'invalid_dpop_proof');
  assert.equal((await service.sql('select 1 from application_requests')).length, before.length);
  const once = proof(key);
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) => push(spa, {}, { headers: once, at: index % 2 ? service : twin })),
  );
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
});

test('resource may be repeated', async () => {
  const answer = await push(web, {}, { also: '&resource=https://a.example&resource=https://b.example' });
  assertError(answer, 400, 'invalid_target');
});

test('pages of the application may push, and no other ones', async () => {
  const origins: [string, string | null][] = [
    [new URL(REDIRECT).origin, new URL(REDIRECT).origin],
    ['https://evil.example', null],
  ];
  for (const [origin, allowed] of origins) {
    const answer = await push(spa, {}, { headers: { origin } });
    assert.equal(answer.headers.get('access-control-allow-origin'), allowed);
    const wrong = await push(spa, { scope: undefined }, { headers: { origin } });
    assert.equal(wrong.headers.get('access-control-allow-origin'), allowed);
    const asked = await service.client().request('OPTIONS', '/api/v1/oauth/par', {
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    assert.deepEqual([asked.status, asked.headers.get('access-control-allow-origin')], [204, '*']);
    assert.equal(asked.headers.get('access-control-allow-credentials'), null);
  }
});

test('the limits: RATE_LIMIT_APPLICATION for each application, and by address without a secret', async () => {
  const limited = await service.another({
    RATE_LIMIT_APPLICATION: '3/minute',
    RATE_LIMIT_AUTHORIZE: '2/minute',
  });
  const { keyRing } = limited.service.deps;
  assert.ok(keyRing.hasActiveApplication());
  const at = { at: limited };
  const ofWeb = [await push(web, {}, at), await push(web, {}, at), await push(web, {}, at)];
  assert.deepEqual(
    ofWeb.map(({ status }) => status),
    [201, 201, 201],
  );
  assertError(await push(web, {}, at), 429, 'rate_limited');
  assert.equal((await push(other, {}, at)).status, 201);
  const ofSpa = [await push(spa, {}, at), await push(spa, {}, at), await push(spa, {}, at)];
  assert.deepEqual(
    ofSpa.map(({ status }) => status),
    [201, 201, 429],
  );
});
