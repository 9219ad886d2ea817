// Requests to sign out that end nothing and lead nowhere: wrong hints, and addresses that are not registered.
import assert from 'node:assert/strict';
import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { after, test } from 'node:test';
import { TEST_SECRET_KEY } from '@castellan/testing/harness';
import { formRequest } from '@castellan/testing/service-accounts/token-services';
import { signJwt } from '../../../src/modules/openid/tokens/signed-jwt.ts';
import { rotateSigningKey } from '../../../src/modules/sessions/keys/rotation.ts';
import { startWithAdmin } from '../../applications/fixture.ts';
import { addApplication } from '../fixture.ts';
import {
  AFTERWARDS,
  assertPage,
  hintOf,
  inBrowser,
  isSessionLive,
  LOGOUT,
  locationOf,
  logout,
} from './fixture.ts';

const { service, admin } = await startWithAdmin({ after }, { RATE_LIMIT_AUTHORIZE: 'off' });
const web = await addApplication(admin, [service], { post_logout_redirect_uris: [AFTERWARDS] });
const other = await addApplication(admin, [service], {
  post_logout_redirect_uris: ['https://other.example.com/bye'],
});
const who = await inBrowser(service);
const hint = await hintOf(service, web, who);
const [head = '', payload = '', signature = ''] = hint.split('.');
const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
const { keyRing } = service.service.deps;
const headerOf = (text: string) => JSON.parse(Buffer.from(text.split('.')[0] ?? '', 'base64url').toString());
const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Returns a token that this service signs with the key of applications. */
const signed = (changed: object, { typ = 'JWT', alg = 'RS256' as 'RS256' | 'ES256' } = {}): string =>
  signJwt({ alg, key: keyRing.currentOfApplications(alg), typ }, { ...claims, ...changed });

async function assertRefusedBoth(parameters: Record<string, string>, what: string): Promise<void> {
  assertPage(await logout(who.client, parameters));
  assertPage(await service.client().request('POST', LOGOUT, formRequest(parameters)));
  assert.equal(await isSessionLive(service, who.sessionId), true, what);
}

test('no other text than an ID token of this service is a hint', async () => {
  const header = JSON.parse(Buffer.from(head, 'base64url').toString());
  const jwk = keyRing.publicJwks('application').find(({ kid }) => kid === header.kid);
  assert.ok(jwk);
  const pem = createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
  const hmacHead = encoded({ ...header, alg: 'HS256' });
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const wrong: Record<string, string> = {
    'no JWT': 'hello',
    'two parts': `${head}.${payload}`,
    'four parts': `${hint}.x`,
    'no signature': `${head}.${payload}.`,
    'alg none': `${encoded({ alg: 'none', typ: 'JWT' })}.${payload}.`,
    'alg none with the kid': `${encoded({ ...header, alg: 'none' })}.${payload}.${signature}`,
    'HMAC with the public key': `${hmacHead}.${payload}.${createHmac('sha256', pem).update(`${hmacHead}.${payload}`).digest('base64url')}`,
    'another alg': `${encoded({ ...header, alg: 'PS256' })}.${payload}.${signature}`,
    'altered claims': `${head}.${encoded({ ...claims, sid: 'x' })}.${signature}`,
    'altered signature': `${head}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
    'padded signature': `${hint}=`,
    'a key of somebody else': signJwt(
      { alg: 'RS256', key: { id: header.kid, privateKey: stranger }, typ: 'JWT' },
      claims,
    ),
    'an unknown kid': signJwt(
      {
        alg: 'RS256',
        key: { id: 'unknown', privateKey: keyRing.currentOfApplications('RS256').privateKey },
        typ: 'JWT',
      },
      claims,
    ),
    'an access token for an API': signed({}, { typ: 'at+jwt' }),
    'a logout token': signed({}, { typ: 'logout+jwt' }),
    'another issuer': signed({ iss: 'https://evil.example.com' }),
    'no session': signed({ sid: undefined }),
    'several audiences': signed({ aud: [web.client_id, other.client_id] }),
    'an application that does not exist': signed({ aud: 'nobody' }),
    'a session of this service': who.client.accessToken ?? '',
  };
  for (const [what, id_token_hint] of Object.entries(wrong)) {
    await assertRefusedBoth({ id_token_hint }, what);
    await assertRefusedBoth(
      { id_token_hint, client_id: web.client_id, post_logout_redirect_uri: AFTERWARDS },
      what,
    );
  }
});

test('client_id must be the audience of the hint', async () => {
  await assertRefusedBoth({ id_token_hint: hint, client_id: other.client_id }, 'another application');
  await assertRefusedBoth({ client_id: 'nobody' }, 'no application');
  await assertRefusedBoth({ client_id: web.id }, 'the id of the record');
});

test('an address is compared character by character, and needs an application', async () => {
  const addresses = [
    `${AFTERWARDS}/`,
    `${AFTERWARDS}?x`,
    `${AFTERWARDS}#x`,
    AFTERWARDS.replace('https', 'http'),
    AFTERWARDS.replace('app', 'APP'),
    AFTERWARDS.replace('/signed', ':443/signed'),
    AFTERWARDS.replace('signed', '%73igned'),
    ` ${AFTERWARDS}`,
    `${AFTERWARDS}\r\nset-cookie: a=b`,
    'https://app.example.com/callback',
    'https://other.example.com/bye',
    '//evil.example.com',
    '/\\evil.example.com',
    'javascript:alert(1)',
    'https://app.example.com@evil.example.com/signed-out',
  ];
  for (const post_logout_redirect_uri of addresses) {
    await assertRefusedBoth({ id_token_hint: hint, post_logout_redirect_uri }, post_logout_redirect_uri);
    await assertRefusedBoth({ client_id: web.client_id, post_logout_redirect_uri }, post_logout_redirect_uri);
  }
  await assertRefusedBoth({ post_logout_redirect_uri: AFTERWARDS }, 'no application');
});

