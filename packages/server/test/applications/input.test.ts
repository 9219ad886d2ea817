// What an application may register: addresses with one meaning, keys that are public and strong, fields that go together.
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import { assertFieldRefused, makeApplication, newClientId, path, startWithAdmin } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after }, { PUBLIC_URL: 'https://id.example.com' });
const create = (fields: object) => {
  const client_id = newClientId();
  return admin.post(path, { client_id, name: `The ${client_id}`, ...fields });
};

const web = await makeApplication(admin);
const native = await makeApplication(admin, { type: 'native' });
const good = 'https://app.example.com/callback';

const wrongRedirects = [
  '',
  'app.example.com/callback',
  '//evil.example/cb',
  'https:app.example.com/cb',
  'https:///app.example.com/cb',
  'https://*.example.com/cb',
  'https://app.example.com/*',
  'https://app.example.com/cb#part',
  'https://user@app.example.com/cb',
  'https://app.example.com:pass@evil.example/cb',
  'https://app.example.com\\@evil.example/cb',
  'https://app.example.com/cb\u0007',
  'https://app.example.com/c b',
  'https://app.example.com/cb\n',
  'https://äpp.example.com/cb',
  'https://APP.example.com/cb',
  'https://app.example.com/a/../cb',
  'https://app.example.com/a/%2E%2e/cb',
  'https://app.example.com/./cb',
  'https://app.example.com/cb;jsessionid=1',
  'https://2130706433/cb',
  'http://lan.example/cb',
  'http://127.1/cb',
  'http://localhost.evil.example/cb',
  'javascript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'blob:https://app.example.com/x',
  'com.example.app:/callback',
  `https://app.example.com/${'x'.repeat(2_000)}`,
];
for (const field of ['redirect_uris', 'post_logout_redirect_uris'])
  test(`${field} with two meanings, or of nobody, are refused with their index`, async () => {
    for (const address of wrongRedirects) {
      const refused = await admin.put(`${path}/${web.id}`, { [field]: [good, address] });
      assertFieldRefused(refused, `${field}.1`);
      assert.match(refused.body.errors[0].message, /^must /, address);
    }
    const many = Array.from({ length: 51 }, (_, index) => `https://app.example.com/${index}`);
    assertFieldRefused(await admin.put(`${path}/${web.id}`, { [field]: many }), field);
    assert.deepEqual((await admin.get(`${path}/${web.id}`)).body.data[field], []);
  });

test('redirect addresses are kept character by character, each once', async () => {
  const addresses = [
    good,
    `${good}/`,
    'https://app.example.com:8443/cb?tenant=1',
    'https://app.example.com:443/cb',
    'http://localhost:3000/cb',
    'http://127.0.0.1/cb',
    'http://[::1]:9000/cb',
    'https://[2001:db8::1]/cb',
    'https://xn--pp-eka.example.com/%41/..x/a..b',
  ];
  const kept = await admin.put(`${path}/${web.id}`, { redirect_uris: [...addresses, good] });
  assert.deepEqual(kept.body.data?.redirect_uris, addresses, kept.text);
});

test('a native application may have schemes of its own, whose names have a dot', async () => {
  const addresses = ['com.example.app:/callback', 'com.example.app://callback', 'http://127.0.0.1/cb'];
  const kept = await admin.put(`${path}/${native.id}`, { redirect_uris: addresses });
  assert.deepEqual(kept.body.data?.redirect_uris, addresses, kept.text);
  for (const address of [
    'myapp:/cb',
    'javascript:alert(1)',
    'com.example.app:/a/../b',
    'com.example.app:/a;b',
    'com.example.app://user@host/cb',
    'COM.example.app:/cb',
  ])
    assertFieldRefused(
      await admin.put(`${path}/${native.id}`, { redirect_uris: [address] }),
      'redirect_uris.0',
    );
});

test('with PUBLIC_URL of http, redirect addresses may be of http, too', async () => {
  const plain = await service.another({ PUBLIC_URL: 'http://id.example.com' });
  const kept = await admin
    .at(plain.url)
    .put(`${path}/${web.id}`, { redirect_uris: ['http://lan.example/cb'] });
  assert.equal(kept.status, 200, kept.text);
});

test('pages and key sets are https addresses, and notices of sign-outs may go to private networks', async () => {
  for (const field of ['home_url', 'policy_url', 'terms_url', 'jwks_url', 'backchannel_logout_url']) {
    for (const address of [good, 'http://localhost:3000/x'])
      assert.equal((await admin.put(`${path}/${web.id}`, { [field]: address })).status, 200, field);
    for (const address of [
      'http://lan.example/x',
      'ftp://app.example.com/x',
      'https://u:p@a.example/',
      'x',
      '',
    ])
      assertFieldRefused(await admin.put(`${path}/${web.id}`, { [field]: address }), field);
    const near = await admin.put(`${path}/${web.id}`, { [field]: 'http://10.1.2.3:8080/logout' });
    assert.equal(near.status, field === 'backchannel_logout_url' ? 200 : 422, field);
    assert.equal((await admin.put(`${path}/${web.id}`, { [field]: null })).status, 200);
  }
  for (const address of ['http://11.1.2.3/x', 'http://169.254.169.254/latest', 'http://[fe80::1]/x'])
    assertFieldRefused(
      await admin.put(`${path}/${web.id}`, { backchannel_logout_url: address }),
      'backchannel_logout_url',
    );
});

