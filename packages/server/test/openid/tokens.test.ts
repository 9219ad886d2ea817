// The exchange of codes: what an application gets for one, and what it gets no token for.
import assert from 'node:assert/strict';
import { createHash, createPublicKey, randomUUID, verify } from 'node:crypto';
import { after, test } from 'node:test';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { statementsOf } from '@castellan/testing/statements';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { createSecretText } from '../../src/platform/security/secret-text.ts';
import { startWithAdmin } from '../applications/fixture.ts';
import {
  addApplication,
  addGrant,
  addSignedIn,
  assertDead,
  assertError,
  exchange,
  newVerifier,
  post,
  REDIRECT,
  refresh,
  tokensOf,
  userinfo,
} from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const instances = [service];
const web = await addApplication(admin, instances);
const spa = await addApplication(admin, instances, {
  type: 'spa',
  allowed_origins: ['https://extra.example.com'],
});
const ISSUER = 'http://castellan.test';

/** Verifies an ID token with the published keys, as an application does, and returns header and claims. */
async function readIdToken(
  idToken: string,
): Promise<{ header: Record<string, unknown>; claims: Record<string, unknown> }> {
  const { header, claims } = readToken(idToken);
  const { keys } = (await service.client().get('/api/v1/oauth/jwks.json')).body;
  const jwk = keys.find((key: { kid: string }) => key.kid === header.kid);
  const [head, body, signature = ''] = idToken.split('.');
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  assert.ok(
    verify(
      'sha256',
      Buffer.from(`${head}.${body}`),
      { key, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    ),
  );
  return { header, claims: claims as unknown as Record<string, unknown> };
}

test('a code brings an opaque access token, a refresh token and a signed ID token', async () => {
  const who = await addSignedIn(service);
  const grant = await addGrant(service, web, who, { nonce: 'n-1', acr: 'aal2', amr: ['pwd', 'otp', 'mfa'] });
  const answer = await exchange(service, web, grant);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('pragma'), 'no-cache');
  const { access_token, refresh_token, id_token, ...rest } = answer.body;
  assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 300, scope: 'openid profile email' });
  assert.match(access_token, /^cas_at_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
  assert.match(refresh_token, /^cas_rt_[0-9A-Za-z]{60}_[0-9A-Za-z]{6}$/);
  const { header, claims } = await readIdToken(id_token);
  assert.deepEqual([header.alg, header.typ], ['RS256', 'JWT']);
  const { iat, exp, auth_time, sid, at_hash, updated_at, ...told } = claims;
  assert.deepEqual(told, {
    iss: ISSUER,
    sub: who.person.id,
    aud: web.client_id,
    acr: 'aal2',
    amr: ['pwd', 'otp', 'mfa'],
    nonce: 'n-1',
    name: 'Ada Lovelace',
    given_name: 'Ada',
    family_name: 'Lovelace',
    preferred_username: who.person.email,
    email: who.person.email,
    email_verified: true,
  });
  assert.equal(Number(exp) - Number(iat), 300);
  assert.ok(Number.isInteger(auth_time) && Number.isInteger(updated_at));
  assert.match(String(sid), /^[\w-]{22}$/);
  const half = createHash('sha256').update(access_token).digest().subarray(0, 16).toString('base64url');
  assert.equal(at_hash, half);
  const [row] = await service.sql('select * from application_tokens where grant_id = $1', [grant.id]);
  assert.deepEqual(row?.token_hash, createHash('sha256').update(access_token).digest());
});

test('ES256 signs, too, and a pairwise subject and a session id are those of the application alone', async () => {
  const fields = { subject_type: 'pairwise', id_token_signing_alg: 'ES256', sector: 'one.example.com' };
  const [one, same, other] = [
    await addApplication(admin, instances, fields),
    await addApplication(admin, instances, fields),
    await addApplication(admin, instances, { ...fields, sector: 'other.example.com' }),
  ];
  const who = await addSignedIn(service);
  const told = [];
  for (const application of [one, same, other]) {
    const tokens = await tokensOf(service, application, who);
    const { header, claims } = await readIdToken(tokens.id_token);
    assert.equal(header.alg, 'ES256');
    assert.equal((await userinfo(service, tokens.access_token)).body.sub, claims.sub);
    told.push(claims);
  }
  const [first, second, third] = told;
  assert.equal(first?.sub, second?.sub);
  assert.equal(new Set(told.map(({ sub }) => sub)).size, 2);
  assert.ok(told.every(({ sub }) => sub !== who.person.id));
  assert.equal(new Set([first, second, third].map((claims) => claims?.sid)).size, 3);
});

