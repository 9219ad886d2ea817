// Methods, conditions, ranges, media types and credentials that few clients send: each is answered correctly or
// ignored, and none bypasses a guard or a limit. It must not end the administrator's session that it uses.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused, isUnsafe, routesOf } from '@castellan/testing/http/fixture';
import { canary, exchange, newRequestId } from '@castellan/testing/http/raw';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { assertError } from './answers.ts';
import { rawCaller } from './caller.ts';

const scenario = scenariosOf('http');
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const caller = await rawCaller(admin);
const routes = await routesOf(service);
const paths = [...new Set(routes.map(({ path }) => path))];
// HEAD would read a whole export, or wait for changes, for an answer without a body.
const isWithoutHead = (path: string): boolean => path.endsWith('/export') || path.endsWith('/access/feed');
/** Returns the methods of a path. `/users/list` also matches `/users/:user_id`. */
const methodsOf = (path: string): string[] =>
  routes
    .filter(({ url }) =>
      new RegExp(`^${url.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`).test(path),
    )
    .map(({ method }) => method);
const ask = async (method: string, target: string, fields: string): Promise<Answer> => {
  const behind = newRequestId('behind');
  const answers = await exchange(
    service.url,
    `${method} ${target} HTTP/1.1\r\nHost: a\r\n${fields}\r\n${canary(behind)}`,
    method === 'HEAD' ? { heads: [0] } : {},
  );
  assert.equal(answers.length, 2, `${method} ${target}`);
  assert.equal(answers[1]?.headers.get('x-request-id'), behind);
  return answers[0] as Answer;
};

scenario(
  'a method that a route does not have is 405 with exactly the methods it has, on every route, before any token',
  async (tally) => {
    // packages/server/test/access/forward.test.ts has every method of the others.
    const withMethods = routes.filter(({ config }) => !config.anyMethod).map(({ path }) => path);
    for (const path of new Set(withMethods)) {
      const own = methodsOf(path);
      // In another spelling of the path, and by a method that no route has.
      for (const target of [
        `http://evil.example${path}`,
        `${path}?x`,
        path.replace(/[a-z]$/, (one) => `%${one.charCodeAt(0).toString(16)}`),
      ]) {
        tally.tried();
        tally.held(assertError(await ask('PROPFIND', target, ''), 405, 'method_not_allowed', target));
      }
      const expected = [...own, ...(own.includes('GET') && !isWithoutHead(path) ? ['HEAD'] : [])];
      for (const method of [
        'PATCH',
        'TRACE',
        'OPTIONS',
        'PROPFIND',
        'PURGE',
        'LOCK',
        'QUERY',
        'GET',
        'PUT',
        'POST',
        'DELETE',
      ]) {
        if (own.includes(method)) continue;
        const answer = await ask(method, path, '');
        tally.tried();
        tally.held(assertError(answer, 405, 'method_not_allowed', `${method} ${path}`));
        const allowed = (answer.headers.get('allow') ?? '').split(', ');
        assert.deepEqual(allowed, [...new Set(expected)].sort(), `${method} ${path}`);
        assert.doesNotMatch(answer.text, /Bearer|csrf_token=/);
        tally.held(3);
      }
    }
  },
);

scenario('HEAD answers on every route what GET answers, without the body', async (tally) => {
  for (const { path } of routes.filter((one) => one.method === 'GET' && !isWithoutHead(one.path)))
    for (const fields of ['', caller.bearer]) {
      // Without a content coding, like the raw request: a coded body has another ETag.
      const asked = { 'accept-encoding': 'identity' };
      const get = await admin.get(path, {
        headers: fields === '' ? { ...asked, authorization: null } : asked,
      });
      const head = await ask('HEAD', path, fields);
      tally.tried(2);
      assert.equal(head.status, get.status, path);
      for (const name of ['content-type', 'cache-control', 'etag', 'www-authenticate'])
        assert.equal(head.headers.get(name), get.headers.get(name), `${path}: ${name}`);
      tally.held(5);
    }
});

scenario('HEAD of a route without GET is 405 and nothing else', async (tally) => {
  for (const path of paths.filter((one) => isWithoutHead(one) || !methodsOf(one).includes('GET'))) {
    const head = await ask('HEAD', path, caller.fields);
    tally.tried();
    assert.equal(head.status, 405, path);
    assert.doesNotMatch(head.headers.get('allow') ?? '', /HEAD/, path);
    tally.held(2);
  }
});

scenario(
  'an ETag saves the body, and no other conditional, range or Accept header changes what the API answers',
  async (tally) => {
    const path = '/api/v1/users/me';
    const plain = await ask('GET', path, caller.bearer);
    const data = JSON.stringify(plain.body.data);
    const etag = plain.headers.get('etag');
    for (const field of [
      'Range: bytes=0-0',
      'Range: bytes=0-,0-,0-,0-',
      `If-Range: ${etag}\r\nRange: bytes=0-1`,
      'If-None-Match: "another"',
      `If-Match: "another"`,
      'If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT',
      'If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT',
      'Accept: text/html',
      'Accept: */*;q=0',
      'Accept: ',
      'Accept: application/json;q=0',
      `Accept: ${'a/b,'.repeat(2_000)}`,
      'Accept: application/problem+json',
      'Accept-Encoding: gzip, br',
      'Accept-Charset: utf-16',
      'Accept-Language: \xff',
      'TE: trailers, deflate',
      'Cache-Control: only-if-cached',
      'Max-Forwards: 0',
      'Content-Type: application/xml',
      'Content-Length: 0',
    ]) {
      const answer = await ask('GET', path, `${caller.bearer}${field}\r\n`);
      tally.tried();
      assert.equal(answer.status, 200, field);
      assert.equal(JSON.stringify(answer.body.data), data, field);
      for (const name of ['content-encoding', 'content-range', 'accept-ranges', 'vary'])
        assert.equal(answer.headers.get(name), null, `${field}: ${name}`);
      tally.held(6);
    }
    for (const field of [`If-None-Match: ${etag}`, `If-None-Match: "another", ${etag}`, 'If-None-Match: *']) {
      const answer = await ask('GET', path, `${caller.bearer}${field}\r\n`);
      tally.tried();
      assert.deepEqual([answer.status, answer.text], [304, ''], field);
      const stranger = await ask('GET', path, `Authorization: Bearer forged\r\n${field}\r\n`);
      assert.equal(stranger.status, 401, field);
      tally.held(2);
    }
  },
);

