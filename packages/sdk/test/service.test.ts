// The client against the real service. A jar of cookies stands for the browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ADMIN,
  newEmail,
  PASSWORD,
  signIn,
  startTestService,
  type TestService,
} from '@castellan/testing/harness';
import { addApplication, applicationTokens } from '@castellan/testing/openid/tokens';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addUser } from '@castellan/testing/sessions/accounts';
import { CastellanError, createClient } from '../src/index.ts';
import { collect } from './fixture.ts';

const NEW_PASSWORD = 'ReplacementPassword!42';

/** Counts requests by operation, and keeps cookies as a browser does. */
function browserFetch() {
  const cookies = new Map<string, string>();
  const counts: Record<string, number> = {};
  const fetchWithCookies: typeof fetch = async (input, init) => {
    const operation = `${init?.method} ${new URL(String(input)).pathname}`;
    counts[operation] = (counts[operation] ?? 0) + 1;
    const headers = new Headers(init?.headers);
    headers.set('cookie', [...cookies].map((pair) => pair.join('=')).join('; '));
    const response = await fetch(input, { ...init, headers });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  return { fetch: fetchWithCookies, counts, cookies };
}

const REFRESH = 'POST /api/v1/auth/new_access_token';

function openClient(service: TestService) {
  const browser = browserFetch();
  return { ...browser, client: createClient({ baseUrl: service.url, fetch: browser.fetch }) };
}

/** Access tokens of all users expire at once; refresh tokens stay. */
const expireAccessTokens = (service: TestService) =>
  service.sql(`delete from session_tokens where kind = 'access'`);

async function administrator(service: TestService) {
  const opened = openClient(service);
  await opened.client.auth.signIn(ADMIN);
  return opened;
}

test('a person registers, verifies the email, signs in, changes the password and signs out', async (t) => {
  const service = await startTestService(t);
  const { client, counts, cookies } = openClient(service);
  const email = newEmail();
  const policy = await client.auth.passwordPolicy();
  assert.ok(policy.rules.length > 0);
  const account = { email, password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
  assert.equal((await client.auth.register(account)).verified, false);
  await assert.rejects(client.auth.signIn({ email, password: PASSWORD }), {
    code: 'email_not_verified',
    status: 422,
  });
  const { token } = await service.mailTo(email);
  await client.auth.verifyEmail({ token: token ?? '' });
  const user = await client.auth.signIn({ email, password: PASSWORD });
  assert.equal(client.auth.subject, user.id);
  assert.ok(cookies.has('refresh_token'));

  await client.auth.changePassword({ current_password: PASSWORD, new_password: NEW_PASSWORD });
  assert.equal((await client.get('/api/v1/users/me')).data.email, email);
  assert.equal(counts[REFRESH], undefined, 'the new token is used at once');
  assert.equal(counts['GET /api/v1/auth/csrf-token'], 1);

  await client.auth.signOut();
  assert.equal(client.auth.state, 'anonymous');
  await assert.rejects(client.get('/api/v1/users/me'), { code: 'token_missing' });
});

test('people see which applications have access, and end it', async (t) => {
  const service = await startTestService(t);
  const application = await addApplication(service, await signIn(service, ADMIN), {
    home_url: 'https://shop.example.com',
  });
  const person = await addUser(service);
  const { client } = openClient(service);
  await client.auth.signIn(person);
  assert.deepEqual(await client.auth.applications(), []);
  const { access_token } = await applicationTokens(service, application, person.id);
  const [shop, ...others] = await client.auth.applications();
  assert.deepEqual(
    [shop?.id, shop?.home_url, shop?.access?.scopes, shop?.consent, others],
    [application.id, 'https://shop.example.com', ['openid', 'profile'], null, []],
  );
  assert.deepEqual(await client.auth.endApplication(application.id), { grants: 1, consent: false });
  assert.deepEqual(await client.auth.applications(), []);
  const headers = { authorization: `Bearer ${access_token}` };
  assert.equal((await fetch(`${service.url}/api/v1/oauth/userinfo`, { headers })).status, 401);
  await assert.rejects(client.auth.endApplication(application.client_id), { status: 400 });
});

test('expired access tokens are renewed once for parallel requests', async (t) => {
  const service = await startTestService(t);
  const { client, counts } = await administrator(service);
  await expireAccessTokens(service);
  const users = await Promise.all(Array.from({ length: 20 }, () => client.get('/api/v1/users/me')));
  assert.equal(new Set(users.map(({ data }) => data.id)).size, 1);
  assert.equal(counts[REFRESH], 1);
});

test('a session that the service ended is over after one refresh', async (t) => {
  const service = await startTestService(t);
  const { client, counts } = await administrator(service);
  const events: string[] = [];
  client.auth.subscribe(({ type }) => void events.push(type));
  await service.sql('delete from session_tokens');
  await assert.rejects(client.get('/api/v1/users/me'), { status: 401 });
  assert.equal(counts[REFRESH], 1);
  assert.deepEqual(events, ['session_ended']);
});

test('a limited refresh is waited for and keeps the session', async (t) => {
  const service = await startTestService(t, { RATE_LIMIT_NEW_ACCESS_TOKEN: '1/second' });
  const { client } = await administrator(service);
  for (let i = 0; i < 3; i++) {
    await expireAccessTokens(service);
    await client.get('/api/v1/users/me');
  }
  assert.equal(client.auth.state, 'authenticated');
});

test('records are created, read, changed and deleted', async (t) => {
  const service = await startTestService(t);
  const { client } = await administrator(service);
  const created = await client.post('/api/v1/role-groups', {
    body: { name: 'Editors' },
    idempotencyKey: 'one',
  });
  const again = await client.post('/api/v1/role-groups', {
    body: { name: 'Editors' },
    idempotencyKey: 'one',
  });
  assert.equal(again.data.id, created.data.id);
  const path = { group_id: created.data.id };
  const { headers } = await client.request('GET /api/v1/role-groups/{group_id}', { path });
  const etag = headers.get('etag') ?? '';
  const changed = await client.put('/api/v1/role-groups/{group_id}', {
    path,
    body: { name: 'Authors' },
    headers: { 'if-match': etag },
  });
  assert.equal(changed.data.name, 'Authors');
  await assert.rejects(
    client.put('/api/v1/role-groups/{group_id}', {
      path,
      body: { name: 'B' },
      headers: { 'if-match': etag },
    }),
    { code: 'precondition_failed', status: 412 },
  );
  assert.equal(await client.delete('/api/v1/role-groups/{group_id}', { path }), undefined);
  await assert.rejects(client.get('/api/v1/role-groups/{group_id}', { path }), {
    code: 'role_group_not_found',
    status: 404,
  });
});

test('errors have the code, the fields and the request id of the service', async (t) => {
  const service = await startTestService(t);
  const { client } = await administrator(service);
  const error = await client
    .get('/api/v1/users', { query: { size: 0 }, headers: { 'x-request-id': 'mine' } })
    .catch((reason: unknown) => reason);
  assert.ok(error instanceof CastellanError);
  assert.equal(error.requestId, 'mine');
  assert.deepEqual(
    error.fields.map(({ field }) => field),
    ['query.size'],
  );
});

test('both kinds of lists are read to their ends', async (t) => {
  const service = await startTestService(t);
  const { client } = await administrator(service);
  for (let i = 0; i < 5; i++) await client.post('/api/v1/roles', { body: { name: `Role ${i}` } });
  const roles = await collect(client.items('/api/v1/roles', { query: { size: 2 } }));
  const { data } = await client.get('/api/v1/roles/list');
  assert.deepEqual(roles.map(({ id }) => id).sort(), data.map(({ id }) => id).sort());
  const users = await collect(client.pages('/api/v1/users'));
  assert.deepEqual(
    users.map(({ items, total }) => [items.length, total]),
    [[1, 1]],
  );
  const entries = await collect(client.items('/api/v1/audit-logs', { query: { size: 2 } }));
  assert.equal(new Set(entries.map(({ id }) => id)).size, entries.length);
  assert.ok(entries.length > 5);
});

test('an export resolves with the response of the service', async (t) => {
  const service = await startTestService(t);
  const { client } = await administrator(service);
  const response = await client.get('/api/v1/audit-logs/export', { headers: { accept: 'text/csv' } });
  assert.match(response.headers.get('content-type') ?? '', /^text\/csv/);
  assert.match(await response.text(), /login/);
});

test('a program acts with its API key, and with a token that it gets for it', async (t) => {
  const service = await startTestService(t);
  const account = await addServiceAccount(service, { permissions: ['role.read', 'role.create'] });
  const client = createClient({ baseUrl: service.url, apiKey: account.key });
  const { data } = await client.post('/api/v1/roles', { body: { name: 'Editors' } });
  const { access_token } = await client.post('/api/v1/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: account.id, client_secret: account.key },
  });
  const another = createClient({ baseUrl: service.url, accessToken: () => access_token });
  const role = await another.get('/api/v1/roles/{role_id}', { path: { role_id: data.id } });
  assert.equal(role.data.name, 'Editors');
  await assert.rejects(another.get('/api/v1/users'), { code: 'permission_denied', status: 403 });
  assert.equal(await client.post('/api/v1/oauth/revoke', { body: { token: access_token } }), undefined);
  await assert.rejects(another.get('/api/v1/roles'), { status: 401 });
});
