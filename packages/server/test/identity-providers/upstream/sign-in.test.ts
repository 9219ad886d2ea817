// Signing in at an OpenID Connect provider that behaves, and at ones that do not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '@castellan/testing/harness';
import type { Issuer, IssuerOptions } from '@castellan/testing/openid/issuer';
import { parseRanges } from '../../../src/platform/security/address-ranges.ts';
import { begin, depsOf, failureOf, REDIRECT_URI, STATE, setUp, signInAt } from './fixture.ts';

const secondsAgo = (seconds: number): number => Math.floor(Date.now() / 1_000) - seconds;

test('a sign-in sends state, nonce and PKCE, and says who signed in', async (t) => {
  const setting = await setUp(t, {
    extra_parameters: { hd: 'example.com', state: 'mine', redirect_uri: 'https://evil.example' },
  });
  const { url, verifier, nonce, finish } = await begin(setting, { maxAge: 600 });
  const asked = Object.fromEntries(new URL(url).searchParams);
  assert.equal(asked.code_challenge?.length, 43);
  assert.equal(verifier.length, 43);
  assert.deepEqual(asked, {
    hd: 'example.com',
    client_id: 'castellan',
    response_type: 'code',
    scope: 'openid profile email',
    redirect_uri: REDIRECT_URI,
    state: STATE,
    nonce,
    code_challenge: asked.code_challenge,
    code_challenge_method: 'S256',
    max_age: '600',
  });
  setting.issuer.misbehaviour = {
    idToken: { auth_time: secondsAgo(300), acr: 'mfa', amr: ['pwd', 7], sid: 's1' },
  };
  const { idToken, claims, ageSeconds, ...assertion } = await finish(setting.issuer.approve(url).parameters);
  assert.deepEqual(assertion, {
    issuer: setting.issuer.issuer,
    subject: 'ada-1815',
    email: 'ada@example.com',
    emailVerified: true,
    emailIsRelay: false,
    firstName: 'Ada',
    lastName: 'Lovelace',
    displayName: 'Ada Lovelace',
    acr: 'mfa',
    amr: ['pwd'],
    sid: 's1',
  });
  assert.equal(idToken?.split('.').length, 3);
  assert.equal(claims.email_verified, true);
  assert.ok(ageSeconds === 300 || ageSeconds === 301, String(ageSeconds));
  const token = setting.issuer.asked.find(({ endpoint }) => endpoint === 'token');
  assert.equal(token?.headers.authorization?.startsWith('Basic '), true);
  assert.equal(token?.form.get('code_verifier'), verifier);
  assert.equal(
    setting.issuer.asked.some(({ endpoint }) => endpoint === 'userinfo'),
    false,
  );
});

