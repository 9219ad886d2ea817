// What is special about Google, Microsoft, GitHub and Apple, at stand-ins that answer as their documents say.
import assert from 'node:assert/strict';
import { generateKeyPairSync, verify } from 'node:crypto';
import { test } from 'node:test';
import type { Issuer } from '@castellan/testing/openid/issuer';
import { begin, failureOf, type Setting, STATE, setUp, signInAt } from './fixture.ts';

type Case = [said: Issuer['misbehaviour']['idToken'], expected: unknown];

/** Signs in once for each case, with changed claims in the ID token. */
async function compare(
  setting: Setting,
  cases: readonly Case[],
  read: () => Promise<unknown> = () => failureOf(signInAt(setting)),
) {
  for (const [idToken = {}, expected] of cases) {
    setting.issuer.misbehaviour = { idToken };
    assert.deepEqual(await read(), expected, JSON.stringify(idToken));
  }
}

test('Google: with domains, the organization of the account must be one of them, unless Google gave out the address', async (t) => {
  const setting = await setUp(t, { domains: ['example.com'] }, { kind: 'google' });
  const { issuer, subject, email, emailVerified } = await signInAt(setting);
  assert.deepEqual(
    [issuer, subject, email, emailVerified],
    ['https://accounts.google.com', setting.issuer.person.sub, 'ada@example.com', true],
  );
  await compare(setting, [
    [{ hd: 'EXAMPLE.com' }, 'passed'],
    [{ hd: undefined }, 'unacceptable hd_not_listed'],
    [{ hd: 'other.example' }, 'unacceptable hd_not_listed'],
    [{ hd: undefined, email: 'ada@gmail.com' }, 'passed'],
    [{ hd: undefined, email: 'ada@gmail.com.evil.example' }, 'unacceptable hd_not_listed'],
    [{ hd: undefined, email: undefined }, 'unacceptable hd_not_listed'],
  ]);
  setting.provider.domains = [];
  await compare(setting, [[{ hd: undefined }, 'passed']]);
});

test('Microsoft: the tenant must be listed, the issuer is that of the tenant, and the address needs xms_edov', async (t) => {
  const tenant = '3f1a5d2c-7a55-4f0e-9a39-0c7c5b6f2a11';
  const host = 'https://login.microsoftonline.com';
  const setting = await setUp(
    t,
    { issuer: `${host}/organizations/v2.0`, tenants: [tenant.toUpperCase()] },
    { kind: 'microsoft' },
  );
  const { issuer, subject, email, emailVerified } = await signInAt(setting);
  assert.deepEqual(
    [issuer, subject, email, emailVerified],
    [`${host}/${tenant}/v2.0`, `${tenant}:00000000-0000-0000-66f3-3332eca7ea81`, 'ada@example.com', true],
  );
  const other = '11111111-7a55-4f0e-9a39-0c7c5b6f2a11';
  await compare(setting, [
    [{ tid: other, iss: `${host}/${other}/v2.0` }, 'unacceptable tenant_not_listed'],
    [{ tid: tenant, iss: `${host}/${other}/v2.0` }, 'unacceptable OAUTH_JWT_CLAIM_COMPARISON_FAILED'],
    [{ tid: `${tenant}/../x`, iss: `${host}/${tenant}/../x/v2.0` }, 'unacceptable tenant_not_listed'],
    [{ tid: undefined }, 'unacceptable OAUTH_JWT_CLAIM_COMPARISON_FAILED'],
    [{ oid: undefined }, 'unacceptable no_subject'],
  ]);
  await compare(
    setting,
    [
      ...[true, 1, '1', 'true'].map((told): Case => [{ xms_edov: told }, true]),
      ...[undefined, false, 0, '0', 'false', 'yes'].map((told): Case => [{ xms_edov: told }, false]),
      [{ xms_edov: undefined, email_verified: true }, false],
    ],
    async () => (await signInAt(setting)).emailVerified,
  );
  // Too many groups: they are elsewhere, which is not the same as none.
  setting.issuer.misbehaviour = {
    idToken: { _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} }, groups: [] },
  };
  assert.equal('groups' in (await signInAt(setting)).claims, false);

  const single = await setUp(t, { issuer: `${host}/${tenant}/v2.0` }, { kind: 'microsoft' });
  single.issuer.misbehaviour = { metadata: { issuer: `${host}/${tenant}/v2.0` } };
  assert.equal((await signInAt(single)).issuer, `${host}/${tenant}/v2.0`);
  single.issuer.person = { ...single.issuer.person, tid: other };
  assert.equal(await failureOf(signInAt(single)), 'unacceptable OAUTH_JWT_CLAIM_COMPARISON_FAILED');
  const open = await setUp(t, { issuer: `${host}/common/v2.0` }, { kind: 'microsoft' });
  assert.equal(await failureOf(signInAt(open)), 'unacceptable tenant_not_listed');
});

