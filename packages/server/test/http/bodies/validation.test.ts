// The status of an invalid value: 422 by default, 400 for registration, for writes of users and for invalid ids.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  ADMIN,
  createVerifiedUser,
  newEmail,
  PASSWORD,
  signIn,
  startTestService,
} from '@castellan/testing/harness';
import { assertRefused, isUnsafe, routesOf } from '@castellan/testing/http/fixture';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const routes = await routesOf(service);
const user = await createVerifiedUser(service);
const client = await signIn(service, user);

test('a missing field or a wrong type is 422, and every invalid field is named at once', async () => {
  const cases: [path: string, body: unknown, fields: string[]][] = [
    ['/login', {}, ['email', 'password']],
    ['/login', { email: 5, password: PASSWORD }, ['email']],
    ['/login', { email: newEmail(), password: null }, ['password']],
    ['/login', { email: ['a@example.com'], password: { a: 1 } }, ['email', 'password']],
    ['/login', [], ['body']],
    ['/login', 'text', ['body']],
    ['/login', 7, ['body']],
    ['/refresh', {}, ['refresh_token']],
    ['/refresh', { refresh_token: 7 }, ['refresh_token']],
    ['/verify-email', {}, ['token']],
    ['/verify-email', { token: [] }, ['token']],
    ['/resend-verification-email', {}, ['email']],
    ['/password-reset/request', { email: true }, ['email']],
    ['/password-reset/confirm', { token: 'x' }, ['new_password']],
    ['/change_password', { new_password: 8 }, ['current_password', 'new_password']],
    ['/new_access_token', { refresh_token: 5 }, ['refresh_token']],
    ['/new_access_token', [], ['body']],
  ];
  for (const [path, body, fields] of cases) {
    // Without the refresh cookie, so that new_access_token reads its body.
    const cookie = `csrf_token=${client.cookies.get('csrf_token')}`;
    const refused = await client.post(`/api/v1/auth${path}`, body, { headers: { cookie } });
    assertRefused(refused, 422, 'validation_failed');
    assert.deepEqual(
      refused.body.errors.map((error: { field: string }) => error.field).sort(),
      fields,
      `${path} ${JSON.stringify(body)}: ${refused.text}`,
    );
  }
});