test('a code is exchanged only as it was announced', async () => {
  const who = await addSignedIn(service);
  const other = await addApplication(admin, instances);
  const cases: [fields: Record<string, string>, error: string][] = [
    [{ redirect_uri: `${REDIRECT}/` }, 'invalid_grant'],
    [{ redirect_uri: '' }, 'invalid_request'],
    [{ code: '' }, 'invalid_request'],
    [{ code_verifier: '' }, 'invalid_grant'],
    [{ code_verifier: newVerifier() }, 'invalid_grant'],
    [{ code: createSecretText('cas_ac_') }, 'invalid_grant'],
    [{ resource: 'https://orders.example.com' }, 'invalid_target'],
  ];
  const grant = await addGrant(service, web, who);
  for (const [fields, error] of cases) assertError(await exchange(service, web, grant, fields), 400, error);
  assertError(await exchange(service, other, grant), 400, 'invalid_grant');
  const late = await addGrant(service, web, who, { expiresInSeconds: 0 });
  assertError(await exchange(service, web, late), 400, 'invalid_grant');
  const bound = await addGrant(service, web, who, { dpopJkt: 'x'.repeat(43) });
  assertError(await exchange(service, web, bound), 400, 'invalid_dpop_proof');
  // None of it used the code up.
  assert.equal((await exchange(service, web, grant)).status, 200);
});

test('a verifier that no challenge announced is refused, and none is needed then', async () => {
  const who = await addSignedIn(service);
  const grant = await addGrant(service, web, who, { verifier: null });
  assertError(await exchange(service, web, grant, { code_verifier: newVerifier() }), 400, 'invalid_grant');
  assert.equal((await exchange(service, web, grant)).status, 200);
});

test('a wrong checksum is refused without a statement about the code', async () => {
  const code = createSecretText('cas_ac_');
  const wrong = `${code.slice(0, -1)}${code.endsWith('a') ? 'b' : 'a'}`;
  const texts = await statementsOf(async () => {
    assertError(await exchange(service, web, { code: wrong, verifier: null }), 400, 'invalid_grant');
  });
  assert.ok(!texts.some((text) => text.includes('access_grants')), texts.join('\n'));
});

test('a used code ends what it brought, is recorded once, and stays refused', async () => {
  const who = await addSignedIn(service);
  const { grant, ...tokens } = await tokensOf(service, web, who);
  for (let times = 0; times < 3; times += 1)
    assertError(await exchange(service, web, grant), 400, 'invalid_grant');
  await assertDead(service, web, tokens);
  const events = await eventsOf(service, 'authorization_code_reuse', { id: web.id });
  assert.deepEqual(
    events.filter(({ actor_id }) => actor_id === who.person.id).map(({ details }) => details.grant_id),
    [grant.id],
  );
});

test('an application without the grant type gets no tokens for it, nor one that needs bound tokens', async () => {
  const who = await addSignedIn(service);
  const once = await addApplication(admin, instances, { grant_types: ['authorization_code'] });
  const grant = await addGrant(service, once, who);
  const answer = await exchange(service, once, grant);
  assert.deepEqual(Object.keys(answer.body).sort(), [
    'access_token',
    'expires_in',
    'id_token',
    'scope',
    'token_type',
  ]);
  const { refresh_token } = await tokensOf(service, web, who);
  assertError(await refresh(service, once, refresh_token), 400, 'unauthorized_client');
  const dpop = await addApplication(admin, instances, { require_dpop: true });
  assertError(await exchange(service, dpop, await addGrant(service, dpop, who)), 400, 'invalid_dpop_proof');
});

