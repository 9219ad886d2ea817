// The client credentials grant: who gets an access token for an API key, and what the token is worth.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { eventually, startTestService, type TestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import {
  basicOf,
  clientToken,
  type Form,
  formRequest,
  postForm,
} from '@castellan/testing/service-accounts/token-services';
import { isSignedBy, readToken } from '@castellan/testing/sessions/own-tokens';

const service = await startTestService({ after });
const twin = await service.another();
const grant = { grant_type: 'client_credentials' };

/** A service whose wrong keys count for no other test. */
const fresh = (t: { after(hook: () => Promise<void>): void }): Promise<TestService> => startTestService(t);

const getRoles = (at: TestService, token: string) =>
  at.client().get('/api/v1/roles', { headers: { authorization: `Bearer ${token}` } });

/** Asserts that the token is accepted by both instances. */
async function assertAccepted(token: string): Promise<void> {
  for (const at of [service, twin]) assert.equal((await getRoles(at, token)).status, 200);
}

/** Asserts that the token is refused by both instances. */
async function assertEnded(token: string): Promise<void> {
  for (const at of [twin, service]) assertRefused(await getRoles(at, token), 401, 'token_revoked');
}

test('a client gets an access token with Basic and with its credentials in the form', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read'] });
  const answers = [
    await postForm(service, 'token', grant, basicOf(account.id, account.key)),
    await postForm(service, 'token', grant, basicOf(account.id.toUpperCase(), account.key)),
    await postForm(service, 'token', { ...grant, client_id: account.id }, basicOf(account.id, account.key)),
    await postForm(service, 'token', { ...grant, client_id: account.id, client_secret: account.key }),
  ];
  for (const { status, headers, body, text } of answers) {
    assert.equal(status, 200, text);
    const { access_token, ...rest } = body;
    assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 600 });
    assert.match(headers.get('content-type') ?? '', /^application\/json\b/);
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('pragma'), 'no-cache');
    await assertAccepted(access_token);
  }
});

