// When a browser gets the cookie of its session, with which attributes, and when it loses it.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Answer, createClient, type TestClient } from '@castellan/testing/client';
import { eventually, signIn, type TestService } from '@castellan/testing/harness';
import {
  addPasskeyUser,
  age,
  PASSKEY_URL,
  passkeySignIn,
  passkeyStepUp,
} from '@castellan/testing/passkeys/own';
import {
  beginSignIn,
  codeOf,
  completeSignIn,
  enrol,
  forgetStep,
} from '@castellan/testing/second-factors/app';
import { type Account, addUser } from '@castellan/testing/sessions/accounts';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { statementsOf } from '@castellan/testing/statements';
import { path as applications, makeApplication, startWithAdmin } from '../../applications/fixture.ts';
import { atOnce } from '../at-once.ts';
import { setCookieOf } from '../set-cookie.ts';
import { findBy, isLive, reload, SSO, ssoOf, startWithApplication } from './fixture.ts';

const { service } = await startWithApplication({ after });
const NEW_ACCESS_TOKEN = '/api/v1/auth/new_access_token';
const STEP_UP = '/api/v1/auth/step-up';
const NEW_PASSWORD = 'ReplacementPassword!42';

const namesOf = (answer: Answer): string[] =>
  answer.headers.getSetCookie().map((line) => line.slice(0, line.indexOf('=')));

const sidOf = (client: TestClient): string => readToken(client.accessToken ?? '').claims.sid;

async function assertFinds(on: TestService, client: TestClient, user: Account): Promise<void> {
  const { session } = await findBy(on, ssoOf(client));
  assert.deepEqual([session?.user_id, session?.session_id], [user.id, sidOf(client)]);
}

test('a sign-in sets it after the refresh cookie, for the whole site and as long', async () => {
  const user = await addUser(service);
  const client = service.client();
  const answer = await client.login(user);
  assert.deepEqual(namesOf(answer), ['refresh_token', SSO]);
  const { value, attributes } = setCookieOf(answer, SSO) ?? { value: '', attributes: {} };
  assert.match(value, /^[\w-]{64}$/);
  assert.equal(Buffer.from(value, 'base64url').toString('hex', 0, 16), user.id.replaceAll('-', ''));
  assert.deepEqual(attributes, {
    'max-age': setCookieOf(answer, 'refresh_token')?.attributes['max-age'],
    path: '/',
    httponly: '',
    secure: '',
    samesite: 'Lax',
  });
  await assertFinds(service, client, user);
});

test('the value is in no answer, and only its hash is stored', async () => {
  const user = await addUser(service);
  const answer = await service.client().login(user);
  const value = setCookieOf(answer, SSO)?.value ?? '';
  assert.ok(!answer.text.includes(value));
  const rows = await service.sql(
    "select from session_tokens where user_id = $1 and kind = 'browser' and token_hash = sha256($2)",
    [user.id, value],
  );
  assert.equal(rows.length, 1);
});

for (const [name, environment, secure] of [
  ['__Host-castellan_sso', { PUBLIC_URL: 'https://accounts.example.com' }, true],
  ['__Host-castellan_sso', { PUBLIC_URL: 'https://accounts.example.com/auth' }, true],
  ['__Host-x_castellan_sso', { PUBLIC_URL: 'https://accounts.example.com', COOKIE_PREFIX: 'x_' }, true],
  ['__Host-x_castellan_sso', { PUBLIC_URL: 'https://a.example.com', COOKIE_PREFIX: '__Secure-x_' }, true],
  ['__Host-x_castellan_sso', { PUBLIC_URL: 'https://a.example.com', COOKIE_PREFIX: '__host-x_' }, true],
  ['castellan_sso', { PUBLIC_URL: 'https://accounts.example.com', COOKIE_SECURE: 'false' }, false],
  ['castellan_sso', { PUBLIC_URL: 'http://localhost/auth', COOKIE_SECURE: 'false' }, false],
  ['x_castellan_sso', { PUBLIC_URL: 'http://localhost', COOKIE_PREFIX: 'x_', COOKIE_SECURE: 'false' }, false],
] as const)
  test(`it is ${name} with ${JSON.stringify(environment)}`, async (t) => {
    const own = await service.another(environment);
    t.after(() => own.stop());
    await reload(own);
    const base =
      'PUBLIC_URL' in environment ? new URL(environment.PUBLIC_URL).pathname.replace(/\/$/, '') : '';
    const client = createClient(`${own.url}${base}`);
    const user = await addUser(service);
    const answer = await client.login(user);
    const attributes = setCookieOf(answer, name)?.attributes;
    assert.deepEqual(
      [attributes?.path, attributes?.secure, attributes?.samesite],
      ['/', secure ? '' : undefined, 'Lax'],
      answer.headers.getSetCookie().join(),
    );
    const out = await client.post('/api/v1/auth/logout');
    const cleared = setCookieOf(out, name)?.attributes;
    assert.deepEqual([cleared?.path, cleared?.secure], ['/', secure ? '' : undefined]);
    assert.equal(client.cookies.has(name), false);
  });

