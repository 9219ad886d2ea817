// Applications that authenticate themselves with signed assertions, on two instances.
import assert from 'node:assert/strict';
import { createPublicKey, randomUUID } from 'node:crypto';
import { registerHooks } from 'node:module';
import { after, test } from 'node:test';
import {
  assertionClaims,
  assertionFields,
  encodePart,
  hmacJwt,
  newProofKey,
  type ProofKey,
  publicKeyOf,
  secondsNow,
  signedJwt,
} from '@castellan/testing/openid/proofs';
import { removeSessionRows } from '../../src/cleanup.ts';
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
  tokensOf,
} from './fixture.ts';

const loaded: string[] = [];
const hooks = registerHooks({
  load(url, context, next) {
    if (url.includes('/jose/')) loaded.push(url);
    return next(url, context);
  },
});
const { service, admin } = await startWithAdmin({ after });
const twin = await service.another();
const { publicUrl: issuer } = service.service.deps.settings;
const endpoint = `${issuer}/api/v1/oauth/token`;

const keys = { ES256: newProofKey('ES256'), EdDSA: newProofKey('EdDSA'), RS256: newProofKey('RS256') };
const pss: ProofKey = { ...keys.RS256, alg: 'PS256' };
const signer = keys.ES256;
const signed: TestApplication = await addApplication(admin, [service, twin], {
  auth_method: 'private_key_jwt',
  jwks: { keys: Object.values(keys).map(publicKeyOf) },
});
const other: TestApplication = await addApplication(admin, [service, twin], {
  auth_method: 'private_key_jwt',
  jwks: { keys: [publicKeyOf(newProofKey('ES256'))] },
});
const web = await addApplication(admin, [service, twin]);

const header = ({ alg, kid }: ProofKey, changed: object = {}) => ({ alg, kid, typ: 'JWT', ...changed });
const claims = (changed: object = {}) => assertionClaims(signed.client_id, issuer, changed);
const newAssertion = (key: ProofKey = signer, changed: object = {}): string =>
  signedJwt(key, header(key), claims(changed));
/** Asks about a token that is none, which needs nothing but authentication. */
const ask = (assertion: string, fields: Record<string, string> = {}, at = service) =>
  post(at, 'introspect', null, { token: 'none', ...assertionFields(assertion), ...fields });
const assertTaken = async (...sent: Parameters<typeof ask>) =>
  assert.equal((await ask(...sent)).text, '{"active":false}');

test('the library that verifies is loaded by the first assertion', async () => {
  assert.deepEqual(loaded, []);
  await assertTaken(newAssertion());
  hooks.deregister();
  assert.ok(loaded.length > 0);
});

test('every algorithm counts with its key, with or without the name of the key, for each audience', async () => {
  const renamed = { ...keys.EdDSA, alg: 'Ed25519' as const };
  for (const key of [...Object.values(keys), renamed, pss]) {
    await assertTaken(newAssertion(key));
    await assertTaken(signedJwt(key, { alg: key.alg }, claims({ aud: [endpoint] })));
  }
  await assertTaken(newAssertion(signer, { aud: `${issuer}/api/v1/oauth/par` }));
  await assertTaken(newAssertion(signer, { aud: endpoint, nbf: secondsNow() - 3_600 }));
  await assertTaken(newAssertion(signer, { iat: undefined }), { client_id: signed.client_id });
});

test('codes and refresh tokens are exchanged and ended by it, and nothing is without it', async () => {
  const who = await addSignedIn(service);
  const grant = await addGrant(service, signed, who);
  assertError(await exchange(service, signed, grant), 401, 'invalid_client');
  const form = () => assertionFields(newAssertion());
  const issued = await post(service, 'token', null, {
    ...form(),
    grant_type: 'authorization_code',
    code: grant.code,
    redirect_uri: 'https://app.example.com/callback',
    code_verifier: grant.verifier ?? '',
  });
  assert.equal(issued.status, 200, issued.text);
  const again = await post(twin, 'token', null, {
    ...form(),
    grant_type: 'refresh_token',
    refresh_token: issued.body.refresh_token,
  });
  assert.equal(again.status, 200, again.text);
  const told = await ask(newAssertion(), { token: again.body.access_token });
  assert.deepEqual([told.body.active, told.body.client_id], [true, signed.client_id]);
  const { access_token: token } = again.body;
  assertError(
    await post(service, 'revoke', null, { ...assertionFields('x.y.z'), token }),
    401,
    'invalid_client',
  );
  assert.equal((await post(service, 'revoke', null, { ...form(), token })).status, 200);
  assert.equal((await ask(newAssertion(), { token })).text, '{"active":false}');
  const grantless = await post(service, 'token', null, { ...form(), grant_type: 'client_credentials' });
  assertError(grantless, 400, 'unauthorized_client');
});

