// Identity providers as records: what they take, who may write them, and what ends with a change. Nothing shows a secret.
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import type { Body } from '@castellan/testing/client';
import { eventually } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { portOf } from '@castellan/testing/ports';
import { addRole, isSignedIn, signedInWith, tally } from '@castellan/testing/users/people';
import pg from 'pg';
import { findProviderById } from '../../src/modules/identity-providers/store.ts';
import { newId } from '../../src/platform/ids.ts';
import { assertFieldRefused, makeApplication, startWithAdmin } from '../applications/fixture.ts';
import { noticesTo, takePart } from '../openid/notices/fixture.ts';
import { APPLE_KEY, addConnected, bodyOf, entriesOf, makeProvider, path, SECRET } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const { db, providerVault } = service.service.deps;
const role = await addRole(service, 'role.read');
const [system] = await service.sql<{ id: string }>('select id from roles where is_system limit 1');
const TENANT = '11111111-2222-4333-8444-555555555555';

const secretOf = async (id: string) => {
  const row = await findProviderById(db, id);
  return row && providerVault.openSecret(row);
};

test('a provider is created with defaults, read, listed, changed and deleted, each with its audit entry', async () => {
  const body = bodyOf({ slug: 'acme' });
  const created = await admin.post(path, body);
  assert.equal(created.status, 201, created.text);
  const { id, created_at, updated_at, created_by_id, position, ...fields } = created.body.data;
  assert.deepEqual(fields, {
    slug: 'acme',
    name: 'Acme',
    kind: 'oidc',
    issuer: 'https://id.example.com',
    has_secret: true,
    client_id: 'castellan',
    client_auth: 'client_secret_basic',
    team_id: null,
    key_id: null,
    scopes: ['openid', 'profile', 'email'],
    is_active: true,
    is_shown: true,
    sign_up: 'none',
    domains: [],
    required_for_domains: false,
    tenants: [],
    email_trust: 'none',
    connect: 'confirm',
    allow_superusers: false,
    role_ids: [],
    role_mapping: [],
    mapping: 'creation',
    sync_names: false,
    acr_mapping: {},
    logout: 'here',
    extra_parameters: {},
    redirect_uri: 'http://castellan.test/api/v1/auth/providers/acme/callback',
    post_logout_redirect_uri: 'http://castellan.test/api/v1/auth/providers/acme/signed-out',
    backchannel_logout_uri: 'http://castellan.test/api/v1/auth/providers/acme/backchannel-logout',
  });
  assert.equal(await secretOf(id), SECRET);
  const read = await admin.get(`${path}/${id}`);
  assert.deepEqual([read.body.data, read.headers.get('etag')], [created.body.data, '"1"']);
  assert.equal((await makeProvider(admin)).position, position + 1);
  assert.deepEqual((await admin.get(path)).body.data[0], created.body.data);
  const same = await admin.put(`${path}/${id}`, created.body.data);
  assert.equal(same.headers.get('etag'), '"1"', same.text);

  const change = {
    name: 'Acme GmbH',
    domains: ['Example.COM', 'münchen.example', 'example.com'],
    email_trust: 'domains',
    role_ids: [role.toUpperCase()],
    role_mapping: [{ claim: 'groups', equals: 'engineering', role_id: role }],
    acr_mapping: { phr: 'aal2' },
    extra_parameters: { prompt: 'select_account', hd: 'example.com' },
    client_secret: 'another one',
  };
  const changed = await admin.put(`${path}/${id}`, change, { headers: { 'if-match': '"1"' } });
  assert.deepEqual([changed.status, changed.headers.get('etag')], [200, '"2"'], changed.text);
  const { client_secret, ...shown } = change;
  const expected = { ...shown, domains: ['example.com', 'xn--mnchen-3ya.example'], role_ids: [role] };
  for (const [name, value] of Object.entries(expected))
    assert.deepEqual(changed.body.data[name], value, name);
  assert.equal(await secretOf(id), client_secret);
  assertRefused(
    await admin.put(`${path}/${id}`, change, { headers: { 'if-match': '"1"' } }),
    412,
    'precondition_failed',
  );
  assert.equal((await admin.delete(`${path}/${id}`)).status, 200);
  assertRefused(await admin.get(`${path}/${id}`), 404, 'identity_provider_not_found');
  const entries = await entriesOf(service, id);
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['identity_provider_created', 'identity_provider_updated', 'identity_provider_deleted'],
  );
  assert.equal(entries[1]?.details.secret_changed, true);
  assert.equal(entries[1]?.details.after.name, 'Acme GmbH');
});