test('in a registration a missing field or a wrong type is 400', async () => {
  const good = { email: newEmail(), password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
  for (const field of Object.keys(good))
    for (const value of [undefined, 5, null, ['x'], {}]) {
      const answer = await client.post('/api/v1/auth/register', { ...good, [field]: value });
      assertRefused(answer, 400, 'invalid_input');
      assert.equal(answer.body.errors[0].field, field, answer.text);
    }
  for (const field of ['email', 'password', 'first_name'])
    assert.equal((await client.post('/api/v1/auth/register', { ...good, [field]: '' })).status, 400, field);
  for (const body of [[], 'text', 7, true]) {
    const answer = await client.post('/api/v1/auth/register', body);
    assertRefused(answer, 400, 'invalid_input');
  }
});

test('in writes of users a wrong type is 400', async () => {
  for (const body of [{ first_name: 5 }, { last_name: null }, { first_name: ['x'] }, [], 'text']) {
    const answer = await client.put('/api/v1/users/me', body);
    assertRefused(answer, 400, 'invalid_input');
  }
});

// Personal access tokens answer as API keys do.
const answers422 = (url: string): boolean => url.endsWith('/attributes') || url.endsWith('/tokens');

test('every write under /users that takes a body, but for attributes and tokens, answers 400 for invalid input; elsewhere registration and decisions', () => {
  for (const { method, url, takesBody, config } of routes.filter(isUnsafe)) {
    const expected =
      url === '/api/v1/auth/register' ||
      url.startsWith('/api/v1/access/v1/') ||
      (url.startsWith('/api/v1/users') && takesBody && !answers422(url))
        ? ['invalid_input']
        : url.startsWith('/api/v1/users') && !answers422(url)
          ? ['invalid_input', undefined]
          : ['validation_failed', undefined];
    assert.ok(expected.includes(config.invalidInput), `${method} ${url}: ${config.invalidInput}`);
  }
});

test('an invalid email is 400 in register, resend and reset', async () => {
  for (const email of [
    'plain',
    'a@',
    '@b.example',
    'a b@c.example',
    'a@b',
    'a@@b.example',
    '<a@b.example>',
  ]) {
    for (const path of ['resend-verification-email', 'password-reset/request'])
      assertRefused(await client.post(`/api/v1/auth/${path}`, { email }), 400, 'invalid_email');
    const body = { email, password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
    assertRefused(await client.post('/api/v1/auth/register', body), 400, 'invalid_email');
  }
});

test('an id in the path that is not a UUID is 400 on every operation that takes one', async () => {
  const admin = await signIn(service, ADMIN);
  // Pages of the console and their files are the same for every path.
  const withId = routes.filter(
    // The ids of waiting requests and the slugs of providers are no UUIDs, and unknown ones are all alike.
    ({ url }) => url.startsWith('/api/') && url.includes(':') && !/:(interaction_id|slug)\b/.test(url),
  );
  assert.ok(withId.length > 0);
  for (const { method, url } of withId)
    for (const id of [
      '1',
      'null',
      'x'.repeat(36),
      '00000000-0000-4000-8000-00000000000g',
      '%27%20or%201=1',
    ]) {
      // Another route may contain this word instead of the id.
      const answer = await admin.request(
        method,
        url.replaceAll(/:\w+/g, id),
        method === 'GET' ? {} : { json: {} },
      );
      assert.equal(answer.status, 400, `${method} ${url} with ${id}: ${answer.text}`);
    }
  const answer = await admin.delete('/api/v1/auth/sessions/17');
  assertRefused(answer, 400, 'invalid_id');
  assert.deepEqual(answer.body.errors, [
    { field: 'path.session_id', code: 'invalid_uuid', message: 'must be a UUID' },
  ]);
});

test('a UUID is the same id in upper and lower case', async () => {
  const { body } = await client.get('/api/v1/auth/sessions');
  const other = await signIn(service, user);
  const listed = await other.get('/api/v1/auth/sessions');
  const known = new Set(body.data.map((session: { id: string }) => session.id));
  const fresh = listed.body.data.find((session: { id: string }) => !known.has(session.id));
  const ended = await client.delete(`/api/v1/auth/sessions/${fresh.id.toUpperCase()}`);
  assert.equal(ended.status, 200, ended.text);
});

test('fields that an operation does not know are ignored', async () => {
  const answer = await client.put('/api/v1/users/me', {
    first_name: 'Grace',
    nickname: 'Amazing',
    constructor_: { prototype: 1 },
    isAdmin: true,
  });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.first_name, 'Grace');
  assert.equal('nickname' in answer.body.data, false);
});

test('fields that would raise permissions are ignored in a registration', async () => {
  const email = newEmail();
  const answer = await service.client().post('/api/v1/auth/register', {
    email,
    password: PASSWORD,
    first_name: 'Ada',
    last_name: 'Lovelace',
    is_superuser: true,
    verified: true,
    is_active: false,
    roles: ['Admin'],
    role_id: ['00000000-0000-4000-8000-000000000000'],
    id: '00000000-0000-4000-8000-000000000000',
  });
  assert.equal(answer.status, 201, answer.text);
  const { is_superuser, verified, is_active, id, permissions } = answer.body.data;
  assert.deepEqual(
    { is_superuser, verified, is_active, permissions },
    { is_superuser: false, verified: false, is_active: true, permissions: ['self.update_profile'] },
  );
  assert.notEqual(id, '00000000-0000-4000-8000-000000000000');
});

test('a refusal never repeats the refused value', async () => {
  const answer = await client.post('/api/v1/auth/login', { email: 5, password: ['Secret#Value77'] });
  assertRefused(answer, 422, 'validation_failed');
  assert.doesNotMatch(answer.text, /Secret#Value77/);
});
