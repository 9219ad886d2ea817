// The shape of every error, the order of refusals, and that no internal cause reaches the client.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type ErrorCode, errorCatalogue } from '@castellan/contract/errors';
import type { Answer } from '@castellan/testing/client';
import {
  ADMIN,
  createVerifiedUser,
  newEmail,
  PASSWORD,
  signIn,
  startTestService,
} from '@castellan/testing/harness';
import {
  ABSENT_ID,
  assertRefused,
  postText,
  readRaw,
  routesOf,
  sendRaw,
} from '@castellan/testing/http/fixture';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);

/** Returns one answer of each kind that a client can cause. */
async function refusals(): Promise<[status: number, code: ErrorCode, answer: Answer][]> {
  const client = service.client();
  return [
    [400, 'malformed_json', await postText(client, '/api/v1/auth/login', '{')],
    [400, 'invalid_text', await client.post('/api/v1/auth/login', { email: 'a\0b', password: 'x' })],
    [400, 'invalid_id', await admin.delete('/api/v1/auth/sessions/17')],
    [400, 'invalid_input', await client.post('/api/v1/auth/register', {})],
    [400, 'malformed_request', await client.get('/api/v1/%ff')],
    [401, 'token_missing', await client.get('/api/v1/users/me')],
    [
      403,
      'csrf_invalid',
      await client.request('POST', '/api/v1/auth/login', { headers: { 'x-csrf-token': null } }),
    ],
    [404, 'route_not_found', await client.get('/nothing')],
    [405, 'method_not_allowed', await client.get('/api/v1/auth/login')],
    [413, 'body_too_large', await client.post('/api/v1/auth/login', { email: 'x'.repeat(17_000) })],
    [414, 'uri_too_long', await admin.delete(`/api/v1/auth/sessions/${'x'.repeat(2_000)}`)],
    [415, 'unsupported_media_type', await client.request('POST', '/api/v1/auth/login', { raw: 'email=a' })],
    [422, 'validation_failed', await client.post('/api/v1/auth/login', {})],
  ];
}

test('every error has detail, a catalogued code with its status, and the id of its request', async () => {
  for (const [status, code, answer] of await refusals()) {
    assertRefused(answer, status, code);
    assert.equal(status, errorCatalogue[code][0]);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(typeof answer.body.detail, 'string');
    assert.ok(answer.body.detail.length > 0);
    const keys = Object.keys(answer.body).sort();
    assert.deepEqual(
      keys.filter((key) => key !== 'errors'),
      ['code', 'detail', 'request_id'],
    );
    for (const error of answer.body.errors ?? [])
      assert.deepEqual(Object.keys(error).sort(), ['code', 'field', 'message']);
  }
});

test('a client that asks for problem+json gets the same facts as RFC 9457', async () => {
  const headers = { accept: 'application/json;q=0.5, application/problem+json' };
  const answer = await service.client().post('/api/v1/auth/login', { email: 5 }, { headers });
  const plain = await service.client().post('/api/v1/auth/login', { email: 5 });
  assert.match(answer.headers.get('content-type') ?? '', /^application\/problem\+json/);
  const { type, title, status, request_id, ...facts } = answer.body;
  assert.equal(type, 'http://castellan.test/docs/errors#validation_failed');
  assert.equal(title, 'Unprocessable Entity');
  assert.equal(status, 422);
  assert.equal(request_id, answer.headers.get('x-request-id'));
  const { request_id: _, ...plainFacts } = plain.body;
  assert.deepEqual(facts, plainFacts);
});

test('in problem+json the detail is a text where the plain body has the list of broken password rules', async () => {
  const body = { email: newEmail(), password: 'password', first_name: 'Ada', last_name: 'Lovelace' };
  const plain = await service.client().post('/api/v1/auth/register', body);
  const problem = await service
    .client()
    .post('/api/v1/auth/register', body, { headers: { accept: 'application/problem+json' } });
  assertRefused(plain, 400, 'password_rejected');
  assert.ok(plain.body.detail.errors.length > 1);
  assert.equal(problem.body.detail, plain.body.detail.message);
  assert.deepEqual(problem.body.password_errors, plain.body.detail.errors);
});