test('a repetition with the same Idempotency-Key creates one provider', async () => {
  const headers = { 'idempotency-key': randomUUID() };
  const body = bodyOf();
  const first = await admin.post(path, body, { headers });
  assert.equal(first.status, 201, first.text);
  assert.deepEqual((await admin.post(path, body, { headers })).body.data, first.body.data);
});

test('each kind has its issuer, its authentication and its scopes', async () => {
  const google = await makeProvider(admin, { kind: 'google', issuer: undefined });
  assert.equal(google.issuer, 'https://accounts.google.com');
  const github = await makeProvider(admin, { kind: 'github', issuer: 'https://github.com' });
  assert.deepEqual([github.client_auth, github.scopes], ['client_secret_post', ['read:user', 'user:email']]);
  const key = { team_id: 'A1B2C3D4E5', key_id: 'F6G7H8I9J0', private_key: APPLE_KEY };
  const apple = { kind: 'apple', issuer: undefined, client_secret: undefined, ...key };
  const { id, client_auth, issuer, has_secret } = await makeProvider(admin, apple);
  assert.deepEqual([client_auth, issuer, has_secret], ['private_key', 'https://appleid.apple.com', true]);
  assert.equal(await secretOf(id), APPLE_KEY);
  const of = (tenant: string) => `https://login.microsoftonline.com/${tenant}/v2.0`;
  const one = await makeProvider(admin, { kind: 'microsoft', issuer: of(TENANT) });
  assert.deepEqual(one.tenants, [TENANT]);
  const many = { kind: 'microsoft', issuer: of('organizations'), tenants: [TENANT.toUpperCase()] };
  const shared = await makeProvider(admin, many);
  assert.deepEqual(shared.tenants, [TENANT]);
  const moved = await admin.put(`${path}/${shared.id}`, { issuer: of(newId()) });
  assert.notDeepEqual(moved.body.data.tenants, [TENANT], moved.text);

  for (const [field, wrong] of [
    ['issuer', { kind: 'google', issuer: 'https://id.example.com' }],
    ['issuer', { kind: 'microsoft', issuer: 'https://login.microsoftonline.com/common' }],
    ['issuer', { kind: 'microsoft', issuer: of('consumers') }],
    ['issuer', { kind: 'microsoft', issuer: `${of(TENANT)}/` }],
    ['issuer', { kind: 'microsoft', issuer: undefined }],
    ['issuer', { issuer: undefined }],
    // As plain OpenID Connect, anybody's Google account could have any address.
    ['issuer', { issuer: 'https://accounts.google.com' }],
    ['issuer', { issuer: 'https://ACCOUNTS.google.com:443/' }],
    ['issuer', { issuer: of(TENANT) }],
    ['issuer', { issuer: 'https://appleid.apple.com' }],
    ['tenants', { kind: 'microsoft', issuer: of('common') }],
    ['tenants.0', { kind: 'microsoft', issuer: of('common'), tenants: ['acme'] }],
    ['tenants', { kind: 'microsoft', issuer: of(TENANT), tenants: [newId()] }],
    ['tenants', { tenants: [TENANT] }],
    ['client_auth', { ...apple, client_auth: 'client_secret_post' }],
    ['client_auth', { client_auth: 'private_key' }],
    ['client_auth', { kind: 'google', issuer: undefined, client_secret: undefined, client_auth: 'none' }],
    ['client_secret', { ...apple, client_secret: SECRET }],
    ['private_key', { private_key: APPLE_KEY }],
    ['private_key', { ...apple, private_key: undefined }],
    ['team_id', { ...apple, team_id: undefined }],
    ['key_id', { ...apple, key_id: null }],
    ['team_id', { team_id: 'A1B2C3D4E5' }],
    ['scopes', { scopes: ['profile'] }],
    ['client_secret', { client_secret: undefined }],
    ['client_secret', { client_auth: 'none' }],
  ] as const)
    assertFieldRefused(await admin.post(path, bodyOf(wrong)), field);
});