test('without openid there is no ID token, and userinfo is closed', async () => {
  const who = await addSignedIn(service);
  const tokens = await tokensOf(service, web, who, { scopes: ['email'] });
  assert.equal(tokens.id_token, undefined);
  assertError(await userinfo(service, tokens.access_token), 403, 'insufficient_scope');
});

test('only who meets the access rule gets and keeps tokens; superusers do', async () => {
  const [permission] = await service.sql<{ id: string }>(
    `select id from permissions where name = 'users.read'`,
  );
  const ruled = await addApplication(admin, instances, { required_permission_id: permission?.id });
  const role = await addRole(service, 'users.read');
  const holder = await addSignedIn(service, { roles: [role] });
  const superuser = await addSignedIn(service, { superuser: true });
  const nobody = await addSignedIn(service);
  assertError(await exchange(service, ruled, await addGrant(service, ruled, nobody)), 400, 'invalid_grant');
  for (const who of [superuser, holder]) {
    const tokens = await tokensOf(service, ruled, who);
    assert.equal((await userinfo(service, tokens.access_token)).status, 200);
  }
  const tokens = await tokensOf(service, ruled, holder);
  await service.sql('delete from role_permissions where role_id = $1', [role]);
  await assertDead(service, ruled, tokens);
});

test('every failure to authenticate is one text; a challenge only answers Basic', async () => {
  const who = await addSignedIn(service);
  const grant = await addGrant(service, web, who);
  const form = { grant_type: 'authorization_code', code: grant.code, redirect_uri: REDIRECT };
  const wrong = createSecretText('cas_cs_');
  const attempts: [body: Record<string, string>, basic?: [string, string]][] = [
    [{}],
    [{ client_id: web.client_id }],
    [{ client_id: web.client_id, client_secret: wrong }],
    [{ client_id: randomUUID() }],
    [{ client_id: spa.client_id, client_secret: web.client_secret ?? '' }],
    [{ client_id: 'unknown', client_secret: web.client_secret ?? '' }],
    [{ client_id: web.client_id, client_assertion: 'x.y.z' }],
    [{}, [web.client_id, wrong]],
    [{}, [web.client_id, '']],
  ];
  const texts = new Set<string>();
  for (const [fields, basic] of attempts) {
    const encoded = basic && Buffer.from(basic.join(':')).toString('base64');
    const answer = await post(
      service,
      'token',
      null,
      { ...form, ...fields },
      encoded ? { authorization: `Basic ${encoded}` } : {},
    );
    assertError(answer, 401, 'invalid_client');
    const challenge = answer.headers.get('www-authenticate');
    assert.equal(challenge, basic ? 'Basic realm="applications", charset="UTF-8"' : null, answer.text);
    texts.add(answer.text);
  }
  assert.equal(texts.size, 1);
  const twice = { ...form, client_id: web.client_id, client_secret: web.client_secret ?? '' };
  assertError(await post(service, 'token', web, twice), 400, 'invalid_request');
});

test('a secret in the form is as good as Basic; a revoked one is refused at the next request', async () => {
  const who = await addSignedIn(service);
  const application = await addApplication(admin, instances);
  const inForm = { client_id: application.client_id, client_secret: application.client_secret ?? '' };
  const grant = await addGrant(service, application, who);
  const form = {
    grant_type: 'authorization_code',
    code: grant.code,
    redirect_uri: REDIRECT,
    code_verifier: grant.verifier ?? '',
  };
  const answer = await post(service, 'token', null, { ...form, ...inForm });
  assert.equal(answer.status, 200, answer.text);
  const path = `/api/v1/applications/${application.id}`;
  const [secret] = (await admin.get(`${path}/secrets`)).body.data;
  assert.equal((await admin.delete(`${path}/secrets/${secret.id}`)).status, 200);
  assertError(await refresh(service, application, answer.body.refresh_token), 401, 'invalid_client');
  assert.equal((await userinfo(service, answer.body.access_token)).status, 200);
  assert.equal((await admin.put(path, { is_active: false })).status, 200);
  assertError(await userinfo(service, answer.body.access_token), 401, 'invalid_token');
});

