// Signing out at providers, what they say of a sign-out, and the test of a provider.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Issuer } from '@castellan/testing/openid/issuer';
import { newProofKey, secondsNow, signedJwt } from '@castellan/testing/openid/proofs';
import { checkProvider } from '../../../src/modules/identity-providers/upstream/check.ts';
import { readLogoutToken } from '../../../src/modules/identity-providers/upstream/logout-token.ts';
import { upstreamLogoutUrl } from '../../../src/modules/identity-providers/upstream/sending.ts';
import { failureOf, setUp, signInAt } from './fixture.ts';

type Claims = Record<string, unknown>;

test('a logout token counts if every part of it does', async (t) => {
  const setting = await setUp(t);
  const { issuer, deps, provider } = setting;
  const read = (token: string) => readLogoutToken(deps, provider, token);
  const good = await read(issuer.logoutToken({ jti: 'one', sid: 's1', iat: 1_000 + secondsNow() - 1_000 }));
  assert.deepEqual(
    [good.sub, good.sid, good.jti, good.expiresAt.getTime() > Date.now() + 500_000],
    ['ada-1815', 's1', 'one', true],
  );
  const event = 'http://schemas.openid.net/event/backchannel-logout';
  const cases: [string, Claims, Claims?][] = [
    ['passed', { sub: undefined, sid: 's1' }],
    ['passed', {}, { typ: undefined }],
    ['passed', {}, { typ: 'JWT' }],
    ['passed', {}, { typ: 'application/logout+jwt' }],
    ['passed', { aud: ['other', 'castellan'] }],
    ['passed', { iat: secondsNow() - 200, exp: secondsNow() - 100 }],
    ['unacceptable wrong_typ', {}, { typ: 'at+jwt' }],
    ['unacceptable issuer_differs', { iss: `${issuer.issuer}/` }],
    ['unacceptable ERR_JWT_CLAIM_VALIDATION_FAILED', { aud: 'other' }],
    ['unacceptable ERR_JWT_CLAIM_VALIDATION_FAILED', { aud: undefined }],
    ['unacceptable ERR_JWT_CLAIM_VALIDATION_FAILED', { iat: undefined }],
    ['unacceptable ERR_JWT_CLAIM_VALIDATION_FAILED', { exp: undefined }],
    ['unacceptable ERR_JWT_CLAIM_VALIDATION_FAILED', { jti: undefined }],
    ['unacceptable ERR_JWT_EXPIRED', { exp: secondsNow() - 400 }],
    ['unacceptable wrong_iat', { iat: secondsNow() - 400 }],
    ['unacceptable wrong_iat', { iat: secondsNow() + 400, exp: secondsNow() + 500 }],
    ['unacceptable no_jti', { jti: '' }],
    ['unacceptable no_logout_event', { events: undefined }],
    ['unacceptable no_logout_event', { events: { [event]: 'yes' } }],
    ['unacceptable no_logout_event', { events: [event] }],
    ['unacceptable has_nonce', { nonce: 'n' }],
    ['unacceptable no_subject', { sub: undefined }],
    ['unacceptable ERR_JWKS_NO_MATCHING_KEY', {}, { kid: 'unknown' }],
  ];
  for (const [expected, claims, header] of cases)
    assert.equal(
      await failureOf(read(issuer.logoutToken(claims, header))),
      expected,
      JSON.stringify([claims, header]),
    );
  const [header, payload] = issuer.logoutToken().split('.');
  const stranger = newProofKey('ES256');
  const kid = JSON.parse(Buffer.from(header ?? '', 'base64url').toString()).kid;
  const claims = Buffer.from(payload ?? '', 'base64url').toString();
  for (const [token, expected] of [
    [signedJwt(stranger, { alg: 'ES256', kid }, claims), 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED'],
    [`${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`, 'ERR_JOSE_ALG_NOT_ALLOWED'],
    ['no token', 'ERR_JWT_INVALID'],
    ['', 'ERR_JWT_INVALID'],
    ['x'.repeat(16_385), 'too_large'],
  ] as const)
    assert.equal(await failureOf(read(token)), `unacceptable ${expected}`);
  const keyReads = issuer.asked.filter(({ endpoint }) => endpoint === 'jwks').length;
  assert.equal(keyReads, 1);
});

test('an ID token is no logout token, and kinds without back-channel logout have none', async (t) => {
  const setting = await setUp(t);
  const { idToken } = await signInAt(setting);
  assert.equal(
    await failureOf(readLogoutToken(setting.deps, setting.provider, idToken ?? '')),
    'unacceptable ERR_JWT_CLAIM_VALIDATION_FAILED',
  );
  const google = await setUp(t, {}, { kind: 'google' });
  assert.equal(
    await failureOf(readLogoutToken(google.deps, google.provider, google.issuer.logoutToken())),
    'unacceptable not_supported',
  );
});

test('people are sent to the sign-out of a provider that has one, also while it is away', async (t) => {
  const { issuer, provider, deps } = await setUp(t);
  const given = { idToken: 'e30.e30.x', postLogoutRedirectUri: 'http://castellan.test/login', state: 's' };
  const read = async (idToken: string | null = given.idToken) => {
    const url = await upstreamLogoutUrl(deps, provider, { ...given, idToken });
    return url === null ? null : Object.fromEntries(new URL(url).searchParams);
  };
  const expected = {
    post_logout_redirect_uri: 'http://castellan.test/login',
    state: 's',
    client_id: 'castellan',
  };
  assert.deepEqual(await read(), { ...expected, id_token_hint: given.idToken });
  assert.deepEqual(await read(null), expected);
  issuer.misbehaviour = { trouble: { discovery: 'dead' } };
  deps.time.now = 3_600_000;
  assert.deepEqual(await read(null), expected);
  deps.time.now = 25 * 3_600_000;
  assert.equal(await read(), null);
  issuer.misbehaviour = { metadata: { end_session_endpoint: undefined } };
  deps.time.now += 10_000;
  assert.equal(await read(), null);
});

test('the test of a provider names what is wrong', async (t) => {
  const { issuer, provider, deps } = await setUp(t);
  const failing = async (misbehaviour: Issuer['misbehaviour'], changed: Partial<typeof provider> = {}) => {
    issuer.misbehaviour = misbehaviour;
    const { ok, checks } = await checkProvider(deps, { ...provider, ...changed });
    const failed = checks.filter((one) => !one.ok).map(({ name }) => name);
    assert.equal(ok, failed.length === 0);
    return failed;
  };
  const good = await checkProvider(deps, provider);
  assert.equal(good.issuer, issuer.issuer);
  assert.deepEqual(
    good.checks.map(({ name, ok }) => (ok ? name : `not ${name}`)),
    [
      'secret',
      'metadata',
      'issuer',
      'https',
      'code',
      'pkce',
      'algorithms',
      'client_auth',
      'requests',
      'keys',
      'clock',
    ],
  );
  const cases: [string, Issuer['misbehaviour'], Partial<typeof provider>?][] = [
    ['', { metadata: { code_challenge_methods_supported: undefined } }],
    ['', { clock: 90 }],
    ['', {}, { client_auth: 'none', secret_sealed: null }],
    ['secret', {}, { secret_sealed: null }],
    ['secret', {}, { secret_sealed: Buffer.alloc(0) }],
    ['metadata', { trouble: { discovery: 'dead' } }],
    ['metadata', { trouble: { discovery: 'large' } }],
    ['metadata', { trouble: { discovery: 'redirect' } }],
    ['issuer', { metadata: { issuer: 'https://evil.example' } }],
    ['https', { metadata: { token_endpoint: undefined } }],
    ['code', { metadata: { response_types_supported: ['id_token'] } }],
    ['pkce', { metadata: { code_challenge_methods_supported: ['plain'] } }],
    ['algorithms', { metadata: { id_token_signing_alg_values_supported: ['HS256', 'none'] } }],
    ['client_auth', { metadata: { token_endpoint_auth_methods_supported: ['tls_client_auth'] } }],
    ['client_auth', {}, { client_auth: 'private_key' }],
    ['requests', { metadata: { require_pushed_authorization_requests: true } }],
    ['keys', { trouble: { jwks: 'error' } }],
    ['clock', { clock: 400 }],
  ];
  for (const [expected, misbehaviour, changed] of cases)
    assert.equal((await failing(misbehaviour, changed)).join(), expected, JSON.stringify(misbehaviour));
  issuer.misbehaviour = { trouble: { discovery: 'dead' } };
  const dead = await checkProvider(deps, provider);
  assert.deepEqual(dead.checks.at(-1), {
    name: 'metadata',
    ok: false,
    text: 'It cannot be read. The reason is ECONNRESET.',
  });
});

test('the test of Google, Microsoft, GitHub and Apple reads what they publish', async (t) => {
  for (const [kind, changed] of [
    ['google', {}],
    ['microsoft', { issuer: 'https://login.microsoftonline.com/organizations/v2.0' }],
    ['github', { issuer: 'https://github.com' }],
    ['apple', {}],
  ] as const) {
    const { issuer, provider, deps } = await setUp(t, changed, { kind });
    const read = async () => {
      const { checks } = await checkProvider(deps, provider);
      return checks.filter(({ ok }) => !ok).map(({ name }) => name);
    };
    assert.deepEqual(await read(), [], kind);
    issuer.misbehaviour = { metadata: { issuer: 'https://evil.example' }, trouble: { api: 'error' } };
    assert.deepEqual(await read(), [kind === 'github' ? 'metadata' : 'issuer'], kind);
  }
});