test('a private key is a P-256 key in PKCS #8, and no refusal repeats it', async () => {
  const pem = (format: 'pkcs8' | 'sec1', curve = 'P-256') =>
    String(
      generateKeyPairSync('ec', { namedCurve: curve }).privateKey.export({ format: 'pem', type: format }),
    );
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const apple = {
    kind: 'apple',
    issuer: undefined,
    client_secret: undefined,
    team_id: 'A1B2C3D4E5',
    key_id: 'F6G7H8I9J0',
  };
  for (const private_key of [
    'x',
    pem('sec1'),
    pem('pkcs8', 'P-384'),
    String(rsa.export({ format: 'pem', type: 'pkcs8' })),
    APPLE_KEY.replace('M', '!'),
  ]) {
    const refused = await admin.post(path, bodyOf({ ...apple, private_key }));
    assertFieldRefused(refused, 'private_key');
    assert.ok(!refused.text.includes(private_key.slice(40, 80)) || private_key === 'x', refused.text);
  }
});

test('bad input is refused, with the field that is wrong', async () => {
  const long = 'x'.repeat(101);
  for (const [field, wrong] of [
    ['slug', { slug: 'Acme' }],
    ['slug', { slug: '' }],
    ['slug', { slug: 'a_b' }],
    ['slug', { slug: 'x'.repeat(41) }],
    ['slug', { slug: TENANT }],
    ['name', { name: long }],
    ['name', { name: '<b>Acme</b>' }],
    ['kind', { kind: 'saml' }],
    ['issuer', { issuer: 'http://id.example.com' }],
    ['issuer', { issuer: 'http://10.0.0.1' }],
    ['issuer', { issuer: 'https://id.example.com?x=1' }],
    ['issuer', { issuer: 'https://id.example.com/?' }],
    ['issuer', { issuer: 'https://id.example.com/#x' }],
    ['issuer', { issuer: 'https://ada@id.example.com' }],
    ['issuer', { issuer: 'https://id.example.com/a/../b' }],
    ['issuer', { issuer: 'https://id.example.com/ä' }],
    ['issuer', { issuer: 'id.example.com' }],
    ['issuer', { issuer: 'javascript:alert(1)' }],
    ['issuer', { issuer: 'https://' }],
    ['client_id', { client_id: 'a b' }],
    ['client_secret', { client_secret: 'a\nb' }],
    ['scopes.1', { scopes: ['openid', 'a b'] }],
    ['domains.0', { domains: ['*.example.com'] }],
    ['domains.0', { domains: ['@example.com'] }],
    ['domains.1', { domains: ['example.com', 'localhost'] }],
    ['email_trust', { email_trust: 'domains' }],
    ['sign_up', { sign_up: 'domains' }],
    ['required_for_domains', { required_for_domains: true }],
    ['role_ids.0', { role_ids: [system?.id] }],
    ['role_mapping.1.role_id', mappingTo(role, system?.id)],
    ['extra_parameters.Redirect_URI', { extra_parameters: { Redirect_URI: 'https://evil.example' } }],
    ['extra_parameters.code_challenge_method', { extra_parameters: { code_challenge_method: 'plain' } }],
    ['extra_parameters.hd', { extra_parameters: { hd: 'a\r\nb' } }],
    ['extra_parameters', { extra_parameters: { 'a&b': 'c' } }],
  ] as const)
    assertFieldRefused(await admin.post(path, bodyOf(wrong)), field);
  for (const name of 'client_id response_type response_mode scope STATE nonce request request_uri max_age acr_values id_token_hint client_secret code grant_type code_challenge'.split(
    ' ',
  ))
    assertFieldRefused(
      await admin.post(path, bodyOf({ extra_parameters: { [name]: 'x' } })),
      `extra_parameters.${name}`,
    );
  assertRefused(await admin.post(path, bodyOf(mappingTo(newId()))), 404, 'role_not_found');
  await makeProvider(admin, { slug: 'taken' });
  assertRefused(await admin.post(path, bodyOf({ slug: 'taken' })), 409, 'name_taken');
  const { id } = await makeProvider(admin, { issuer: 'http://127.0.0.1:4000/oidc' });
  for (const fixed of [{ slug: 'another' }, { kind: 'google' }])
    assertRefused(await admin.put(`${path}/${id}`, fixed), 400, 'field_not_allowed');
  assert.deepEqual((await admin.get(`${path}/${id}`)).headers.get('etag'), '"1"');
});

const mappingTo = (...ids: (string | undefined)[]) => ({
  role_mapping: ids.map((role_id) => ({ claim: 'groups', equals: 'admins', role_id })),
});