test('client_credentials are for service accounts', async () => {
  const form = { grant_type: 'client_credentials' };
  for (const application of [web, spa])
    for (const fields of [form, { ...form, scope: 'openid' }])
      assertError(await post(service, 'token', application, fields), 400, 'unauthorized_client');
  const stranger = { ...form, client_id: 'unknown' };
  assertError(await post(service, 'token', null, stranger), 401, 'invalid_client');
  assertError(await post(service, 'token', web, { grant_type: 'password' }), 400, 'unsupported_grant_type');
});

test('pages of the application may read its answers, and no others, whatever CORS_ORIGINS says', async () => {
  const who = await addSignedIn(service);
  const origins: [string, string | null][] = [
    ['https://app.example.com', 'https://app.example.com'],
    ['https://extra.example.com', 'https://extra.example.com'],
    ['https://other.example.com', null],
    ['null', null],
  ];
  for (const [origin, allowed] of origins) {
    const grant = await addGrant(service, spa, who);
    const answer = await exchange(service, spa, grant, {}, { origin });
    assert.equal(answer.status, 200, answer.text);
    const about = await userinfo(service, answer.body.access_token, { origin });
    const again = await exchange(service, spa, grant, {}, { origin });
    for (const { headers } of [answer, again, about]) {
      assert.equal(headers.get('access-control-allow-origin'), allowed);
      assert.equal(headers.get('access-control-allow-credentials'), null);
    }
    const asked = await service.client().request('OPTIONS', '/api/v1/oauth/token', {
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    assert.deepEqual([asked.status, asked.headers.get('access-control-allow-origin')], [204, '*']);
  }
});

test('an exchange takes three statements besides begin and commit, a refresh the same', async () => {
  const who = await addSignedIn(service, { roles: [await addRole(service, 'users.read')] });
  const first = await tokensOf(service, web, who);
  const grant = await addGrant(service, web, who, { scopes: ['openid', 'roles', 'groups'] });
  // What the audit log does afterwards is not of the request.
  const own = (all: string[]): string[] => {
    // Nor is what the worker of logout notices does every two seconds.
    const texts = all.filter((text) => !text.includes('logout_notices'));
    const end = texts.findIndex((text) => /^commit/i.test(text)) + 1;
    return end > 0 ? texts.slice(0, end) : texts;
  };
  const count = async (run: () => Promise<{ status: number; text: string }>): Promise<string[]> =>
    own(
      await statementsOf(async () => {
        const answer = await run();
        assert.equal(answer.status, 200, answer.text);
      }),
    );
  for (const run of [() => exchange(service, web, grant), () => refresh(service, web, first.refresh_token)]) {
    const texts = await count(run);
    assert.equal(texts.length, 5, texts.join('\n---\n'));
  }
  assert.equal((await count(() => userinfo(service, first.access_token))).length, 1);
  const asked = await count(() => post(service, 'introspect', web, { token: first.access_token }));
  // One finds the application, and one the token.
  assert.equal(asked.length, 2, asked.join('\n---\n'));
});

test('an account has at most 50 live grants at an application: a further one ends the oldest', async () => {
  const who = await addSignedIn(service);
  const [oldest, second] = [await tokensOf(service, web, who), await tokensOf(service, web, who)];
  for (let made = 2; made < 51; made += 1) await tokensOf(service, web, who);
  assertError(await userinfo(service, oldest.access_token), 401, 'invalid_token');
  assert.equal((await userinfo(service, second.access_token)).status, 200);
  const elsewhere = await tokensOf(service, spa, who);
  assert.equal((await userinfo(service, elsewhere.access_token)).status, 200);
  const ended = await eventsOf(service, 'application_access_ended', { id: web.id });
  assert.deepEqual(
    ended.filter(({ actor_id }) => actor_id === who.person.id).map(({ details }) => details.grants),
    [1],
  );
});

test('an unknown account leaves nothing to exchange', async () => {
  const person = await addPerson(service);
  const grant = await addGrant(service, web, { person, sessionId: randomUUID() });
  assertError(await exchange(service, web, grant), 400, 'invalid_grant');
});
