// What arrives as a body before any operation looks at it: type, coding, size, JSON, text.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createVerifiedUser, newEmail, PASSWORD, signIn, startTestService } from '../harness.ts';
import { assertRefused, postText, readRaw, sendRaw } from './fixture.ts';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const user = await createVerifiedUser(service);
const client = await signIn(service, user);
const LOGIN = '/api/v1/auth/login';

test('a body that is not JSON is 400', async () => {
  const bodies = [
    '{',
    '{"email":}',
    "{'email':1}",
    '{"email":"a"} {}',
    'NaN',
    'undefined',
    '{"a":1,}',
    '\u0000',
    '[1',
  ];
  for (const body of bodies) assertRefused(await postText(client, LOGIN, body), 400, 'malformed_json');
});

test('a body that is needed and does not come is 400', async () => {
  assertRefused(await client.request('POST', LOGIN), 400, 'malformed_json');
  for (const body of ['', 'null']) assertRefused(await postText(client, LOGIN, body), 400, 'malformed_json');
});

test('bytes that are no UTF-8 are refused instead of being replaced', async () => {
  const bytes = Buffer.concat([Buffer.from('{"email":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
  assertRefused(await postText(client, LOGIN, bytes), 400, 'malformed_json');
  const utf16 = Buffer.from(JSON.stringify(user), 'utf16le');
  assertRefused(await postText(client, LOGIN, utf16), 400, 'malformed_json');
});

test('a byte order mark before the JSON does no harm', async () => {
  const answer = await postText(
    client,
    LOGIN,
    `\uFEFF${JSON.stringify({ email: user.email, password: PASSWORD })}`,
  );
  assert.equal(answer.status, 200, answer.text);
});

test('only application/json is read', async () => {
  const types = [
    null,
    'text/plain',
    'text/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/json2',
    'application/problem+json',
    'application/json, text/plain',
    'xapplication/json',
    ' ',
  ];
  for (const type of types) {
    const answer = await client.request('POST', LOGIN, {
      raw: Buffer.from(JSON.stringify({ email: user.email, password: PASSWORD })),
      headers: { 'content-type': type },
    });
    assertRefused(answer, 415, 'unsupported_media_type');
  }
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset=UTF-8',
  ]) {
    const answer = await client.request('POST', LOGIN, {
      raw: JSON.stringify({ email: user.email, password: PASSWORD }),
      headers: { 'content-type': type },
    });
    assert.equal(answer.status, 200, `${type}: ${answer.text}`);
  }
});

test('a packed body is refused, not unpacked', async () => {
  const packed = gzipSync(JSON.stringify({ email: user.email, password: PASSWORD }));
  for (const coding of ['gzip', 'deflate', 'br', 'GZIP', 'gzip, identity', 'x']) {
    const answer = await client.request('POST', LOGIN, {
      raw: packed,
      headers: { 'content-type': 'application/json', 'content-encoding': coding },
    });
    assertRefused(answer, 415, 'unsupported_media_type');
    assert.equal(answer.headers.get('accept-encoding'), 'identity');
  }
  const plain = await client.request('POST', LOGIN, {
    raw: JSON.stringify({ email: user.email, password: PASSWORD }),
    headers: { 'content-type': 'application/json', 'content-encoding': 'identity' },
  });
  assert.equal(plain.status, 200, plain.text);
});

test('a body over 64 KiB on /auth and over 1 MiB elsewhere is 413', async () => {
  const padded = (bytes: number): string => {
    const empty = JSON.stringify({ pad: '' });
    return JSON.stringify({ pad: 'x'.repeat(bytes - empty.length) });
  };
  const send = (method: string, path: string, bytes: number) =>
    client.request(method, path, { raw: padded(bytes), headers: { 'content-type': 'application/json' } });
  assertRefused(await send('POST', LOGIN, 65_537), 413, 'body_too_large');
  assertRefused(await send('POST', LOGIN, 65_536), 422, 'validation_failed');
  assertRefused(await send('PUT', '/api/v1/users/me', 1_048_577), 413, 'body_too_large');
  assert.equal((await send('PUT', '/api/v1/users/me', 1_048_576)).status, 200);
});

test('the size limit holds for chunked bodies, which announce no length', async () => {
  const token = (await client.get('/api/v1/auth/csrf-token')).body.data.csrf_token;
  const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`;
  const answer = readRaw(
    await sendRaw(
      service.url,
      `POST ${LOGIN} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n` +
        `Cookie: csrf_token=${client.cookies.get('csrf_token')}\r\nX-CSRF-Token: ${token}\r\n\r\n` +
        `${chunk.repeat(3)}0\r\n\r\n`,
    ),
  );
  assertRefused(answer, 413, 'body_too_large');
});

test('NUL characters and lone surrogates are refused in every value, key and depth, and in the query', async () => {
  const bodies = [
    '{"email":"a\\u0000b","password":"x"}',
    '{"email":"a@example.com","password":"\\ud800"}',
    '{"email":"a@example.com","password":"\\udc00\\ud800"}',
    '{"email":"a@example.com","password":"x","extra":{"deep":["\\u0000"]}}',
    '{"email":"a@example.com","password":"x","\\u0000":1}',
    '{"email":"a@example.com","password":"x","k\\udfff":1}',
  ];
  for (const body of bodies) assertRefused(await postText(client, LOGIN, body), 400, 'invalid_text');
  assertRefused(await client.get('/api/v1/users/me?search=%00'), 400, 'invalid_text');
  assertRefused(await client.get('/api/v1/users/me?a%00=1'), 400, 'invalid_text');
});

test('astral characters are text like any other', async () => {
  const answer = await client.put('/api/v1/users/me', { first_name: 'Ada 𝒜', last_name: '李' });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.first_name, 'Ada 𝒜');
});

test('nesting deeper than 32 levels is refused quickly, 32 levels are not', async () => {
  const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
  assertRefused(await postText(client, LOGIN, nested(33)), 400, 'malformed_json');
  assertRefused(await postText(client, LOGIN, nested(32)), 422, 'validation_failed');
  assertRefused(await postText(client, LOGIN, nested(30_000)), 400, 'malformed_json');
  const wide = `{"a":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`;
  assertRefused(await postText(client, LOGIN, wide), 400, 'malformed_json');
});

test('keys that reach for a prototype are refused', async () => {
  const bodies = [
    '{"__proto__":{"is_superuser":true}}',
    '{"first_name":"x","__proto__":null}',
    '{"a":{"__proto__":{}}}',
    '{"\\u005f_proto__":{"is_superuser":true}}',
    '{"constructor":{"prototype":{"is_superuser":true}}}',
  ];
  for (const raw of bodies) {
    const answer = await client.request('PUT', '/api/v1/users/me', {
      raw,
      headers: { 'content-type': 'application/json' },
    });
    assertRefused(answer, 400, 'malformed_json');
  }
  assert.equal(Reflect.get({}, 'is_superuser'), undefined);
});

test('of keys that come twice the last one counts, for the check as for the operation', async () => {
  const email = newEmail();
  const raw = `{"email":"admin@example.com","email":"${email}","password":"short","password":"${PASSWORD}",
    "first_name":5,"first_name":"Ada","last_name":"Lovelace"}`;
  const answer = await postText(service.client(), '/api/v1/auth/register', raw);
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.body.data.email, email);
  const refused = await postText(client, LOGIN, `{"email":"${email}","email":5,"password":"x"}`);
  assertRefused(refused, 422, 'validation_failed');
});

test('an operation that takes no body accepts none, an empty one, an empty object and JSON null', async () => {
  const attempts = [
    { headers: {} },
    { raw: '', headers: { 'content-type': 'application/json' } },
    { raw: '{}', headers: { 'content-type': 'application/json' } },
    { raw: 'null', headers: { 'content-type': 'application/json' } },
  ];
  for (const options of attempts) {
    const session = await signIn(service, user);
    const answer = await session.request('POST', '/api/v1/auth/logout', options);
    assert.equal(answer.status, 200, `${JSON.stringify(options)}: ${answer.text}`);
  }
});

test('new_access_token takes the cookie with an empty JSON body', async () => {
  const session = await signIn(service, user);
  for (const raw of ['', '{}', 'null']) {
    const answer = await postText(session, '/api/v1/auth/new_access_token', raw);
    assert.equal(answer.status, 200, answer.text);
  }
});