test('an assertion counts once, however many send it to whichever instance', async () => {
  for (let round = 0; round < 5; round += 1) {
    const assertion = newAssertion();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => ask(assertion, {}, index % 2 ? service : twin)),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers) assert.ok(answer.status === 200 || [401, 429].includes(answer.status));
  }
  // Whichever of its keys signs it.
  const jti = randomUUID();
  await assertTaken(newAssertion(signer, { jti }));
  assert.equal((await ask(newAssertion(keys.EdDSA, { jti }))).status === 200, false);
});

test('the used ones are forgotten a minute after their end', async () => {
  const count = async () =>
    (await service.sql<{ n: number }>('select count(*)::integer as n from used_proofs'))[0]?.n ?? -1;
  assert.ok((await count()) > 0);
  await service.sql(`update used_proofs set expires_at = now() - interval '1 s'`);
  await assertTaken(newAssertion());
  await removeSessionRows(service.service.deps);
  assert.equal(await count(), 1);
});

test('every fault is refused in one text, and does not use the assertion up', async () => {
  const now = secondsNow();
  const good = header(signer);
  const { jwk } = signer;
  const stranger = newProofKey('ES256');
  const pem = createPublicKey(keys.RS256.privateKey).export({ type: 'spki', format: 'pem' }).toString();
  const twice = JSON.stringify(claims()).replace('{', `{"sub":"${signed.client_id}",`);
  const wrong: Readonly<Record<string, string>> = {
    'no algorithm': `${encodePart({ ...good, alg: 'none' })}.${encodePart(claims())}.`,
    'an HMAC with the public key': hmacJwt(pem, { ...header(keys.RS256), alg: 'HS256' }, claims()),
    'an HMAC that says RS256': hmacJwt(pem, header(keys.RS256), claims()),
    'another key that it brings': signedJwt(stranger, { ...good, jwk: stranger.jwk }, claims()),
    'another key with its name': signedJwt(stranger, good, claims()),
    'an algorithm of another key': signedJwt(
      { ...signer, kid: keys.EdDSA.kid },
      header({ ...signer, kid: keys.EdDSA.kid }),
      claims(),
    ),
    'an unknown key': signedJwt(signer, { ...good, kid: 'unknown' }, claims()),
    'a name that is no text': signedJwt(signer, { ...good, kid: 1 }, claims()),
    'a critical extension': signedJwt(signer, { ...good, crit: ['exp'] }, claims()),
    'an unencoded payload': signedJwt(signer, { ...good, b64: true, crit: ['b64'] }, claims()),
    'the type of another proof': signedJwt(signer, { ...good, typ: 'dpop+jwt' }, claims()),
    'a claim twice': signedJwt(signer, good, twice),
    'another issuer': newAssertion(signer, { iss: web.client_id }),
    'another subject': newAssertion(signer, { sub: web.client_id }),
    'the subject of another application': newAssertion(signer, {
      iss: other.client_id,
      sub: other.client_id,
    }),
    'another audience': newAssertion(signer, { aud: 'https://evil.example.com' }),
    'two audiences': newAssertion(signer, { aud: [issuer, endpoint] }),
    'no audience': newAssertion(signer, { aud: [] }),
    'no end': newAssertion(signer, { exp: undefined }),
    'an end that is no number': newAssertion(signer, { exp: `${now + 60}` }),
    'its end passed': newAssertion(signer, { exp: now - 1 }),
    'an end too far ahead': newAssertion(signer, { exp: now + 660 }),
    'made too early': newAssertion(signer, { iat: now + 90 }),
    'made too long ago': newAssertion(signer, { iat: now - 90 }),
    'a later begin': newAssertion(signer, { nbf: now + 90 }),
    'no id': newAssertion(signer, { jti: undefined }),
    'an empty id': newAssertion(signer, { jti: '' }),
    'an altered signature': newAssertion().replace(/.{8}$/, 'AAAAAAAA'),
    'an altered claim': newAssertion().replace(/\.[^.]+\./, `.${encodePart(claims({ exp: now + 500 }))}.`),
    'a secret of an application': `${web.client_secret}`,
  };
  assert.ok(jwk);
  const texts = new Set<string>();
  const used = await service.sql('select jti_hash from used_proofs');
  let at = service;
  for (const [index, [what, assertion]] of Object.entries(wrong).entries()) {
    // Wrong ones are counted by instance and network.
    if (index % 25 === 0) at = await service.another();
    const answer = await ask(assertion, {}, at);
    assert.equal(answer.status, 401, `${what}: ${answer.text}`);
    assert.equal(answer.headers.get('www-authenticate'), null);
    texts.add(answer.text);
  }
  at = await service.another();
  const mismatch = await ask(newAssertion(), { client_id: other.client_id }, at);
  const untyped = await post(at, 'introspect', null, { token: 'x', client_assertion: newAssertion() });
  for (const answer of [mismatch, untyped]) {
    assertError(answer, 401, 'invalid_client');
    texts.add(answer.text);
  }
  assert.equal(texts.size, 1);
  assert.deepEqual(await service.sql('select jti_hash from used_proofs'), used);
  const [entry] = await service.sql<{ details: object }>(
    `select details from audit_logs where action = 'application_authentication_failed' and details ->> 'fault' = 'audience' limit 1`,
  );
  assert.partialDeepStrictEqual(entry?.details, { reason: 'wrong_assertion', fault: 'audience' });
});