test('every character of Basic credentials may be percent-encoded', async () => {
  const { id, key } = await addServiceAccount(service);
  const percent = (text: string) =>
    [...text].map((one) => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`).join('');
  const credentials = Buffer.from(`${percent(id)}:${percent(key)}`).toString('base64');
  const answer = await postForm(service, 'token', grant, { authorization: `basic  ${credentials}` });
  assert.equal(answer.status, 200, answer.text);
});

test('the token is a JWT of RFC 9068 for the account, signed with a published key', async () => {
  const account = await addServiceAccount(service);
  const token = await clientToken(service, account);
  const { header, claims } = readToken(token);
  assert.deepEqual([header.alg, header.typ], ['EdDSA', 'at+jwt']);
  const { iat, jti, ...rest } = claims as unknown as Record<string, unknown> & { iat: number };
  assert.deepEqual(rest, {
    iss: 'http://castellan.test',
    sub: account.id,
    aud: 'http://castellan.test',
    exp: iat + 600,
    client_id: account.id,
    type: 'access',
  });
  const { body } = await service.client().get('/.well-known/jwks.json');
  assert.ok(isSignedBy(token, body.keys));
  const [row] = await service.sql('select * from client_tokens where jti = $1', [jti]);
  assert.deepEqual(
    [row?.service_account_id, row?.api_key_id, row?.epoch, Number(row?.expires_at) / 1_000],
    [account.id, account.keyId, 0, iat + 600],
  );
});

test('a token may do what its key may do, on the narrowing of the key', async () => {
  const account = await addServiceAccount(service, {
    permissions: ['role.read', 'users.read', 'user.read'],
    narrowedTo: ['role.read'],
  });
  const token = await clientToken(service, account);
  await assertAccepted(token);
  const headers = { authorization: `Bearer ${token}` };
  assertRefused(await twin.client().get('/api/v1/users', { headers }), 403, 'permission_denied');
  await service.sql(
    `insert into api_key_permissions (api_key_id, permission_id) select $1, id from permissions where name = 'user.read'`,
    [account.keyId],
  );
  assert.equal((await twin.client().get('/api/v1/users', { headers })).status, 200);
});

test('a token ends with its key: revoked, or expired at the end of a rotation', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read'] });
  const other = await addApiKey(service, account.id);
  for (const end of ['revoked_at = now()', 'expires_at = now()']) {
    const key = await addApiKey(service, account.id);
    const token = await clientToken(service, { id: account.id, key: key.key });
    const kept = await clientToken(service, { id: account.id, key: other.key });
    await assertAccepted(token);
    await service.sql(`update api_keys set ${end} where id = $1`, [key.keyId]);
    await assertEnded(token);
    await assertAccepted(kept);
  }
});

test('a token ends with the deactivation of its account for good; keys work again after it', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read'] });
  const before = await clientToken(service, account);
  const other = await clientToken(service, await addServiceAccount(service, { permissions: ['role.read'] }));
  await service.sql('update service_accounts set is_active = false where id = $1', [account.id]);
  await assertEnded(before);
  await service.sql('update service_accounts set is_active = true where id = $1', [account.id]);
  await assertEnded(before);
  assert.equal((await getRoles(twin, account.key)).status, 200);
  await assertAccepted(await clientToken(twin, account));
  await assertAccepted(other);
});

test('a token ends with the deletion of its account', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read'] });
  const token = await clientToken(service, account);
  await service.sql('delete from service_accounts where id = $1', [account.id]);
  await assertEnded(token);
});

test('a token of a key that ends within ten minutes ends with it, and its answer says so', async () => {
  const account = await addServiceAccount(service, { expiresInSeconds: 90 });
  const answer = await postForm(service, 'token', grant, basicOf(account.id, account.key));
  assert.ok(answer.body.expires_in <= 90 && answer.body.expires_in > 0, answer.text);
  const { claims } = readToken(answer.body.access_token);
  assert.equal(claims.exp - claims.iat, answer.body.expires_in);
  const [{ ends } = {}] = await service.sql<{ ends: string }>(
    'select floor(extract(epoch from expires_at)) as ends from api_keys where id = $1',
    [account.keyId],
  );
  assert.equal(claims.exp, Number(ends));
});

test('every wrong client gets the same 401, whatever is wrong', async (t) => {
  const target = await fresh(t);
  const account = await addServiceAccount(target);
  const other = await addServiceAccount(target);
  const inactive = await addServiceAccount(target, { active: false });
  const revoked = await addApiKey(target, account.id, { revoked: true });
  const expired = await addApiKey(target, account.id, { expiresInSeconds: -1 });
  const wrong: [id: string, secret: string][] = [
    [randomUUID(), account.key],
    ['no-uuid', account.key],
    ['', account.key],
    [account.id, other.key],
    [account.id, `${account.key.slice(0, -1)}${account.key.endsWith('0') ? '1' : '0'}`],
    [account.id, 'x'],
    [account.id, revoked.key],
    [account.id, expired.key],
    [inactive.id, inactive.key],
  ];
  const answers = new Set<string>();
  for (const [id, secret] of wrong) {
    const basic = await postForm(target, 'token', grant, basicOf(id, secret));
    assert.match(basic.headers.get('www-authenticate') ?? '', /^Basic realm="/);
    const inForm = await postForm(target, 'token', { ...grant, client_id: id, client_secret: secret });
    for (const { status, text } of [basic, inForm]) {
      assert.equal(status, 401, `${id}:${secret}`);
      answers.add(text);
    }
  }
  for (const authorization of [
    'Basic',
    'Basic ===',
    'Basic YTpi',
    'Basic YWI=',
    'Basic /w==',
    'Bearer x',
    'Digest x',
  ]) {
    const answer = await postForm(target, 'token', grant, { authorization });
    assert.equal(answer.status, 401, authorization);
    answers.add(answer.text);
  }
  answers.add((await postForm(target, 'token', grant)).text);
  answers.add((await postForm(target, 'token', { ...grant, client_id: account.id })).text);
  assert.equal(answers.size, 1);
  const [text = ''] = answers;
  assert.equal(JSON.parse(text).error, 'invalid_client');
});

test('a client that authenticates twice is 400', async () => {
  const { id, key } = await addServiceAccount(service);
  const twice: Form[] = [
    { ...grant, client_id: id, client_secret: key },
    { ...grant, client_secret: key },
    { ...grant, client_id: randomUUID() },
  ];
  for (const form of twice) {
    const answer = await postForm(service, 'token', form, basicOf(id, key));
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_request'], answer.text);
  }
  const bearer = await postForm(service, 'token', twice[0] ?? '', { authorization: `Bearer ${key}` });
  assert.deepEqual([bearer.status, bearer.body.error], [400, 'invalid_request']);
});

test('another grant type, a missing one and a scope are refused', async () => {
  const { id, key } = await addServiceAccount(service);
  const cases: [form: Form, error: string][] = [
    [{}, 'invalid_request'],
    [{ grant_type: '' }, 'invalid_request'],
    [{ grant_type: 'authorization_code', code: 'x' }, 'unsupported_grant_type'],
    [{ grant_type: 'password', username: 'a', password: 'b' }, 'unsupported_grant_type'],
    [{ grant_type: 'Client_Credentials' }, 'unsupported_grant_type'],
    [{ ...grant, scope: 'role.read' }, 'invalid_scope'],
  ];
  for (const [form, error] of cases) {
    const answer = await postForm(service, 'token', form, basicOf(id, key));
    assert.deepEqual([answer.status, answer.body.error], [400, error], answer.text);
    assert.deepEqual(Object.keys(answer.body), ['error', 'error_description']);
  }
  const answer = await postForm(service, 'token', { ...grant, scope: '', audience: 'x' }, basicOf(id, key));
  assert.equal(answer.status, 200, 'an empty scope counts as none, and an unknown field is ignored');
});

test('30 wrong credentials of one network in a minute are 401, then 429; a key that was right there passes', async (t) => {
  const target = await fresh(t);
  const account = await addServiceAccount(target);
  const other = await addServiceAccount(target);
  await clientToken(target, account);
  const send = (secret: string) => postForm(target, 'token', grant, basicOf(account.id, secret));
  for (let wrong = 0; wrong < 30; wrong += 1) assert.equal((await send(`x${wrong}`)).status, 401);
  const [before] = await target.sql<{ count: string }>('select count(*) from client_tokens');
  const refused = await Promise.all([
    send('x'),
    send(other.key),
    postForm(target, 'token', grant, basicOf(other.id, other.key)),
  ]);
  for (const { status, body, headers } of refused) {
    assert.deepEqual([status, body.error], [429, 'rate_limited']);
    assert.match(headers.get('retry-after') ?? '', /^\d+$/);
  }
  assert.deepEqual(await target.sql('select count(*) from client_tokens'), [before]);
  await clientToken(target, account);
});

test('one account gets 600 tokens a minute and instance, then 429; others go on', async (t) => {
  const target = await fresh(t);
  const account = await addServiceAccount(target);
  const send = () => postForm(target, 'token', grant, basicOf(account.id, account.key));
  for (let sent = 0; sent < 600; sent += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, send));
    for (const { status, text } of answers) assert.equal(status, 200, text);
  }
  const over = await send();
  assert.deepEqual([over.status, over.body.error], [429, 'rate_limited']);
  assert.match(over.headers.get('retry-after') ?? '', /^\d+$/);
  assert.equal(over.headers.get('ratelimit-limit'), '600');
  await clientToken(target, await addServiceAccount(target));
  await clientToken(await target.another(), account);
  const [event] = await target.sql<{ actor_id: string; details: Record<string, unknown> }>(
    `select actor_id, details from audit_logs where action = 'rate_limited'`,
  );
  assert.deepEqual([event?.actor_id, event?.details.limit], [account.id, 'client_token']);
});

test('a new token is the use of its key, and an audit entry names the account and the key', async () => {
  const account = await addServiceAccount(service);
  await clientToken(service, account);
  await eventually(
    async () =>
      (
        await service.sql('select from api_keys where id = $1 and last_used_at is not null', [account.keyId])
      )[0],
    'the use of the key',
  );
  const [event] = await service.sql(
    `select actor_id, actor_type, actor_name, resource_type, resource_id, details->>'key_id' as key_id
     from audit_logs where action = 'client_token_issued' and actor_id = $1`,
    [account.id],
  );
  assert.deepEqual(event, {
    actor_id: account.id,
    actor_type: 'service_account',
    actor_name: account.name,
    resource_type: 'security_event',
    resource_id: account.id,
    key_id: account.keyId,
  });
});

test('the refusal of a client is an audit entry with the reason', async (t) => {
  const target = await fresh(t);
  const account = await addServiceAccount(target);
  const { key } = await addApiKey(target, account.id, { revoked: true });
  await postForm(target, 'token', grant, basicOf(account.id, key));
  const events = await target.sql(
    `select actor_id, details->>'reason' as reason from audit_logs where action = 'api_key_refused'`,
  );
  assert.deepEqual(events, [{ actor_id: null, reason: 'api_key_revoked' }]);
});

test('a token of a service account is no token of a person', async () => {
  const account = await addServiceAccount(service, { permissions: ['self.update_profile'] });
  const headers = { authorization: `Bearer ${await clientToken(service, account)}` };
  assertRefused(await service.client().get('/api/v1/users/me', { headers }), 403, 'user_required');
});

test('the clean-up removes tokens that have expired, and no others', async (t) => {
  const target = await startTestService(t, { CLEANUP_INTERVAL_MINUTES: '0.01' });
  const account = await addServiceAccount(target, { permissions: ['role.read'] });
  const live = await clientToken(target, account);
  await target.sql(
    `insert into client_tokens (service_account_id, token_hash, api_key_id, jti, key_id, epoch, issued_at, expires_at)
     select $1, sha256(n::text::bytea), $2, gen_random_uuid(), 'k', 0, now() - interval '1 hour', now() - interval '1 minute'
     from generate_series(1, 5000) n`,
    [account.id, account.keyId],
  );
  await eventually(async () => {
    const [{ left } = {}] = await target.sql<{ left: string }>('select count(*) as left from client_tokens');
    return left === '1' ? true : undefined;
  }, 'the removal of expired tokens');
  assert.equal((await getRoles(target, live)).status, 200);
});

test('revoking the signing key ends the tokens that it signed', async (t) => {
  const target = await fresh(t);
  const account = await addServiceAccount(target, { permissions: ['role.read'] });
  const token = await clientToken(target, account);
  await target.sql('insert into revoked_signing_keys (key_id) select key_id from signing_keys');
  const answer = await getRoles(target, token);
  assert.equal(answer.status, 401, answer.text);
});

test('the metadata names the endpoints below PUBLIC_URL, and each of them answers', async (t) => {
  const target = await startTestService(t, { PUBLIC_URL: 'https://id.example.com/' });
  const { status, headers, body } = await target.client().get('/.well-known/oauth-authorization-server');
  assert.equal(status, 200);
  assert.match(headers.get('content-type') ?? '', /^application\/json\b/);
  const urls = {
    pushed_authorization_request_endpoint: 'https://id.example.com/api/v1/oauth/par',
    device_authorization_endpoint: 'https://id.example.com/api/v1/oauth/device_authorization',
    token_endpoint: 'https://id.example.com/api/v1/oauth/token',
    introspection_endpoint: 'https://id.example.com/api/v1/oauth/introspect',
    revocation_endpoint: 'https://id.example.com/api/v1/oauth/revoke',
  };
  const withProof = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];
  const algorithms = ['ES256', 'EdDSA', 'RS256', 'PS256'];
  const expected = {
    ...urls,
    authorization_endpoint: 'https://id.example.com/api/v1/oauth/authorize',
    authorization_response_iss_parameter_supported: true,
    userinfo_endpoint: 'https://id.example.com/api/v1/oauth/userinfo',
    end_session_endpoint: 'https://id.example.com/api/v1/oauth/logout',
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    issuer: 'https://id.example.com',
    jwks_uri: 'https://id.example.com/.well-known/jwks.json',
    scopes_supported: ['openid', 'profile', 'email', 'offline_access', 'roles', 'groups', 'permissions'],
    claims_supported: [
      ...['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'acr', 'amr', 'at_hash', 'sid'],
      ...['name', 'given_name', 'family_name', 'preferred_username', 'locale', 'updated_at'],
      ...['email', 'email_verified', 'roles', 'groups', 'permissions'],
    ],
    acr_values_supported: ['aal1', 'aal2', 'phr'],
    grant_types_supported: [
      'authorization_code',
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:device_code',
      'client_credentials',
    ],
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    prompt_values_supported: ['none', 'login', 'consent', 'select_account', 'create'],
    subject_types_supported: ['public', 'pairwise'],
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    token_endpoint_auth_methods_supported: [...withProof, 'none'],
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint_auth_methods_supported: [...withProof, 'Bearer'],
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    revocation_endpoint_auth_methods_supported: ['none', ...withProof],
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    dpop_signing_alg_values_supported: algorithms,
    code_challenge_methods_supported: ['S256'],
    claims_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    require_pushed_authorization_requests: false,
    ui_locales_supported: ['en', 'de'],
  };
  const openid = await target.client().get('/.well-known/openid-configuration');
  assert.deepEqual(openid.body, { ...expected, jwks_uri: 'https://id.example.com/api/v1/oauth/jwks.json' });
  assert.equal(openid.headers.get('access-control-allow-origin'), '*');
  assert.equal(openid.headers.get('cache-control'), 'public, max-age=300');
  assert.deepEqual(body, expected);
  const token = await clientToken(target, await addServiceAccount(target));
  assert.equal(readToken(token).claims.iss, expected.issuer);
  for (const url of Object.values(urls)) {
    const answer = await target.client().request('POST', new URL(url).pathname, formRequest(''));
    assert.match(answer.body.error, /^invalid_(request|client)$/);
  }
  const keys = await target.client().get(new URL(expected.jwks_uri).pathname);
  assert.ok(isSignedBy(token, keys.body.keys));
});