test('a public client has no secret, and gets rid of the one that it had', async () => {
  const { id } = await makeProvider(admin);
  const changed = await admin.put(`${path}/${id}`, { client_auth: 'none' });
  assert.equal(changed.body.data.has_secret, false, changed.text);
  assertFieldRefused(
    await admin.put(`${path}/${id}`, { client_auth: 'client_secret_post' }),
    'client_secret',
  );
  const back = { client_auth: 'client_secret_post', client_secret: SECRET };
  assert.equal((await admin.put(`${path}/${id}`, back)).body.data.has_secret, true);
  assertFieldRefused(await admin.put(`${path}/${id}`, { client_secret: null }), 'client_secret');
});

test('a superuser writes; identity_provider.update alone switches off, and identity_provider.read alone reads', async () => {
  const { id, ...record } = await makeProvider(admin);
  const one = `${path}/${id}`;
  const { client } = await signedInWith(service, 'identity_provider.update', 'identity_provider.read');
  for (const refused of [
    await client.post(path, bodyOf()),
    await client.put(one, { name: 'Mine' }),
    await client.put(one, {}),
    await client.put(one, { is_active: false, name: 'Mine' }),
    await client.put(one, { is_active: false, client_secret: 'x' }),
    await client.put(one, { is_active: false, issuer: 'https://evil.example' }),
    await client.delete(one),
    await client.delete(`${one}?force=true`),
  ])
    assertRefused(refused, 403, 'superuser_required');
  const off = await client.put(one, { id, ...record, is_active: false });
  assert.equal(off.body.data.is_active, false, off.text);
  assert.equal((await client.put(one, { is_active: false })).status, 200);
  assertRefused(await client.put(one, { is_active: true }), 403, 'superuser_required');

  const reader = (await signedInWith(service, 'identity_provider.read')).client;
  assert.equal((await reader.get(path)).status, 200);
  assertRefused(await reader.put(one, { is_active: false }), 403, 'permission_denied');
  const other = (await signedInWith(service, 'identity_provider.update')).client;
  assertRefused(await other.get(one), 403, 'permission_denied');
});

test('one provider at most requires a domain, also when two ask at once', async () => {
  const fields = { required_for_domains: true, domains: ['one.example', 'two.example'] };
  const providers = await Promise.all([1, 2, 3].map(() => makeProvider(admin)));
  const answers = await Promise.all(providers.map(({ id }) => admin.put(`${path}/${id}`, fields)));
  assert.deepEqual(tally(answers), { 200: 1, 422: 2 });
  const refused = answers.find(({ status }) => status === 422);
  assert.ok(refused);
  assertFieldRefused(refused, 'domains.0');
  const trusting = { domains: ['one.example'], email_trust: 'domains' };
  assert.equal((await admin.post(path, bodyOf(trusting))).status, 201);
  const late = bodyOf({ required_for_domains: true, domains: ['three.example', 'two.example'] });
  assertFieldRefused(await admin.post(path, late), 'domains.1');
});

/** Returns the details of an audit entry without what is of every change. */
function endsIn(entry: Body | undefined): Body {
  const { before, after, address, request_id, ...ends } = entry?.details ?? {};
  return ends;
}

test('another issuer disconnects everybody, ends the sessions that began there, and needs the secret anew', async () => {
  const provider = await makeProvider(admin);
  const one = `${path}/${provider.id}`;
  const who = await addConnected(service, provider);
  const issuer = 'https://other.example.com';
  assertFieldRefused(await admin.put(one, { issuer }), 'client_secret');
  const body = { issuer, client_secret: 'new' };
  const preview = await admin.put(`${one}?dry_run=true`, body);
  assert.deepEqual(preview.body.data, {
    dry_run: true,
    would_be_refused: null,
    impact: { identities: 1, sessions: 1, left_without: 0 },
  });
  assert.ok(await isSignedIn(who.client));
  assert.equal((await admin.put(one, body)).status, 200);
  assert.ok(!(await isSignedIn(who.client)));
  assert.deepEqual(await service.sql('select from identities where provider_id = $1', [provider.id]), []);
  const [, entry] = await entriesOf(service, provider.id);
  assert.deepEqual(endsIn(entry), { secret_changed: true, identities: 1, sessions: 1 });
});