test('origins have no path', async () => {
  const kept = await admin.put(`${path}/${web.id}`, {
    allowed_origins: ['https://app.example.com/', 'http://localhost:5173', 'https://app.example.com'],
  });
  assert.deepEqual(kept.body.data.allowed_origins, ['https://app.example.com', 'http://localhost:5173']);
  for (const origin of ['https://app.example.com/x', '*', 'null', 'https://*.example.com', 'app.example.com'])
    assertFieldRefused(
      await admin.put(`${path}/${web.id}`, { allowed_origins: [origin] }),
      'allowed_origins.0',
    );
});

/** `length` equal bytes in base64url. */
const text = (length: number, byte: number): string => Buffer.alloc(length, byte).toString('base64url');
const jwkOf = (key: { export(options: { format: 'jwk' }): object }) => key.export({ format: 'jwk' });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const weak = generateKeyPairSync('rsa', { modulusLength: 1_024 });

test('keys are public, strong and at most twenty; what is no part of a public key is dropped', async () => {
  const ed25519 = jwkOf(generateKeyPairSync('ed25519').publicKey);
  const keys = [
    { ...jwkOf(ec.publicKey), kid: 'one', use: 'sig', alg: 'ES256', x5c: ['x'] },
    jwkOf(rsa.publicKey),
    ed25519,
  ];
  const made = await makeApplication(admin, { auth_method: 'private_key_jwt', jwks: { keys } });
  const [first, ...others] = keys;
  const { x5c: _, ...bare } = first as (typeof keys)[0] & { x5c: string[] };
  assert.deepEqual(made.jwks, { keys: [bare, ...others] });
  assert.equal('client_secret' in made, false);
  const refused = async (key: object, field = 'jwks.keys.1') =>
    assertFieldRefused(
      await admin.put(`${path}/${made.id}`, { jwks: { keys: [jwkOf(ec.publicKey), key] } }),
      field,
    );
  for (const pair of [ec, rsa]) await refused(jwkOf(pair.privateKey));
  await refused({ kty: 'oct', k: 'c2VjcmV0' });
  await refused(jwkOf(weak.publicKey));
  await refused({ kty: 'EC', crv: 'P-256', x: 'AAAA', y: 'AAAA' });
  await refused({ kty: 'EC', crv: 'P-256', x: text(32, 1), y: text(32, 1) });
  for (const e of ['AQ', 'Ag', 'Aw', 'AQAA', 'AAEAAQ', 'AQAC', text(9, 255)])
    await refused({ ...jwkOf(rsa.publicKey), e });
  const { n } = jwkOf(rsa.publicKey) as { n: string };
  const bytes = Buffer.from(n, 'base64url');
  for (const wrong of [
    `${n}=`,
    n.replace(/.$/, (last) => (last === 'w' ? 'x' : 'R')), // bits behind the last byte
    n.slice(1),
    Buffer.concat([Buffer.alloc(1), bytes]).toString('base64url'),
    Buffer.concat([bytes.subarray(0, -1), Buffer.alloc(1, 2)]).toString('base64url'),
    text(1_025, 255),
    7,
  ])
    await refused({ ...jwkOf(rsa.publicKey), n: wrong });
  // Points of small order, and two spellings of one number.
  for (const point of [
    '00'.repeat(32),
    `01${'00'.repeat(31)}`,
    `01${'00'.repeat(30)}80`,
    `ec${'ff'.repeat(30)}7f`,
    `ed${'ff'.repeat(30)}7f`,
    'ff'.repeat(32),
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  ])
    await refused({ kty: 'OKP', crv: 'Ed25519', x: Buffer.from(point, 'hex').toString('base64url') });
  await refused({ kty: 'OKP', crv: 'X25519', x: text(32, 9) });
  await refused({ ...jwkOf(ec.publicKey), alg: 'RS256' }, 'jwks.keys.1.alg');
  await refused({ ...jwkOf(rsa.publicKey), alg: 'HS256' }, 'jwks.keys.1.alg');
  await refused({ ...ed25519, alg: 'ES256' }, 'jwks.keys.1.alg');
  for (const kid of ['', 'x'.repeat(251), 'a\u0007', 'ä', 7])
    await refused({ ...ed25519, kid }, 'jwks.keys.1.kid');
  const twice = {
    jwks: {
      keys: [
        { ...ed25519, kid: 'a' },
        { ...jwkOf(rsa.publicKey), kid: 'a' },
      ],
    },
  };
  assertFieldRefused(await admin.put(`${path}/${made.id}`, twice), 'jwks.keys.1.kid');
  await refused({ ...jwkOf(ec.publicKey), crv: 'secp256k1' });
  await refused({});
  await refused({ ...jwkOf(ec.publicKey), use: 'enc' }, 'jwks.keys.1.use');
  for (const keys of [[], Array.from({ length: 21 }, () => jwkOf(ec.publicKey))])
    assertRefused(await admin.put(`${path}/${made.id}`, { jwks: { keys } }), 422, 'validation_failed');
});