test('Microsoft: userinfo does not make an address verified', async (t) => {
  const setting = await setUp(
    t,
    {
      issuer: 'https://login.microsoftonline.com/common/v2.0',
      tenants: ['3f1a5d2c-7a55-4f0e-9a39-0c7c5b6f2a11'],
    },
    { kind: 'microsoft', onlyInUserinfo: ['email'] },
  );
  setting.issuer.misbehaviour = { userinfo: { xms_edov: undefined } };
  const { email, emailVerified } = await signInAt(setting);
  assert.deepEqual([email, emailVerified], ['ada@example.com', false]);
});

test('GitHub: who somebody is comes from its API, and the address is primary and verified', async (t) => {
  const setting = await setUp(
    t,
    { issuer: 'https://github.com', scopes: ['read:user', 'user:email'] },
    { kind: 'github' },
  );
  const { issuer } = setting;
  const { url, nonce } = await begin(setting);
  const asked = new URL(url);
  assert.equal(asked.origin + asked.pathname, 'https://github.com/login/oauth/authorize');
  assert.deepEqual(
    [nonce, asked.searchParams.has('nonce'), asked.searchParams.get('code_challenge_method')],
    [null, false, 'S256'],
  );
  const { claims, ...assertion } = await signInAt(setting);
  assert.deepEqual(assertion, {
    issuer: 'https://github.com',
    subject: '583231',
    email: 'ada@example.com',
    emailVerified: true,
    emailIsRelay: false,
    firstName: 'Ada',
    lastName: 'Lovelace',
    displayName: 'Ada Lovelace',
    acr: null,
    amr: [],
    ageSeconds: null,
    sid: null,
    idToken: null,
  });
  assert.equal(claims.login, 'ada');
  // An application may ask for a recent sign-in. GitHub does not tell when it asked.
  assert.equal((await signInAt(setting, { maxAge: 60 })).ageSeconds, null);
  const token = issuer.asked.find(({ endpoint }) => endpoint === 'token');
  assert.deepEqual(
    [token?.headers.accept, token?.form.get('client_secret'), token?.form.get('code_verifier')?.length],
    ['application/json', issuer.client.secret, 43],
  );
  for (const [emails, expected] of [
    [[{ email: 'a@example.com', primary: true, verified: false }], null],
    [[{ email: 'a@example.com', primary: false, verified: true }], null],
    [[{ email: '583231+ada@users.noreply.github.com', primary: true, verified: true }], null],
    [[], null],
    [{}, null],
    [[{ email: 'b@example.com', primary: true, verified: true }], 'b@example.com'],
  ] as const) {
    issuer.misbehaviour = { userinfo: { emails } };
    const { email, emailVerified } = await signInAt(setting);
    assert.deepEqual([email, emailVerified], [expected, expected !== null], JSON.stringify(emails));
  }
  for (const [misbehaviour, expected] of [
    [{ userinfo: { id: '583231' } }, 'unacceptable no_subject'],
    [{ userinfo: { id: undefined } }, 'unacceptable no_subject'],
    // With status 200.
    [{ response: { code: 'guessed' } }, 'unacceptable bad_verification_code'],
    [{ response: { iss: undefined } }, 'passed'],
    [{ response: { iss: 'https://evil.example' } }, 'unacceptable OAUTH_INVALID_RESPONSE'],
    [{ response: { state: `${STATE}x` } }, 'unacceptable OAUTH_INVALID_RESPONSE'],
    [{ trouble: { emails: 'error' } }, 'unavailable status_503'],
    [{ trouble: { userinfo: 'dead' } }, 'unavailable ECONNRESET'],
  ] as const) {
    issuer.misbehaviour = misbehaviour;
    assert.equal(await failureOf(signInAt(setting)), expected, JSON.stringify(misbehaviour));
  }
});

