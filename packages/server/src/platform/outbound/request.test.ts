import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { createServer as createTcp, isIPv6, type Server } from 'node:net';
import { type TestContext, test } from 'node:test';
import { makeCertificate } from '@castellan/testing/http/certificate';
import { portOf } from '@castellan/testing/ports';
import { parseRanges } from '../security/address-ranges.ts';
import { refusalOf } from './destinations.ts';
import { askOutside, OutboundError, type OutboundRequest } from './request.ts';

const certificate = makeCertificate('localhost');
const none = parseRanges('');
const get = { method: 'GET', plain: 'loopback', maxBytes: 1_000 } as const;

const codeOf = async (request: OutboundRequest, outboundDeny = none): Promise<string> => {
  const error = await askOutside({ outboundDeny }, request).then(
    () => assert.fail('answered'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof OutboundError, String(error));
  return error.code;
};

async function listen<S extends Server>(t: TestContext, server: S): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return portOf(server);
}
const serve = (t: TestContext, listener: RequestListener): Promise<number> => {
  const server = createHttp(listener);
  t.after(() => server.closeAllConnections());
  return listen(t, server);
};

test('link-local, multicast, unspecified and denied addresses are refused in every spelling', () => {
  const deny = parseRanges('10.1.0.0/16, 2001:db8:1::/48');
  const judge = (text: string, isPlain = false, plain: 'loopback' | 'private' = 'loopback') =>
    refusalOf(text, { isPlain, plain, deny });
  for (const text of [
    '169.254.169.254',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    'fe80::1',
    'fe80::1%eth0',
    '224.0.0.1',
    'ff02::1',
    '0.0.0.0',
    '::',
    '255.255.255.255',
    '10.1.2.3',
    '::ffff:10.1.2.3',
    '64:ff9b::a01:203',
    '2001:db8:1::7',
    '64:ff9b:1::a9fe:a9fe',
    '::ffff:0:a9fe:a9fe',
    '2002:a9fe:a9fe::1',
    '2001:0:a9fe:a9fe::1',
  ])
    assert.equal(judge(text), 'address_refused', text);
  for (const text of ['10.2.0.1', '192.168.1.9', '127.0.0.1', '::1', 'fd00::1', '203.0.113.7', '2001:db8::7'])
    assert.equal(judge(text), null, text);
  for (const [text, loopback, inPrivate] of [
    ['127.0.0.1', null, null],
    ['::1', null, null],
    ['10.2.0.1', 'not_https', null],
    ['172.16.0.9', 'not_https', null],
    ['fd00::1', 'not_https', null],
    ['100.64.0.1', 'not_https', 'not_https'],
    ['203.0.113.7', 'not_https', 'not_https'],
  ] as const) {
    assert.equal(judge(text, true), loopback, text);
    assert.equal(judge(text, true, 'private'), inPrivate, text);
  }
});

test('the address is judged when it is connected to, whether a name or a literal names it', async (t) => {
  let asked = 0;
  const port = await serve(t, (_request, response) => {
    asked += 1;
    response.writeHead(200, { 'x-from': 'app' }).end('{}');
  });
  const resolve =
    (...addresses: string[]) =>
    async () =>
      addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const url = `http://app.example.test:${port}/keys`;
  assert.partialDeepStrictEqual(
    await askOutside({ outboundDeny: none }, { ...get, url, resolve: resolve('127.0.0.1') }),
    {
      status: 200,
      headers: { 'x-from': 'app' },
      body: '{}',
    },
  );
  assert.equal(await codeOf({ ...get, url, resolve: resolve('169.254.169.254') }), 'address_refused');
  assert.equal(await codeOf({ ...get, url, resolve: resolve('10.0.0.1') }), 'not_https');
  assert.equal(
    await codeOf({ ...get, url, resolve: resolve('127.0.0.1') }, parseRanges('127.0.0.0/8')),
    'address_refused',
  );
  assert.equal(
    await codeOf({ ...get, url: `http://127.0.0.1:${port}/` }, parseRanges('127.0.0.1')),
    'address_refused',
  );
  assert.equal(await codeOf({ ...get, url: `http://[::ffff:a9fe:a9fe]:${port}/` }), 'address_refused');
  assert.equal(asked, 1);
});

test('no redirect is followed, and no more of a body is read than asked for', async (t) => {
  const paths: string[] = [];
  const port = await serve(t, (request, response) => {
    paths.push(request.url ?? '');
    if (request.url === '/large') response.end('x'.repeat(1_001));
    else response.writeHead(302, { location: '/large' }).end();
  });
  const url = `http://127.0.0.1:${port}`;
  assert.equal((await askOutside({ outboundDeny: none }, { ...get, url: `${url}/start` })).status, 302);
  assert.equal(await codeOf({ ...get, url: `${url}/large` }), 'too_large');
  assert.partialDeepStrictEqual(
    await askOutside({ outboundDeny: none }, { ...get, url: `${url}/large`, maxBytes: 0 }),
    {
      status: 200,
      body: '',
    },
  );
  assert.deepEqual(paths, ['/start', '/large', '/large']);
});

test('an address that answers nothing, or something else than HTTP, is an error with a code', async (t) => {
  const closed = createTcp((socket) => socket.destroy());
  const upgrading = createTcp((socket) =>
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    ),
  );
  assert.equal(await codeOf({ ...get, url: `http://127.0.0.1:${await listen(t, closed)}/` }), 'ECONNRESET');
  assert.equal(await codeOf({ ...get, url: `http://127.0.0.1:${await listen(t, upgrading)}/` }), 'no_answer');
});

test('certificates are verified, and a body arrives as it was sent', async (t) => {
  let received = '';
  const server = createHttps(certificate, (request, response) => {
    request.setEncoding('utf8').on('data', (chunk: string) => {
      received += chunk;
    });
    request.once('end', () => response.writeHead(204).end());
  });
  t.after(() => server.closeAllConnections());
  const port = await listen(t, server);
  const post = { method: 'POST', plain: 'private', maxBytes: 0, body: 'logout_token=Zoë' } as const;
  const url = `https://localhost:${port}/`;
  assert.partialDeepStrictEqual(
    await askOutside({ outboundDeny: none }, { ...post, url, ca: certificate.cert }),
    {
      status: 204,
      body: '',
    },
  );
  assert.equal(received, 'logout_token=Zoë');
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.after(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
  assert.equal(await codeOf({ ...post, url }), 'DEPTH_ZERO_SELF_SIGNED_CERT');
  assert.equal(
    await codeOf({ ...post, url: `https://127.0.0.1:${port}/`, ca: certificate.cert }),
    'ERR_TLS_CERT_ALTNAME_INVALID',
  );
});