test('sessions outlive a provider that is switched off, unless it is asked that they end, and applications are told', async () => {
  const provider = await makeProvider(admin);
  const one = `${path}/${provider.id}`;
  const who = await addConnected(service, provider, { withPassword: false });
  const bystander = await addConnected(service, await makeProvider(admin));
  const preview = await admin.put(`${one}?dry_run=true`, { is_active: false });
  assert.deepEqual(preview.body.data.impact, { identities: 1, sessions: 1, left_without: 1 });
  assert.deepEqual((await admin.put(`${one}?dry_run=true`, { name: 'x' })).body.data.impact, {
    identities: 0,
    sessions: 0,
    left_without: 0,
  });
  assert.equal((await admin.put(one, { is_active: false })).status, 200);
  assert.ok(await isSignedIn(who.client));
  const application = await makeApplication(admin, { backchannel_logout_url: 'https://app.example.com/out' });
  const [session] = await service.sql<{ id: string }>('select id from sessions where user_id = $1', [
    who.person.id,
  ]);
  await takePart(service, application, { ...who, sessionId: session?.id ?? '' });
  const { client } = await signedInWith(service, 'identity_provider.update');
  assert.equal((await client.put(`${one}?end_sessions=true`, { is_active: false })).status, 200);
  assert.ok(!(await isSignedIn(who.client)));
  assert.ok(await isSignedIn(bystander.client));
  assert.equal((await noticesTo(service, application)).length, 1);
  const last = (await entriesOf(service, provider.id)).at(-1);
  assert.deepEqual(endsIn(last), { identities: 0, sessions: 1 });
});

