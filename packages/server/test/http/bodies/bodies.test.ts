// How request bodies are checked before any operation: content type, encoding, size, JSON, text.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import {
  ADMIN,
  createVerifiedUser,
  newEmail,
  PASSWORD,
  signIn,
  startTestService,
} from '@castellan/testing/harness';
import { assertRefused, postText, readRaw, sendRaw } from '@castellan/testing/http/fixture';

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

test('a missing body is 400 if the operation requires one', async () => {
  assertRefused(await client.request('POST', LOGIN), 400, 'malformed_json');
  for (const body of ['', 'null']) assertRefused(await postText(client, LOGIN, body), 400, 'malformed_json');
});

test('bytes that are not UTF-8 are refused, not replaced', async () => {
  const bytes = Buffer.concat([Buffer.from('{"email":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
  assertRefused(await postText(client, LOGIN, bytes), 400, 'malformed_json');
  const utf16 = Buffer.from(JSON.stringify(user), 'utf16le');
  assertRefused(await postText(client, LOGIN, utf16), 400, 'malformed_json');
});

test('a byte order mark before the JSON is accepted', async () => {
  const answer = await postText(
    client,
    LOGIN,
    `\uFEFF${JSON.stringify({ email: user.email, password: PASSWORD })}`,
  );
  assert.equal(answer.status, 200, answer.text);
});

test('only application/json is accepted', async () => {
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

test('a compressed body is refused, not decompressed', async () => {
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

test('a body over 16 KiB is 413, after a sign-in one over 128 KiB, in bulk over 1 MiB, and the limit is named', async () => {
  const padded = (bytes: number): string => {
    const empty = JSON.stringify({ pad: '' });
    return JSON.stringify({ pad: 'x'.repeat(bytes - empty.length) });
  };
  const send = (method: string, path: string, bytes: number) =>
    client.request(method, path, { raw: padded(bytes), headers: { 'content-type': 'application/json' } });
  assertRefused(await send('POST', LOGIN, 16_385), 413, 'body_too_large');
  assertRefused(await send('POST', LOGIN, 16_384), 422, 'validation_failed');
  const refused = await send('PUT', '/api/v1/users/me', 131_073);
  assertRefused(refused, 413, 'body_too_large');
  assert.equal(refused.body.detail, 'The request body is larger than 128 KiB.');
  assert.equal((await send('PUT', '/api/v1/users/me', 131_072)).status, 200);
  const bulk = '/api/v1/users/bulk-update';
  const asAdmin = await signIn(service, ADMIN);
  const sendBulk = (bytes: number) =>
    asAdmin.request('PUT', bulk, { raw: padded(bytes), headers: { 'content-type': 'application/json' } });
  assertRefused(await sendBulk(1_048_576), 400, 'invalid_input');
  const tooLarge = await sendBulk(1_048_577);
  assertRefused(tooLarge, 413, 'body_too_large');
  assert.equal(tooLarge.body.detail, 'The request body is larger than 1 MiB.');
  // A caller without the permission is refused before the body is read.
  assertRefused(await send('PUT', bulk, 1_048_577), 403, 'permission_denied');
});

test('a body of more than 200 values is 413, after a sign-in one of more than 2,000, in bulk more than 50,000', async () => {
  const asAdmin = await signIn(service, ADMIN);
  const me = (values: number) => asAdmin.put('/api/v1/users/me', { pad: Array(values - 1).fill(0) });
  const bulk = (values: number) =>
    asAdmin.put('/api/v1/users/bulk-update', { pad: Array(values - 1).fill(0) });
  assert.equal((await me(2_000)).status, 200);
  const refused = await me(2_001);
  assertRefused(refused, 413, 'body_too_large');
  assert.match(refused.body.detail, /2,000 values/);
  assertRefused(await bulk(50_000), 400, 'invalid_input');
  assertRefused(await bulk(50_001), 413, 'body_too_large');
  assertRefused(await postText(client, LOGIN, JSON.stringify(Array(201).fill({}))), 413, 'body_too_large');
});

test('the size limit also holds for chunked bodies, which declare no length', async () => {
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

test('NUL characters and lone surrogates are refused in every value and key at any depth, and in the query', async () => {
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

test('astral characters are accepted as text', async () => {
  const answer = await client.put('/api/v1/users/me', { first_name: 'Ada 𝒜', last_name: '李' });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.first_name, 'Ada 𝒜');
});

test('nesting deeper than 32 levels is refused quickly, 32 levels are accepted', async () => {
  const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
  assertRefused(await postText(client, LOGIN, nested(33)), 400, 'malformed_json');
  assertRefused(await postText(client, LOGIN, nested(32)), 422, 'validation_failed');
  assertRefused(await postText(client, LOGIN, nested(8_000)), 400, 'malformed_json');
  const wide = `{"a":${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}}`;
  assertRefused(await postText(client, LOGIN, wide), 400, 'malformed_json');
});

test('keys that address a prototype are refused', async () => {
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

test('of duplicate keys the last one counts, for the validation and for the operation', async () => {
  const email = newEmail();
  const raw = `{"email":"admin@example.com","email":"${email}","password":"short","password":"${PASSWORD}",
    "first_name":5,"first_name":"Ada","last_name":"Lovelace"}`;
  const answer = await postText(service.client(), '/api/v1/auth/register', raw);
  assert.equal(answer.status, 201, answer.text);
  assert.equal(answer.body.data.email, email);
  const refused = await postText(client, LOGIN, `{"email":"${email}","email":5,"password":"x"}`);
  assertRefused(refused, 422, 'validation_failed');
});

test('an operation without a body accepts none, an empty one, an empty object and JSON null', async () => {
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

test('new_access_token accepts the cookie with an empty JSON body', async () => {
  const session = await signIn(service, user);
  for (const raw of ['', '{}', 'null']) {
    const answer = await postText(session, '/api/v1/auth/new_access_token', raw);
    assert.equal(answer.status, 200, answer.text);
  }
});