test('success is never sent as problem+json', async () => {
  const answer = await admin.get('/api/v1/users/me', { headers: { accept: 'application/problem+json' } });
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
});

test('401 names the scheme, and says invalid_token only if a token was sent', async () => {
  const client = service.client();
  const missing = await client.get('/api/v1/users/me');
  assert.equal(missing.headers.get('www-authenticate'), 'Bearer');
  const wrong = await client.get('/api/v1/users/me', { headers: { authorization: 'Bearer a.b.c' } });
  assert.equal(wrong.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
});

test('refusals come in one order: CSRF, rate limit, bearer, permission, shape', async (t) => {
  const strict = await startTestService(t, { DEFAULT_ROLE: '', RATE_LIMIT_LOGIN: '1/minute' });
  const nobody = await createVerifiedUser(strict);
  const client = await signIn(strict, nobody);
  const raw = '{';
  const json = { 'content-type': 'application/json' };
  // The only sign-in of this minute is used up.
  const everythingWrong = { ...json, 'x-csrf-token': null };
  assertRefused(
    await client.request('POST', '/api/v1/auth/login', { raw, headers: everythingWrong }),
    403,
    'csrf_invalid',
  );
  assertRefused(await postText(client, '/api/v1/auth/login', raw), 429, 'rate_limited');
  assertRefused(
    await client.request('PUT', '/api/v1/users/me', { raw, headers: { ...json, authorization: null } }),
    401,
    'token_missing',
  );
  assertRefused(
    await client.request('PUT', '/api/v1/users/me', { raw, headers: json }),
    403,
    'permission_denied',
  );
  assertRefused(await postText(client, '/api/v1/auth/change_password', raw), 400, 'malformed_json');
  assertRefused(await client.post('/api/v1/auth/change_password', {}), 422, 'validation_failed');
});

test('an internal error is a bare 500; its cause is in the log under the request id and nowhere else', async (t) => {
  const faulty = await startTestService(t);
  await faulty.sql(`alter table users add constraint planted_fault check (first_name <> 'Boom')`);
  const client = faulty.client();
  const answer = await client.post('/api/v1/auth/register', {
    email: newEmail(),
    password: PASSWORD,
    first_name: 'Boom',
    last_name: 'Lovelace',
  });
  assertRefused(answer, 500, 'internal_error');
  assert.doesNotMatch(answer.text, /planted_fault|users|constraint|Boom|\.ts/);
  const line = faulty.logLines.find(
    (one) => one.includes(answer.body.request_id) && one.includes('planted_fault'),
  );
  assert.ok(line, 'the cause is logged');
  // PostgreSQL repeats the whole row in the detail of a violated CHECK.
  assert.doesNotMatch(faulty.logLines.join(''), /argon2/);
});

test('a request with two Authorization headers is refused, whichever is right', async () => {
  const headers = [`authorization: Bearer ${admin.accessToken}`, 'Authorization: Bearer x'];
  for (const both of [headers, headers.toReversed(), [headers[0], headers[0]]]) {
    const lines = ['GET /api/v1/roles HTTP/1.1', 'host: castellan.test', 'connection: close', ...both];
    const answer = readRaw(await sendRaw(service.url, `${lines.join('\r\n')}\r\n\r\n`));
    assertRefused(answer, 400, 'malformed_request');
  }
});

test('a path with an empty parameter is 404 on every route, before CSRF and authorization', async () => {
  const client = service.client();
  for (const { method, url, config } of await routesOf(service))
    for (const [param] of url.matchAll(/:\w+/g)) {
      const path = url.replace(param, '').replaceAll(/:\w+/g, ABSENT_ID);
      const answer = await client.request(method, path, { headers: { 'x-csrf-token': null } });
      if (config.errorShape)
        assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_request'], url);
      else assertRefused(answer, 404, 'route_not_found');
    }
  assertRefused(await admin.get('/api/v1/users/'), 404, 'route_not_found');
});