scenario(
  'credentials in any other form, place or number than one Bearer header are ignored',
  async (tally) => {
    const token = admin.accessToken as string;
    const basic = Buffer.from(`${ADMIN.email}:${ADMIN.password}`).toString('base64');
    const missing = [
      `Authorization: Basic ${basic}`,
      `Authorization: Digest username="${ADMIN.email}"`,
      `Authorization: Negotiate ${token}`,
      `Authorization: Token ${token}`,
      `Authorization: ${token}`,
      `Authorization: Bearer${token}`,
      'Authorization: Bearer',
      'Authorization: ',
      `Proxy-Authorization: Bearer ${token}`,
      `X-Authorization: Bearer ${token}`,
      `X-Access-Token: ${token}`,
      `X-Api-Key: ${token}`,
      `X-Forwarded-Authorization: Bearer ${token}`,
      `Cookie: access_token=${token}; Authorization=Bearer ${token}`,
      `Authorization_: Bearer ${token}`,
      `Authorization: Basic ${basic}, Bearer ${token}`,
      `Authorization: Bearer ${token}, Bearer ${token}`,
      `Authorization: Bearer ${token} ${token}`,
      `Authorization: Bearer "${token}"`,
      `Authorization: Bearer ${token}.`,
      `Authorization: Bearer ${token}=`,
      `Authorization: Bearer ${token}\x00`.replace('\x00', '%00'),
    ];
    for (const field of missing)
      for (const path of ['/api/v1/users/me', `/api/v1/users/me?access_token=${token}&token=${token}`]) {
        const answer = await ask('GET', path, `${field}\r\n`);
        tally.tried();
        assert.equal(answer.status, 401, field.slice(0, 40));
        assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
        tally.held(2);
      }
    for (const first of [`Basic ${basic}`, 'Bearer x', `Bearer ${token}`]) {
      const fields = `Authorization: ${first}\r\nAuthorization: Bearer ${token}\r\n`;
      const answer = await ask('GET', '/api/v1/users/me', fields);
      tally.tried();
      assert.equal(answer.status, 400, first.slice(0, 12));
      tally.held();
    }
    assert.equal((await ask('GET', '/api/v1/users/me', `authorization: bEARER ${token}\r\n`)).status, 200);
    tally.held();
  },
);

scenario(
  'a method named in a header, in the address or in the body changes nothing, on any route',
  async (tally) => {
    for (const { method, path } of routes.filter((one) => isUnsafe(one) && one.config.csrf !== false))
      for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override']) {
        const answer = await admin.request(method, `${path}?_method=GET`, {
          json: { _method: 'GET' },
          headers: { [name]: 'GET', 'x-csrf-token': null },
        });
        tally.tried();
        assertRefused(answer, 403, 'csrf_invalid');
        tally.held();
      }
  },
);

scenario('a peer that is not trusted cannot exceed a limit with any forwarded address', async (tally, t) => {
  const limited = await startTestService(t, { RATE_LIMIT_LOGIN: '5/hour' });
  const proxied = await startTestService(t, { RATE_LIMIT_LOGIN: '5/hour', TRUSTED_PROXIES: '127.0.0.1' });
  const count = rounds(60, 300);
  const lies = (index: number): Record<string, string>[] => {
    const address = `203.0.${index >> 8}.${index & 255}`;
    return [
      { 'x-forwarded-for': address },
      { 'x-real-ip': address },
      { forwarded: `for=${address}` },
      { 'cf-connecting-ip': address, 'true-client-ip': address, 'x-client-ip': address },
      { 'x-forwarded-for': `${address}, 127.0.0.1` },
      { 'x-forwarded-for': `${address}, garbage` },
    ];
  };
  for (const [on, usable] of [
    [limited, lies],
    // Behind a trusted proxy the last address is the client's. The client may have invented those before it.
    [
      proxied,
      (index: number) =>
        lies(index).map((one) => ({ 'x-forwarded-for': `${one['x-forwarded-for'] ?? 'x'}, 198.51.100.7` })),
    ],
  ] as const) {
    const client = on.client();
    await client.get('/api/v1/auth/csrf-token');
    const answers = await Promise.all(
      Array.from({ length: count }, (_, index) =>
        client.request('POST', '/api/v1/auth/login', {
          raw: '{',
          headers: { 'content-type': 'application/json', ...usable(index)[index % 6] },
        }),
      ),
    );
    tally.tried(count);
    assert.equal(answers.filter(({ status }) => status !== 429).length, 5);
    tally.held();
  }
});