test('a session that takes the place of one that began there ends with it, also if both happen at once', async () => {
  const provider = await makeProvider(admin);
  const { client, person } = await addConnected(service, provider);
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  const waiting = (count: number) =>
    eventually(async () => {
      const rows = await service.sql(
        "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rows.length >= count || undefined;
    }, `${count} statements that wait`);
  try {
    await holder.query('begin');
    // The change of the password waits here, with the session that it is made in locked.
    await holder.query('lock table last_logins in exclusive mode');
    const passwords = { current_password: person.password, new_password: 'Another#Quartz83Lime' };
    const changing = client.post('/api/v1/auth/change_password', passwords);
    await waiting(1);
    const ending = admin.put(`${path}/${provider.id}?end_sessions=true`, { is_active: false });
    await waiting(2);
    await holder.query('commit');
    const [changed, ended] = await Promise.all([changing, ending]);
    assert.deepEqual([changed.status, ended.status], [200, 200], changed.text + ended.text);
    const bearer = { authorization: `Bearer ${changed.body.data.access_token}` };
    assertRefused(await client.get('/api/v1/users/me', { headers: bearer }), 401, 'token_revoked');
  } finally {
    await holder.end();
  }
});

test('a provider with identities is deleted by force only, with the sessions that began there', async () => {
  const provider = await makeProvider(admin);
  const one = `${path}/${provider.id}`;
  const who = await addConnected(service, provider);
  const other = await makeProvider(admin);
  await addConnected(service, other, { person: who.person, withPassword: false });
  assertRefused(await admin.delete(one), 409, 'provider_in_use');
  const refused = await admin.delete(`${one}?dry_run=true`);
  assert.equal(refused.body.data.would_be_refused.code, 'provider_in_use');
  const preview = await admin.delete(`${one}?dry_run=true&force=true`);
  assert.deepEqual(preview.body.data.impact, { identities: 1, sessions: 1, left_without: 0 });
  await admin.put(`${path}/${other.id}`, { is_active: false });
  const alone = await admin.delete(`${one}?dry_run=true&force=true`);
  assert.equal(alone.body.data.impact.left_without, 1);
  assert.equal((await admin.delete(`${one}?force=true`)).status, 200);
  assert.ok(!(await isSignedIn(who.client)));
  const last = (await entriesOf(service, provider.id)).at(-1);
  assert.deepEqual(endsIn(last), { identities: 1, sessions: 1 });
});

test('of two changes of one version one counts, and a deletion leaves no identity that is connected at the same time', async () => {
  const { id } = await makeProvider(admin);
  const headers = { 'if-match': '"1"' };
  const names = ['One', 'Two'].map((name) => admin.put(`${path}/${id}`, { name }, { headers }));
  assert.deepEqual(tally(await Promise.all(names)), { 200: 1, 412: 1 });

  for (const round of [1, 2, 3, 4]) {
    const provider = await makeProvider(admin);
    const [{ person }] = [await signedInWith(service)];
    const connecting = service
      .sql(
        `insert into identities (id, user_id, provider_id, issuer, subject) values ($1, $2, $3, 'https://id.example.com', '1')`,
        [newId(), person.id, provider.id],
      )
      .then(
        () => true,
        () => false,
      );
    const [deleted, connected] = await Promise.all([admin.delete(`${path}/${provider.id}`), connecting]);
    assert.deepEqual(
      [deleted.status, connected],
      connected ? [409, true] : [200, false],
      `round ${round}: ${deleted.text}`,
    );
  }
});

test('no response, audit entry or export shows a secret', async () => {
  const secret = `very-${randomUUID()}`;
  const made = await admin.post(path, bodyOf({ client_secret: secret }));
  const one = `${path}/${made.body.data.id}`;
  const answers = [
    made,
    await admin.get(one),
    await admin.get(`${path}?size=100`),
    await admin.put(one, { client_secret: `${secret}2` }),
    await admin.post(path, bodyOf({ slug: made.body.data.slug, client_secret: secret })),
    await admin.get('/api/v1/audit-logs?size=100'),
    await admin.get('/api/v1/audit-logs/export'),
    await admin.delete(one),
  ];
  for (const { text } of answers) assert.ok(!text.includes(secret), text.slice(0, 500));
  const kept = await service.sql<{ found: boolean }>(
    `select exists (select from audit_logs a where a::text like $1)
       or exists (select from idempotency_keys k where k::text like $1) as found`,
    [`%${secret}%`],
  );
  assert.equal(kept[0]?.found, false);
});

test('a provider is tested by superusers: what it publishes now, in sentences', async () => {
  const upstream = createServer((request, response) => {
    const issuer = `http://127.0.0.1:${portOf(upstream)}`;
    const document = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
    };
    const body = request.url === '/jwks' ? { keys: [{ kty: 'RSA', n: 'x', e: 'AQAB' }] } : document;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { id } = await makeProvider(admin, { issuer: `http://127.0.0.1:${portOf(upstream)}` });
  const address = `${path}/${id}/test`;
  const good = await admin.post(address, {});
  assert.deepEqual([good.status, good.body.data.ok], [200, true], good.text);
  upstream.close();
  upstream.closeAllConnections();
  const gone = await admin.post(address, {});
  assert.deepEqual([gone.status, gone.body.data.ok, gone.body.data.issuer], [200, false, null], gone.text);
  const { client } = await signedInWith(service, 'identity_provider.update');
  assertRefused(await client.post(address, {}), 403, 'superuser_required');
  assertRefused(await admin.post(`${path}/${newId()}/test`, {}), 404, 'identity_provider_not_found');
});

test('more accounts than one statement ends are all disconnected, and their sessions end', async () => {
  const provider = await makeProvider(admin);
  const first = await addConnected(service, provider);
  await service.sql(
    `with made as (
       insert into users (id, email, first_name, last_name, password_hash, verified, is_active)
       select gen_random_uuid(), 'many-' || n || '@example.com', 'Ada', 'Lovelace', null, true, true
       from generate_series(1, 5000) n returning id)
     insert into identities (id, user_id, provider_id, issuer, subject)
     select gen_random_uuid(), id, $1, 'https://id.example.com', id::text from made`,
    [provider.id],
  );
  const last = await addConnected(service, provider);
  await service.sql(`update identities set id = 'ffffffff-ffff-4fff-bfff-ffffffffffff' where id = $1`, [
    last.identityId,
  ]);
  await service.sql(
    `update sessions set identity_id = 'ffffffff-ffff-4fff-bfff-ffffffffffff' where identity_id = $1`,
    [last.identityId],
  );
  const one = `${path}/${provider.id}`;
  const preview = await admin.delete(`${one}?force=true&dry_run=true`);
  assert.deepEqual(preview.body.data.impact, { identities: 5_002, sessions: 2, left_without: 5_000 });
  assert.equal((await admin.delete(`${one}?force=true`)).status, 200);
  for (const { client } of [first, last]) assert.ok(!(await isSignedIn(client)));
  const entry = (await entriesOf(service, provider.id)).at(-1);
  assert.deepEqual(endsIn(entry), { identities: 5_002, sessions: 2 });
});
