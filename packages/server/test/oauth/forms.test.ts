// How the token services read forms, and the shape of their errors.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startTestService } from '@castellan/testing/harness';
import { assertRefused, relayTo } from '@castellan/testing/http/fixture';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { FORM_TYPE, formRequest, postForm } from '@castellan/testing/service-accounts/token-services';
import { signedInWith } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const { key } = await addServiceAccount(service, { permissions: ['token.introspect'] });
const authorization = `Bearer ${key}`;
/** Each endpoint with a form that it accepts, and the headers of a caller who may send it. */
const endpoints = [
  { name: 'introspect', valid: 'token=x', headers: { authorization } },
  { name: 'revoke', valid: 'token=x', headers: {} },
  { name: 'token', valid: 'grant_type=client_credentials', headers: {} },
] as const;

const send = (
  { name, headers }: (typeof endpoints)[number],
  raw: string | Buffer<ArrayBuffer>,
  more: Record<string, string | null> = {},
) =>
  service.client().request('POST', `/api/v1/oauth/${name}`, {
    raw,
    headers: { ...formRequest('').headers, ...headers, ...more },
  });

function assertMalformed(answer: Awaited<ReturnType<typeof send>>, what: string): void {
  assert.deepEqual([answer.status, answer.body?.error], [400, 'invalid_request'], `${what}: ${answer.text}`);
  assert.deepEqual(Object.keys(answer.body), ['error', 'error_description']);
  // RFC 6749, section 5.2.
  assert.match(answer.body.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json\b/);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.match(answer.headers.get('x-request-id') ?? '', /./);
}

test('each endpoint takes its form, also with a charset, in other letter case and with unknown fields', async () => {
  for (const endpoint of endpoints)
    for (const type of [
      FORM_TYPE,
      `${FORM_TYPE}; charset=utf-8`,
      'Application/X-WWW-Form-Urlencoded;charset=UTF-8',
    ]) {
      const raw = `&${endpoint.valid}&&resource=https%3A%2F%2Fx&%5F%5Fproto__=x&constructor=y&`;
      const answer = await send(endpoint, raw, { 'content-type': type });
      assert.equal(answer.status, endpoint.name === 'token' ? 401 : 200, answer.text);
    }
});

test('a body that is no form is 400, JSON too', async () => {
  for (const endpoint of endpoints) {
    const types = [
      'application/json',
      'text/plain',
      'multipart/form-data; boundary=x',
      `${FORM_TYPE}2`,
      ' ',
      null,
    ];
    for (const type of types) {
      const raw =
        type === 'application/json' ? '{"token":"x","grant_type":"client_credentials"}' : endpoint.valid;
      assertMalformed(await send(endpoint, Buffer.from(raw), { 'content-type': type }), `${type}`);
    }
    const packed = await send(endpoint, gzipSync(endpoint.valid), { 'content-encoding': 'gzip' });
    assertMalformed(packed, 'gzip');
  }
});

test('a malformed form, a repeated field, too many fields and an overlong body are 400', async () => {
  for (const endpoint of endpoints) {
    const { valid } = endpoint;
    const forms: (string | Buffer<ArrayBuffer>)[] = [
      `${valid}&${valid}`,
      `${valid}&x=1&x=2`,
      `${valid}&x=&x=`,
      `${valid}&x&%78`,
      `${valid}&x=%`,
      `${valid}&x=%zz`,
      `${valid}&%`,
      `${valid}&x=%ff`,
      `${valid}&x=%c0%80`,
      `${valid}&x=%ed%a0%80`,
      `${valid}&x=%00`,
      `${valid}&x=\0`,
      Buffer.concat([Buffer.from(`${valid}&x=`), Buffer.from([0xff])]),
      `${valid}${Array.from({ length: 200 }, (_, index) => `&x${index}=1`).join('')}`,
      `${valid}&x=${'x'.repeat(17_000)}`,
      '',
      valid.replace(/=.*/, '='),
    ];
    for (const form of forms) assertMalformed(await send(endpoint, form), String(form).slice(0, 60));
    assertMalformed(
      await service.client().request('POST', `/api/v1/oauth/${endpoint.name}`, {
        headers: { 'x-csrf-token': null, ...endpoint.headers },
      }),
      'no body',
    );
  }
});

test('a form with as many fields as are allowed is read', async () => {
  const form = `token=x${Array.from({ length: 199 }, (_, index) => `&x${index}=1`).join('')}`;
  assert.equal((await postForm(service, 'revoke', form)).status, 200);
});

test('no other operation takes a form', async () => {
  const { client } = await signedInWith(service, 'self.update_profile');
  for (const [method, path] of [
    ['POST', '/api/v1/auth/login'],
    ['PUT', '/api/v1/users/me'],
  ] as const) {
    const answer = await client.request(method, path, {
      raw: 'first_name=x',
      headers: { 'content-type': FORM_TYPE },
    });
    assertRefused(answer, 415, 'unsupported_media_type');
  }
});

test('an outage of the database is 503 with Retry-After in the shape of OAuth', async (t) => {
  const relay = await relayTo(t, service.databaseUrl);
  const cutOff = await service.another({ DATABASE_URL: relay.url });
  await relay.cut();
  for (const { name, valid, headers } of endpoints) {
    const form = name === 'token' ? `${valid}&client_id=x&client_secret=${key}` : valid;
    const answer = await cutOff.client().request('POST', `/api/v1/oauth/${name}`, formRequest(form, headers));
    // A text that is no token needs no database.
    if (name === 'revoke') assert.equal(answer.status, 200);
    else {
      assert.deepEqual([answer.status, answer.body.error], [503, 'temporarily_unavailable'], answer.text);
      assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
    }
  }
});