test('Apple: a client secret is signed each time, names come with the form, and a relay address is marked', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const setting = await setUp(
    t,
    {
      scopes: ['openid', 'name', 'email'],
      team_id: 'A1B2C3D4E5',
      key_id: 'F6G7H8I9J0',
      secret_sealed: Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    },
    { kind: 'apple' },
  );
  const { issuer } = setting;
  assert.equal(new URL((await begin(setting)).url).searchParams.get('response_mode'), 'form_post');
  const said = await signInAt(setting);
  assert.deepEqual(
    [said.issuer, said.email, said.emailVerified, said.emailIsRelay, said.firstName, said.lastName],
    ['https://appleid.apple.com', issuer.person.email, true, true, 'Ada', 'Lovelace'],
  );
  assert.equal('user' in said.claims, false);
  await signInAt(setting);
  const secrets = issuer.asked.flatMap(({ endpoint, form }) =>
    endpoint === 'token' ? [form.get('client_secret') ?? ''] : [],
  );
  assert.equal(new Set(secrets).size, 2);
  const [first = ''] = secrets;
  const [header, payload, signature = ''] = first.split('.');
  const read = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString());
  assert.deepEqual(read(header), { alg: 'ES256', kid: 'F6G7H8I9J0' });
  const { iat, exp, jti: _jti, ...claims } = read(payload);
  assert.equal(exp - iat, 300);
  assert.deepEqual(claims, { iss: 'A1B2C3D4E5', sub: 'castellan', aud: 'https://appleid.apple.com' });
  const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
  const signed = Buffer.from(`${header}.${payload}`);
  assert.equal(verify('sha256', signed, key, Buffer.from(signature, 'base64url')), true);

  for (const [idToken, response, expected] of [
    [{ email: 'ada@example.com', is_private_email: undefined }, {}, [true, false, 'Ada']],
    [{ email: 'ada@example.com', is_private_email: 'true' }, {}, [true, true, 'Ada']],
    [{ email_verified: true }, { user: undefined }, [true, true, null]],
    [{ email_verified: 'false' }, { user: '{"name":' }, [false, true, null]],
    [{ email_verified: undefined }, { user: '{"name":{"firstName":7}}' }, [false, true, null]],
    [{}, { user: '{"name":{"firstName":"Eve"},"email":"admin@example.com"}' }, [true, true, 'Eve']],
  ] as const) {
    issuer.misbehaviour = { idToken, response };
    const { email, emailVerified, emailIsRelay, firstName } = await signInAt(setting);
    assert.deepEqual([emailVerified, emailIsRelay, firstName], expected, JSON.stringify([idToken, response]));
    assert.notEqual(email, 'admin@example.com');
  }
});

test('Castellan authenticates itself as the record says, and starts no sign-in without its secret', async (t) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const sent: [Setting['provider']['client_auth'], Buffer | null, string[]][] = [
    ['client_secret_basic', Buffer.from('a:b'), ['authorization']],
    ['client_secret_post', Buffer.from('a:b'), ['client_id', 'client_secret']],
    ['none', null, ['client_id']],
    ['private_key', pem, ['client_id', 'client_assertion_type', 'client_assertion']],
  ];
  const names = ['client_id', 'client_secret', 'client_assertion_type', 'client_assertion'];
  for (const [client_auth, secret_sealed, expected] of sent) {
    const setting = await setUp(t, { client_auth, secret_sealed });
    await signInAt(setting);
    const asked = setting.issuer.asked.find(({ endpoint }) => endpoint === 'token');
    const header = asked?.headers.authorization === undefined ? [] : ['authorization'];
    const form = names.filter((name) => asked?.form.has(name));
    assert.deepEqual([...header, ...form], expected, client_auth);
  }
  for (const [client_auth, secret_sealed, expected] of [
    ['client_secret_basic', null, 'unavailable secret_missing'],
    ['client_secret_basic', Buffer.alloc(0), 'unavailable secret_unreadable'],
    ['private_key', Buffer.from('no key'), 'unavailable key_unusable'],
  ] as const)
    assert.equal(await failureOf(begin(await setUp(t, { client_auth, secret_sealed }))), expected);
});

test('a person is asked again in the words of the kind', async (t) => {
  const cases: [Parameters<typeof setUp>[1], Parameters<typeof setUp>[2], string][] = [
    [{}, {}, 'login'],
    [{ extra_parameters: { prompt: 'consent' } }, {}, 'login'],
    [{ issuer: 'https://login.microsoftonline.com/common/v2.0' }, { kind: 'microsoft' }, 'login'],
    [{}, { kind: 'google' }, 'select_account'],
    [{ issuer: 'https://github.com' }, { kind: 'github' }, 'select_account'],
  ];
  for (const [record, options, expected] of cases) {
    const setting = await setUp(t, record, options);
    const promptOf = async (beginning: { asksAgain?: boolean }) =>
      new URL((await begin(setting, beginning)).url).searchParams.get('prompt');
    assert.equal(await promptOf({ asksAgain: true }), expected, setting.provider.kind);
    assert.equal(await promptOf({}), record?.extra_parameters?.prompt ?? null, setting.provider.kind);
  }
});
