// Tokens that are bound to a key (DPoP, RFC 9449), on two instances.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import {
  encodePart,
  hmacJwt,
  newProofKey,
  type ProofKey,
  secondsNow,
  signedJwt,
} from '@castellan/testing/openid/proofs';
import { startWithAdmin } from '../applications/fixture.ts';
import {
  addApplication,
  addGrant,
  addSignedIn,
  assertError,
  exchange,
  post,
  refresh,
  type TestApplication,
  type TestGrant,
  userinfo,
} from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const twin = await service.another();
const { publicUrl } = service.service.deps.settings;
const TOKEN = `${publicUrl}/api/v1/oauth/token`;
const USERINFO = `${publicUrl}/api/v1/oauth/userinfo`;
const spa = await addApplication(admin, [service, twin], { type: 'spa' });
const web = await addApplication(admin, [service, twin]);
const who = await addSignedIn(service);
const key = newProofKey('ES256');
const stranger = newProofKey('ES256');

const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url');
const { crv, kty, x, y } = key.jwk;
const jkt = hashOf(JSON.stringify({ crv, kty, x, y }));
const header = (by: ProofKey = key, changed: object = {}) => ({
  typ: 'dpop+jwt',
  alg: by.alg,
  jwk: by.jwk,
  ...changed,
});
const claims = (changed: object = {}) => ({
  jti: randomUUID(),
  htm: 'POST',
  htu: TOKEN,
  iat: secondsNow(),
  ...changed,
});
const proof = (by: ProofKey = key, changed: object = {}) => ({
  dpop: signedJwt(by, header(by), claims(changed)),
});
const grantOf = (application: TestApplication, state = {}): Promise<TestGrant> =>
  addGrant(service, application, who, state);
const refreshWith = (application: TestApplication, refreshToken: string, headers: Record<string, string>) =>
  post(twin, 'token', application, { grant_type: 'refresh_token', refresh_token: refreshToken }, headers);

/** Sends a token as one that is bound to a key. */
const ask = (token: string, by: ProofKey | null = key, changed: object = {}) =>
  userinfo(service, token, {
    authorization: `DPoP ${token}`,
    ...(by ? proof(by, { htm: 'GET', htu: USERINFO, ath: hashOf(token), ...changed }) : {}),
  });
async function boundTokens(application: TestApplication) {
  const answer = await exchange(service, application, await grantOf(application), {}, proof());
  assert.deepEqual([answer.status, answer.body.token_type], [200, 'DPoP'], answer.text);
  return answer.body;
}
const challenge = 'DPoP error="invalid_token", algs="ES256 EdDSA RS256 PS256"';

test('a proof of any algorithm binds the tokens to its key, and each use needs a new one', async () => {
  const rsa = newProofKey('RS256');
  for (const by of [
    key,
    newProofKey('EdDSA'),
    newProofKey('Ed25519'),
    rsa,
    { ...rsa, alg: 'PS256' as const },
  ]) {
    const issued = await exchange(service, spa, await grantOf(spa), {}, proof(by));
    assert.deepEqual([issued.status, issued.body.token_type], [200, 'DPoP'], issued.text);
    assert.equal((await ask(issued.body.access_token, by)).body.sub, who.person.id);
  }
  const { access_token } = await boundTokens(web);
  const told = await post(service, 'introspect', web, { token: access_token });
  assert.deepEqual([told.body.token_type, told.body.cnf], ['DPoP', { jkt }]);
});

test('a bound token without its key is refused, and so is an unbound one with a key', async () => {
  const { access_token } = await boundTokens(spa);
  const unbound = (await exchange(service, spa, await grantOf(spa))).body;
  assert.equal(unbound.token_type, 'Bearer');
  const form = await service.client().request('POST', '/api/v1/oauth/userinfo', {
    raw: `access_token=${access_token}`,
    headers: { 'x-csrf-token': null, 'content-type': 'application/x-www-form-urlencoded' },
  });
  const refusals = [
    await userinfo(service, access_token),
    await userinfo(
      service,
      access_token,
      proof(key, { htm: 'GET', htu: USERINFO, ath: hashOf(access_token) }),
    ),
    form,
    await ask(access_token, null),
    await ask(access_token, stranger),
    await ask(access_token, key, { ath: hashOf('other') }),
    await ask(access_token, key, { ath: undefined }),
    await ask(access_token, key, { htm: 'POST' }),
    await ask(access_token, key, { htu: TOKEN }),
    await ask(access_token, key, { iat: secondsNow() - 90 }),
    await ask(unbound.access_token),
  ];
  for (const [index, answer] of refusals.entries()) {
    assertError(answer, 401, 'invalid_token');
    assert.equal(answer.headers.get('www-authenticate'), challenge, `${index}`);
  }
  assert.equal((await userinfo(service, unbound.access_token)).status, 200);
  assert.equal((await ask(access_token)).status, 200);
});

test('a proof counts once on all instances, also when many send it at once', async () => {
  const { access_token: token } = await boundTokens(spa);
  const once = proof(key, { htm: 'GET', htu: USERINFO, ath: hashOf(token) });
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      userinfo(index % 2 ? service : twin, token, { authorization: `DPoP ${token}`, ...once }),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 200).length, 1);
  const sent = proof();
  assert.equal((await exchange(service, spa, await grantOf(spa), {}, sent)).status, 200);
  const again = await grantOf(spa);
  assertError(await exchange(twin, spa, again, {}, sent), 400, 'invalid_dpop_proof');
  // The code was not used up by it.
  assert.equal((await exchange(twin, spa, again, {}, proof())).status, 200);
});