/** Each renews or begins a session; returns its answer. */
const renewals: [string, (client: TestClient, user: Account) => Promise<Answer>][] = [
  [
    'a changed password',
    (client, { password }) =>
      client.post('/api/v1/auth/change_password', {
        current_password: password,
        new_password: NEW_PASSWORD,
      }),
  ],
  ['a step-up', (client, { password }) => client.post(STEP_UP, { password })],
  ['another sign-in', (client, user) => client.login(user)],
];
for (const [what, renew] of renewals)
  test(`${what} replaces it`, async () => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    const before = ssoOf(client);
    const answer = await renew(client, user);
    assert.equal(answer.status, 200, answer.text);
    client.accessToken = answer.body.data.access_token;
    assert.deepEqual(namesOf(answer), ['refresh_token', SSO]);
    assert.notEqual(ssoOf(client), before);
    await assertFinds(service, client, user);
    assert.equal(await isLive(service, before), false);
  });

test('a second step, the set-up of a factor and its removal set it', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const first = ssoOf(client);
  const { secret } = await enrol(client);
  const second = ssoOf(client);
  assert.equal(await isLive(service, first), false);
  await assertFinds(service, client, user);
  await forgetStep(service, user);
  const other = service.client();
  const token = await beginSignIn(other, user);
  assert.equal(other.cookies.has(SSO), false, 'the password alone is not enough');
  const answer = await completeSignIn(other, token, { totp: codeOf(secret) });
  other.accessToken = answer.body.data.access_token;
  await assertFinds(service, other, user);
  assert.equal(await isLive(service, second), true);
  const removed = await other.delete('/api/v1/auth/factors/totp');
  assert.equal(removed.status, 200, removed.text);
  other.accessToken = removed.body.data.access_token;
  await assertFinds(service, other, user);
  assert.equal(await isLive(service, second), false);
});

test('a passkey that signs in or steps up sets it', async (t) => {
  const { service: own } = await startWithApplication(t, { PUBLIC_URL: PASSKEY_URL, COOKIE_SECURE: 'false' });
  const user = await addPasskeyUser(own);
  const client = own.client();
  const answer = await passkeySignIn(client, user.authenticator);
  assert.equal(answer.status, 200, answer.text);
  client.accessToken = answer.body.data.access_token;
  await assertFinds(own, client, user);
  const before = ssoOf(client);
  await age(own, user);
  const stepped = await passkeyStepUp(client, user.authenticator);
  assert.equal(stepped.status, 200, stepped.text);
  assert.equal(await isLive(own, before), false);
  await assertFinds(own, client, user);
});

test('new_access_token by the cookie sets it where it is missing, and not where it is there', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  assert.deepEqual(namesOf(await client.post(NEW_ACCESS_TOKEN)), []);
  client.cookies.delete(SSO);
  assert.deepEqual(namesOf(await client.post(NEW_ACCESS_TOKEN)), [SSO]);
  await assertFinds(service, client, user);
  assert.deepEqual(namesOf(await client.post(NEW_ACCESS_TOKEN)), []);
});

test('new_access_token replaces one that is dead, of another session, or of another person', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const otherSession = ssoOf(await signIn(service, user));
  const otherPerson = ssoOf(await signIn(service, await addUser(service)));
  const dead = ssoOf(client);
  await service.sql(
    "update session_tokens set expires_at = now() where kind = 'browser' and session_id = $1",
    [sidOf(client)],
  );
  for (const [value, stays] of [
    [dead, false],
    [otherSession, false],
    [otherPerson, true],
    ['x', false],
  ] as const) {
    client.cookies.set(SSO, value);
    assert.deepEqual(namesOf(await client.post(NEW_ACCESS_TOKEN)), [SSO], value);
    await assertFinds(service, client, user);
    assert.equal(await isLive(service, value), stays, value);
  }
});

test('new_access_token by the body, and refresh, set none', async () => {
  const client = await signIn(service, await addUser(service));
  const refresh_token = client.refreshToken;
  client.cookies.delete(SSO);
  client.cookies.delete('refresh_token');
  const byBody = await client.post(NEW_ACCESS_TOKEN, { refresh_token });
  const refreshed = await client.post('/api/v1/auth/refresh', { refresh_token });
  for (const answer of [byBody, refreshed]) {
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(namesOf(answer), []);
  }
});