test('an assertion and a secret together are refused, and each is no way for an application with the other', async () => {
  const at = await service.another();
  const form = assertionFields(newAssertion());
  assertError(await post(at, 'token', web, { grant_type: 'refresh_token', ...form }), 400, 'invalid_request');
  const secret = { client_id: web.client_id, client_secret: web.client_secret ?? '' };
  assertError(await post(at, 'introspect', null, { token: 'x', ...form, ...secret }), 400, 'invalid_request');
  const asWeb = signedJwt(signer, header(signer), assertionClaims(web.client_id, issuer));
  assertError(await ask(asWeb, {}, at), 401, 'invalid_client');
  const who = await addSignedIn(service);
  const { refresh_token } = await tokensOf(service, web, who);
  assertError(
    await refresh(at, { ...signed, client_secret: web.client_secret ?? '' }, refresh_token),
    401,
    'invalid_client',
  );
});

test('a key that is taken out of the record is refused at the next request everywhere', async () => {
  const old = newProofKey('ES256');
  const next = newProofKey('EdDSA');
  const made = await addApplication(admin, [service, twin], {
    auth_method: 'private_key_jwt',
    jwks: { keys: [publicKeyOf(old)] },
  });
  const of = (key: ProofKey) => signedJwt(key, header(key), assertionClaims(made.client_id, issuer));
  await assertTaken(of(old));
  const changed = await admin.put(`/api/v1/applications/${made.id}`, { jwks: { keys: [publicKeyOf(next)] } });
  assert.equal(changed.status, 200, changed.text);
  for (const at of [service, twin]) {
    assert.notEqual((await ask(of(old), {}, at)).status, 200);
    await assertTaken(of(next), {}, at);
  }
});

test('after 30 wrong ones of a network, no more are looked at but of applications that were right', async () => {
  const at = await service.another();
  await assertTaken(newAssertion(), {}, at);
  for (let sent = 0; sent < 30; sent += 1)
    assertError(
      await ask(newAssertion(signer, { aud: 'https://evil.example.com' }), {}, at),
      401,
      'invalid_client',
    );
  const unseen = signedJwt(signer, header(signer), assertionClaims(other.client_id, issuer));
  assertError(await ask(unseen, {}, at), 429, 'rate_limited');
  await assertTaken(newAssertion(), {}, at);
});

test('discovery names the method and its algorithms', async () => {
  const { body } = await service.client().get('/.well-known/openid-configuration');
  for (const at of ['token', 'introspection', 'revocation']) {
    assert.ok(body[`${at}_endpoint_auth_methods_supported`].includes('private_key_jwt'));
    assert.deepEqual(body[`${at}_endpoint_auth_signing_alg_values_supported`].sort(), [
      'ES256',
      'EdDSA',
      'PS256',
      'RS256',
    ]);
  }
});