test('whatever is wrong with an answer, nobody signs in, and the code says why', async (t) => {
  const setting = await setUp(t);
  const { issuer } = setting;
  const cases: [string, Issuer['misbehaviour'], { maxAge?: number }?][] = [
    ['passed', { clock: 90 }],
    ['passed', { clock: -90 }],
    ['passed', { idToken: { aud: ['castellan', 'other'], azp: 'castellan' } }],
    ['unacceptable OAUTH_JWT_TIMESTAMP_CHECK_FAILED', { clock: 400 }],
    ['unacceptable OAUTH_JWT_TIMESTAMP_CHECK_FAILED', { clock: -400 }],
    ['unacceptable OAUTH_JWT_TIMESTAMP_CHECK_FAILED', { idToken: { exp: secondsAgo(400) } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { signature: 'none' }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { signature: 'foreign' }],
    ['unacceptable OAUTH_JWT_CLAIM_COMPARISON_FAILED', { idToken: { aud: 'other' } }],
    ['unacceptable OAUTH_JWT_CLAIM_COMPARISON_FAILED', { idToken: { aud: ['castellan', 'other'] } }],
    ['unacceptable OAUTH_JWT_CLAIM_COMPARISON_FAILED', { idToken: { iss: `${issuer.issuer}/` } }],
    ['unacceptable OAUTH_JWT_CLAIM_COMPARISON_FAILED', { idToken: { nonce: 'of another sign-in' } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { idToken: { nonce: undefined } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { idToken: { sub: undefined } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { idToken: { iat: undefined } }],
    ['unacceptable no_subject', { idToken: { sub: 'x'.repeat(301) } }],
    ['unacceptable no_subject', { idToken: { sub: 'a\0b' } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { token: { id_token: undefined } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { token: { access_token: undefined } }],
    // Another issuer sends the browser here with its own answer, or leaves out whose it is.
    ['unacceptable OAUTH_INVALID_RESPONSE', { response: { iss: 'https://evil.example' } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { response: { iss: undefined } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { response: { state: 'of another browser' } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { response: { state: undefined } }],
    ['unacceptable invalid_grant', { response: { code: 'guessed' } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { response: { code: undefined } }],
    ['unavailable OAUTH_RESPONSE_IS_NOT_CONFORM', { trouble: { token: 'error' } }],
    ['unavailable ECONNRESET', { trouble: { token: 'dead' } }],
    ['unacceptable too_large', { trouble: { token: 'large' } }],
    ['unacceptable OAUTH_RESPONSE_IS_NOT_CONFORM', { trouble: { token: 'redirect' } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { idToken: { auth_time: -1 } }],
    ['unacceptable OAUTH_INVALID_RESPONSE', { idToken: { auth_time: '1700000000' } }],
    ['passed', { idToken: { auth_time: secondsAgo(500) } }, { maxAge: 600 }],
    ['unacceptable auth_time_too_old', { idToken: { auth_time: secondsAgo(700) } }, { maxAge: 600 }],
    ['unacceptable OAUTH_INVALID_RESPONSE', {}, { maxAge: 600 }],
  ];
  for (const [expected, misbehaviour, asked] of cases) {
    issuer.misbehaviour = misbehaviour;
    assert.equal(await failureOf(signInAt(setting, asked)), expected, JSON.stringify(misbehaviour));
  }
});

test('what the person or the provider refuses is told apart from what is wrong', async (t) => {
  const setting = await setUp(t);
  for (const [error, expected] of [
    ['access_denied', 'denied access_denied'],
    ['login_required', 'denied login_required'],
    ['temporarily_unavailable', 'unavailable temporarily_unavailable'],
    ['invalid_scope', 'unacceptable invalid_scope'],
    // Whoever sends the browser here writes what they like.
    ['<script>', 'unacceptable OAUTH_AUTHORIZATION_RESPONSE_ERROR'],
  ] as const) {
    const { url, finish } = await begin(setting);
    assert.equal(await failureOf(finish(setting.issuer.refuse(url, error).parameters)), expected);
  }
  assert.equal(
    setting.issuer.asked.some(({ endpoint }) => endpoint === 'token'),
    false,
  );
});

test('after a change of keys, the provider is asked again once, and the code is not', async (t) => {
  const setting = await setUp(t);
  const { issuer, deps } = setting;
  const count = (endpoint: string) => issuer.asked.filter((one) => one.endpoint === endpoint).length;
  await signInAt(setting);
  issuer.rotate();
  await signInAt(setting);
  assert.deepEqual([count('token'), count('discovery'), count('jwks')], [2, 2, 2]);
  // A token that no published key signed makes no request every time.
  issuer.misbehaviour = { signature: 'unpublished' };
  assert.equal(await failureOf(signInAt(setting)), 'unacceptable OAUTH_KEY_SELECTION_FAILED');
  assert.deepEqual([count('token'), count('discovery'), count('jwks')], [3, 2, 2]);
  deps.time.now += 10_000;
  assert.equal(await failureOf(signInAt(setting)), 'unacceptable OAUTH_KEY_SELECTION_FAILED');
  assert.deepEqual([count('token'), count('discovery'), count('jwks')], [4, 3, 3]);
});

test('a provider that announces unsigned tokens, or ones that its client secret signs, has none that count', async (t) => {
  const setting = await setUp(t);
  const { issuer } = setting;
  const metadata = { id_token_signing_alg_values_supported: ['none', 'HS256', 'ES256'] };
  issuer.misbehaviour = { metadata, signature: 'none' };
  assert.equal(await failureOf(signInAt(setting)), 'unacceptable OAUTH_UNSUPPORTED_OPERATION');
  issuer.misbehaviour = { metadata, header: { alg: 'HS256' } };
  assert.equal(await failureOf(signInAt(setting)), 'unacceptable OAUTH_UNSUPPORTED_OPERATION');
});

test('the issuer is found with and without a slash at the end, and tokens have that of the document', async (t) => {
  const found: [IssuerOptions['path'], (issuer: string) => string, string][] = [
    ['', (issuer) => `${issuer}/`, 'passed'],
    ['/', (issuer) => issuer.slice(0, -1), 'passed'],
    ['/realms/acme', (issuer) => issuer, 'passed'],
    ['/realms/acme', (issuer) => `${issuer}/`, 'passed'],
    ['/realms/acme/', (issuer) => issuer.slice(0, -1), 'passed'],
    ['/realms/acme', (issuer) => issuer.replace('acme', 'Acme'), 'unavailable OAUTH_RESPONSE_IS_NOT_CONFORM'],
  ];
  for (const [path, written, expected] of found) {
    const setting = await setUp(t, {}, path ? { path } : {});
    setting.provider.issuer = written(setting.issuer.issuer);
    assert.equal(await failureOf(signInAt(setting)), expected, setting.provider.issuer);
    if (expected === 'passed') assert.equal((await signInAt(setting)).issuer, setting.issuer.issuer);
  }
  const setting = await setUp(t);
  for (const issuer of [
    'https://evil.example',
    `${setting.issuer.issuer}//`,
    setting.issuer.issuer.toUpperCase(),
  ]) {
    setting.issuer.misbehaviour = { metadata: { issuer } };
    setting.deps.time.now += 10_000;
    assert.equal(await failureOf(begin(setting)), 'unavailable issuer_differs', issuer);
  }
});

test('userinfo is asked for what the ID token lacks, and must speak of the same person', async (t) => {
  const setting = await setUp(
    t,
    { role_mapping: [{ claim: 'realm.groups' }] },
    { onlyInUserinfo: ['email', 'email_verified', 'realm'] },
  );
  const { issuer } = setting;
  issuer.person = { ...issuer.person, realm: { groups: ['staff'] } };
  const assertion = await signInAt(setting);
  assert.deepEqual(
    [assertion.email, assertion.emailVerified, assertion.claims.realm],
    ['ada@example.com', true, { groups: ['staff'] }],
  );
  issuer.misbehaviour = { userinfo: { sub: 'somebody-else' } };
  assert.equal(await failureOf(signInAt(setting)), 'unacceptable OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED');
  issuer.misbehaviour = { trouble: { userinfo: 'error' } };
  assert.equal(await failureOf(signInAt(setting)), 'unavailable OAUTH_RESPONSE_IS_NOT_CONFORM');

  const [plain] = [await setUp(t)];
  for (const [idToken, userinfo, expected] of [
    [{ email_verified: undefined }, {}, false],
    [{ email_verified: 'true' }, {}, false],
    // Only where userinfo is asked at all, and for the same address.
    [{ email_verified: undefined, name: undefined, given_name: undefined, family_name: undefined }, {}, true],
    [
      { email_verified: undefined, name: undefined, given_name: undefined, family_name: undefined },
      { email: 'eve@example.com' },
      false,
    ],
    [{ email: undefined, email_verified: true }, { email_verified: undefined }, false],
  ] as const) {
    plain.issuer.misbehaviour = { idToken, userinfo };
    const { emailVerified } = await signInAt(plain);
    assert.equal(emailVerified, expected, JSON.stringify([idToken, userinfo]));
  }
});

test('metadata counts for ten minutes, and for a day while the provider is away', async (t) => {
  const setting = await setUp(t);
  const { issuer, deps } = setting;
  const reads = () => issuer.asked.filter(({ endpoint }) => endpoint === 'discovery').length;
  await begin(setting);
  deps.time.now = 10 * 60_000 - 1;
  await begin(setting);
  assert.equal(reads(), 1);
  deps.time.now += 1;
  issuer.misbehaviour = { trouble: { discovery: 'error' } };
  await Promise.all([begin(setting), begin(setting), begin(setting)]);
  assert.equal(reads(), 2);
  await begin(setting);
  assert.equal(reads(), 2);
  deps.time.now = 24 * 3_600_000 - 1;
  await begin(setting);
  deps.time.now += 10_000;
  assert.equal(await failureOf(begin(setting)), 'unavailable OAUTH_RESPONSE_IS_NOT_CONFORM');
  assert.deepEqual([reads(), deps.codes.length], [4, 3]);
  // Others are told at once, for ten seconds.
  assert.equal(await failureOf(begin(setting)), 'unavailable OAUTH_RESPONSE_IS_NOT_CONFORM');
  assert.equal(reads(), 4);
  deps.time.now += 10_000;
  issuer.misbehaviour = {};
  await begin(setting);
  // A change of the record counts at once.
  setting.provider.version = 2;
  setting.provider.client_id = 'another';
  const { url } = await begin(setting);
  assert.equal(new URL(url).searchParams.get('client_id'), 'another');
});

test('a provider that hangs is given up after some seconds, and keeps no more waiting than its places', async (t) => {
  const setting = await setUp(t);
  const { issuer, deps } = setting;
  const other = { ...(await setUp(t)), deps };
  const brought = await Promise.all(
    Array.from({ length: 81 }, async () => {
      const { url, finish } = await begin(setting);
      return () => finish(issuer.approve(url).parameters);
    }),
  );
  issuer.misbehaviour = { trouble: { token: 'hang' } };
  const ends = brought.map((finish) => failureOf(finish()));
  assert.deepEqual(deps.upstreams.gate.stats(), { keys: 1, running: 16, waiting: 64 });
  assert.equal(await ends.at(-1), 'unavailable overloaded');
  assert.equal(await failureOf(signInAt(other)), 'passed');
  await eventually(
    () => issuer.asked.filter(({ endpoint }) => endpoint === 'token')[15],
    'requests that hang',
  );
  issuer.misbehaviour = { trouble: { token: 'dead' } };
  const codes = await Promise.all(ends);
  assert.deepEqual(
    [...new Set(codes.slice(0, 16)), ...new Set(codes.slice(16, 80))],
    ['unavailable timeout', 'unavailable ECONNRESET'],
  );
});

test('http is for this machine, and only where people come over http, too', async (t) => {
  const setting = await setUp(t);
  const strict = { ...setting, deps: depsOf(setting.issuer, { publicUrl: 'https://castellan.test' }) };
  assert.equal(await failureOf(begin(strict)), 'unavailable OAUTH_HTTP_REQUEST_FORBIDDEN');
  const denied = { ...setting, deps: depsOf(setting.issuer, { outboundDeny: parseRanges('127.0.0.0/8') }) };
  assert.equal(await failureOf(begin(denied)), 'unavailable address_refused');
  const outside = { ...setting, provider: { ...setting.provider, issuer: 'http://192.0.2.1' } };
  assert.equal(await failureOf(begin(outside)), 'unavailable not_https');
});

test('nothing of a token, a secret or a claim is in an error or in the log', async (t) => {
  const setting = await setUp(t);
  setting.issuer.misbehaviour = { idToken: { aud: 'other' } };
  const { url, finish } = await begin(setting);
  const { parameters } = setting.issuer.approve(url);
  await assert.rejects(finish(parameters), (error: Error & { cause?: unknown }) => {
    assert.equal(error.cause, undefined);
    assert.equal(
      error.message,
      'the identity provider gave no acceptable answer: unacceptable, OAUTH_JWT_CLAIM_COMPARISON_FAILED',
    );
    return true;
  });
});