test('tabs that ask at once get one each, whose order does not matter; of more, the oldest end', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  client.cookies.delete(SSO);
  const own = { cookie: [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ') };
  const few = await atOnce(3, () => client.post(NEW_ACCESS_TOKEN, undefined, { headers: own }));
  for (const answer of few) assert.ok(await isLive(service, setCookieOf(answer, SSO)?.value ?? ''));
  const many = await atOnce(8, () => client.post(NEW_ACCESS_TOKEN, undefined, { headers: own }));
  const live = await Promise.all(
    many.map((answer) => isLive(service, setCookieOf(answer, SSO)?.value ?? '')),
  );
  assert.equal(live.filter(Boolean).length, 4);
});

for (const path of ['/api/v1/auth/logout', '/api/v1/auth/logout/all'])
  test(`${path} clears it with its attributes, whatever its value, and sets nothing where there is none`, async () => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    const value = ssoOf(client);
    const answer = await client.post(path);
    const attributes = setCookieOf(answer, SSO)?.attributes;
    assert.deepEqual([attributes?.path, attributes?.secure], ['/', '']);
    assert.equal(client.cookies.has(SSO), false);
    assert.equal(await isLive(service, value), false);
    const without = await signIn(service, user);
    without.cookies.delete(SSO);
    assert.deepEqual(namesOf(await without.post(path)), ['refresh_token']);
  });

test('a failed sign-in neither sets nor ends it', async () => {
  const user = await addUser(service);
  const client = await signIn(service, user);
  const answer = await client.post('/api/v1/auth/login', { email: user.email, password: 'wrong' });
  assert.equal(answer.status, 422);
  assert.deepEqual(namesOf(answer), []);
  assert.equal(await isLive(service, ssoOf(client)), true);
});

/** Returns the statements that an operation sends. */
const sentBy = (client: TestClient, url: string, body?: object): Promise<string[]> =>
  statementsOf(async () => {
    const answer = await client.post(url, body);
    assert.equal(answer.status, 200, answer.text);
  });

test('it costs no operation a statement, and without an active application nothing is different', async (t) => {
  const { service: plain, admin: root } = await startWithAdmin(t, { RATE_LIMIT_NEW_ACCESS_TOKEN: 'off' });
  const costs: number[][] = [];
  let id = '';
  const create = async (): Promise<void> => {
    id = (await makeApplication(root)).id;
  };
  const deactivate = async (): Promise<void> => {
    const answer = await root.put(`${applications}/${id}`, { is_active: false });
    assert.equal(answer.status, 200, answer.text);
  };
  for (const [activate, isSet] of [
    [async () => {}, false],
    [create, true],
    [deactivate, false],
  ] as const) {
    await activate();
    await reload(plain);
    const user = await addUser(plain);
    const client = await signIn(plain, user);
    assert.equal(client.cookies.has(SSO), isSet);
    client.cookies.delete(SSO);
    costs.push([
      (await sentBy(client, NEW_ACCESS_TOKEN)).length,
      (await sentBy(client, '/api/v1/auth/login', { email: user.email, password: user.password })).length,
      (await sentBy(client, STEP_UP, { password: user.password })).length,
      (await sentBy(client, '/api/v1/auth/logout')).length,
    ]);
    assert.equal(client.cookies.has(SSO), false);
    const rows = await plain.sql("select from session_tokens where user_id = $1 and kind = 'browser'", [
      user.id,
    ]);
    assert.equal(rows.length > 0, isSet);
  }
  assert.deepEqual(costs[1], costs[0]);
  assert.deepEqual(costs[2], costs[0]);
});

test('without an active application the statements do not name browsers', async (t) => {
  const { service: plain } = await startWithAdmin(t);
  const user = await addUser(plain);
  const client = plain.client();
  await client.get('/api/v1/auth/csrf-token');
  const { email, password } = user;
  const texts = [
    ...(await sentBy(client, '/api/v1/auth/login', { email, password })),
    ...(await sentBy(client, NEW_ACCESS_TOKEN)),
  ];
  assert.ok(texts.length > 8);
  assert.deepEqual(
    texts.filter((text) => /browser/.test(text.replaceAll('has_browser', ''))),
    [],
  );
});

test('every instance knows within a few seconds that there is an application, and that there is none', async (t) => {
  const { service: own, admin: root } = await startWithAdmin(t);
  const twin = await own.another();
  const user = await addUser(own);
  const sets = async (): Promise<boolean> => (await signIn(twin, user)).cookies.has(SSO);
  assert.equal(await sets(), false);
  const { id } = await makeApplication(root);
  await eventually(async () => (await sets()) || undefined, 'the cookie at another instance');
  await root.put(`${applications}/${id}`, { is_active: false });
  await eventually(async () => !(await sets()) || undefined, 'no cookie at another instance');
});

test('it counts in no list and no limit of sessions', async (t) => {
  const { service: own } = await startWithApplication(t, { CONCURRENT_SESSION_LIMIT: '1' });
  const user = await addUser(own);
  const first = await signIn(own, user);
  const second = await signIn(own, user);
  assert.equal(await isLive(own, ssoOf(first)), false, 'the session limit ended its session');
  const { body } = await second.get('/api/v1/auth/sessions');
  assert.equal(body.pagination.total, 1);
  await assertFinds(own, second, user);
});