test('fields that contradict each other are refused', async () => {
  const jwks = { keys: [jwkOf(ec.publicKey)] };
  const jwks_url = 'https://app.example.com/jwks.json';
  assertFieldRefused(await create({ auth_method: 'private_key_jwt' }), 'jwks');
  assertFieldRefused(await create({ auth_method: 'private_key_jwt', jwks, jwks_url }), 'jwks_url');
  const made = await makeApplication(admin, { auth_method: 'private_key_jwt', jwks });
  assertFieldRefused(await admin.put(`${path}/${made.id}`, { jwks: null }), 'jwks');
  const moved = await admin.put(`${path}/${made.id}`, { jwks: null, jwks_url });
  assert.deepEqual([moved.body.data.jwks, moved.body.data.jwks_url], [null, jwks_url]);
  for (const type of ['spa', 'native', 'device'])
    assertFieldRefused(await create({ type, require_pkce: false }), 'require_pkce');
  assertFieldRefused(await create({ auth_method: 'none', require_pkce: false }), 'require_pkce');
  const open = await makeApplication(admin, { require_pkce: false });
  assertFieldRefused(await admin.put(`${path}/${open.id}`, { auth_method: 'none' }), 'require_pkce');
  assertFieldRefused(await create({ type: 'device', redirect_uris: [good] }), 'redirect_uris');
});

test('a pairwise subject has one host, which stays when the addresses change', async () => {
  const pairwise = { subject_type: 'pairwise' };
  assertFieldRefused(await create(pairwise), 'sector');
  const two = [good, 'https://other.example.com/cb'];
  assertFieldRefused(await create({ ...pairwise, redirect_uris: two }), 'sector');
  for (const sector of ['https://example.com', 'example.com:8443', 'EXAMPLE.com', 'a b', ''])
    assertFieldRefused(await create({ ...pairwise, redirect_uris: two, sector }), 'sector');
  const named = await makeApplication(admin, { ...pairwise, redirect_uris: two, sector: 'example.com' });
  assert.equal(named.sector, 'example.com');
  const made = await makeApplication(admin, { ...pairwise, redirect_uris: [good, `${good}2`] });
  assert.equal(made.sector, 'app.example.com');
  const moved = await admin.put(`${path}/${made.id}`, { redirect_uris: ['https://new.example.com/cb'] });
  assert.equal(moved.body.data.sector, 'app.example.com');
});

test('bad input is refused with the field', async () => {
  for (const client_id of [
    '',
    'a b',
    'ä',
    '-x',
    'x'.repeat(101),
    'x/y',
    'x\n',
    'castellan',
    'Castellan',
    randomUUID(),
    randomUUID().toUpperCase(),
  ])
    assertFieldRefused(await create({ client_id }), 'client_id');
  for (const [field, value] of [
    ['type', 'server'],
    ['auth_method', 'tls'],
    ['scopes', ['phone']],
    ['grant_types', ['password']],
    ['grant_types', ['client_credentials']],
    ['id_token_signing_alg', 'none'],
    ['id_token_signing_alg', 'EdDSA'],
    ['subject_type', 'email'],
    ['access_token_seconds', 59],
    ['access_token_seconds', 3_601],
    ['id_token_seconds', 86_401],
    ['refresh_idle_days', 91],
    ['grant_days', 0],
    ['grant_days', 1.5],
    ['default_max_age', -1],
    ['first_party', 'yes'],
    ['redirect_uris', 'https://app.example.com/cb'],
    ['name', ''],
    ['name', 'a\u0007'],
    ['name', randomUUID()],
  ] as const) {
    const refused = await create({ [field]: value });
    assertRefused(refused, 422, 'validation_failed');
    assert.match(refused.body.errors[0].field, new RegExp(`^${field}(?:\\.0)?$`), refused.text);
  }
  assertRefused(await create({ required_permission_id: 'users.read' }), 400, 'invalid_id');
  for (const body of [{}, { name: 'Only a name' }, { client_id: newClientId() }])
    assertRefused(await admin.post(path, body), 422, 'validation_failed');
});