test('the address is compared without its query, with its scheme and host in any case', async () => {
  const shouted = TOKEN.replace(/^http:\/\/[^/]+/, (origin) => origin.toUpperCase());
  for (const htu of [`${TOKEN}?a=b#c`, shouted])
    assert.equal((await exchange(service, spa, await grantOf(spa), {}, proof(key, { htu }))).status, 200);
});

test('a wrong proof gets no token, and uses up neither the code nor an id', async () => {
  const grant = await grantOf(spa);
  const used = await service.sql('select jti_hash from used_proofs order by 1');
  const pem = JSON.stringify(key.jwk);
  const signed = (changedHeader: object, changedClaims: object = {}) =>
    signedJwt(key, header(key, changedHeader), claims(changedClaims));
  const wrong: Readonly<Record<string, string>> = {
    'no proof': '',
    'two proofs': `${signed({})}, ${signed({})}`,
    'no algorithm': `${encodePart(header(key, { alg: 'none' }))}.${encodePart(claims())}.`,
    'an HMAC': hmacJwt(pem, header(key, { alg: 'HS256' }), claims()),
    'another type': signed({ typ: 'JWT' }),
    'no key': signed({ jwk: undefined }),
    'the key of somebody else': signed({ jwk: stranger.jwk }),
    'a private key': signed({ jwk: key.privateKey.export({ format: 'jwk' }) }),
    'a symmetric key': signed({ jwk: { kty: 'oct', k: 'c2VjcmV0' } }),
    'a weak key': signedJwt(
      newProofKey('RS256', { bits: 1_024 }),
      header(newProofKey('RS256', { bits: 1_024 })),
      claims(),
    ),
    'a critical extension': signed({ crit: ['exp'], exp: 1 }),
    'another method': signed({}, { htm: 'GET' }),
    'a method in another case': signed({}, { htm: 'post' }),
    'another address': signed({}, { htu: USERINFO }),
    'another host': signed({}, { htu: 'https://evil.example.com/api/v1/oauth/token' }),
    'an address with a user': signed({}, { htu: TOKEN.replace('://', '://x@') }),
    'no address': signed({}, { htu: undefined }),
    'no id': signed({}, { jti: undefined }),
    'no time': signed({}, { iat: undefined }),
    'a time that is a text': signed({}, { iat: `${secondsNow()}` }),
    'too old': signed({}, { iat: secondsNow() - 90 }),
    'too early': signed({}, { iat: secondsNow() + 90 }),
    'a claim twice': signedJwt(key, header(), JSON.stringify(claims()).replace('{', '{"htm":"GET",')),
  };
  for (const [what, dpop] of Object.entries(wrong)) {
    const answer = await exchange(service, spa, grant, {}, { dpop });
    assert.deepEqual(
      [answer.status, answer.body?.error],
      [400, 'invalid_dpop_proof'],
      `${what}: ${answer.text}`,
    );
  }
  assert.deepEqual(await service.sql('select jti_hash from used_proofs order by 1'), used);
  const unknown = { code: `cas_ac_${'x'.repeat(43)}_000000`, verifier: grant.verifier };
  assertError(await exchange(service, spa, unknown, {}, proof()), 400, 'invalid_grant');
  assert.deepEqual(await service.sql('select jti_hash from used_proofs order by 1'), used);
  assert.equal((await exchange(service, spa, grant, {}, proof())).status, 200);
});

test('a refresh token of a public application is worth nothing without the key', async () => {
  const { refresh_token: first } = await boundTokens(spa);
  assertError(await refresh(service, spa, first), 400, 'invalid_dpop_proof');
  assertError(await refreshWith(spa, first, proof(stranger)), 400, 'invalid_dpop_proof');
  const next = await refreshWith(spa, first, proof());
  assert.deepEqual([next.status, next.body.token_type], [200, 'DPoP'], next.text);
  assert.equal((await ask(next.body.access_token)).status, 200);
  // A confidential application proves itself, and may change its key.
  const { refresh_token: ofWeb } = await boundTokens(web);
  const changed = await refreshWith(web, ofWeb, proof(stranger));
  assert.equal((await ask(changed.body.access_token, stranger)).status, 200);
  assert.equal((await refresh(service, web, changed.body.refresh_token)).body.token_type, 'Bearer');
});

test('a code that is bound to a key needs a proof of it', async () => {
  const grant = await grantOf(web, { dpopJkt: jkt });
  assertError(await exchange(service, web, grant), 400, 'invalid_dpop_proof');
  assertError(await exchange(service, web, grant, {}, proof(stranger)), 400, 'invalid_dpop_proof');
  assert.equal((await exchange(service, web, grant, {}, proof())).body.token_type, 'DPoP');
});

test('an application with require_dpop gets no token without a proof', async () => {
  const strict = await addApplication(admin, [service, twin], { type: 'spa', require_dpop: true });
  const grant = await grantOf(strict);
  assertError(await exchange(service, strict, grant), 400, 'invalid_dpop_proof');
  const issued = await exchange(service, strict, grant, {}, proof());
  assert.equal(issued.body.token_type, 'DPoP', issued.text);
  assertError(await refresh(service, strict, issued.body.refresh_token), 400, 'invalid_dpop_proof');
});

test('discovery names the algorithms', async () => {
  const { body } = await service.client().get('/.well-known/openid-configuration');
  assert.deepEqual(body.dpop_signing_alg_values_supported, ['ES256', 'EdDSA', 'RS256', 'PS256']);
});