test('repeated and oversized parameters are refused', async () => {
  for (const query of [
    `client_id=${web.client_id}&client_id=${web.client_id}`,
    `client_id=${web.client_id}&post_logout_redirect_uri=${AFTERWARDS}&post_logout_redirect_uri=https://evil.example.com`,
    `client_id=${web.client_id}&state=${'x'.repeat(2_001)}`,
    `interaction=${'A'.repeat(43)}`,
    'interaction=short',
  ])
    assertPage(await logout(who.client, query));
  assert.equal(await isSessionLive(service, who.sessionId), true);
});

test('an application that is not active has no say', async () => {
  const made = await addApplication(admin, [service], { post_logout_redirect_uris: [AFTERWARDS] });
  const own = await hintOf(service, made, who);
  await service.sql('update applications set is_active = false where id = $1', [made.id]);
  await assertRefusedBoth({ id_token_hint: own }, 'inactive');
});

test('a hint counts after it has expired, and after its key has been replaced', async () => {
  const late = await inBrowser(service);
  const fresh = JSON.parse(
    Buffer.from((await hintOf(service, web, late)).split('.')[1] ?? '', 'base64url').toString(),
  );
  const old = signJwt(
    { alg: 'RS256', key: keyRing.currentOfApplications('RS256'), typ: 'JWT' },
    { ...fresh, iat: 1_600_000_000, exp: 1_600_000_300 },
  );
  const { db, auditLog } = service.service.deps;
  const deps = { db, auditLog, secretKey: Buffer.from(TEST_SECRET_KEY) };
  await rotateSigningKey(deps, { atOnce: true }, { purpose: 'application', alg: 'RS256' });
  await service.sql(`update application_keys set signs_from = now() where signs_from > now()`);
  await keyRing.load();
  assert.notEqual(keyRing.currentOfApplications('RS256').id, headerOf(old).kid);
  locationOf(await logout(late.client, { id_token_hint: old, client_id: web.client_id }));
  assert.equal(await isSessionLive(service, late.sessionId), false);
});

test('the page is in the language of the application, else of the browser', async () => {
  const german = /<html lang="de">.*nicht eingetragen.*Niemand wurde abgemeldet/s;
  const english = /<html lang="en">.*is not registered.*Nobody was signed out/s;
  const wrong = { client_id: web.client_id, post_logout_redirect_uri: 'https://evil.example' };
  const pages: [Record<string, string>, string, RegExp][] = [
    [wrong, 'de', german],
    [wrong, 'fr', english],
    [{ ...wrong, ui_locales: 'fr de' }, 'en', german],
  ];
  for (const [parameters, language, expected] of pages) {
    const headers = { 'accept-language': language };
    const asked = await who.client.get(`${LOGOUT}?${new URLSearchParams(parameters)}`, { headers });
    const posted = await service.client().request('POST', LOGOUT, formRequest(parameters, headers));
    for (const answer of [asked, posted]) {
      assertPage(answer);
      assert.match(answer.text, expected);
    }
  }
});
