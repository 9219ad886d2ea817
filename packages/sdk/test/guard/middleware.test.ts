// How a guard treats requests and responses that are not in the state it expects.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import Fastify from 'fastify';
import { makeKey } from '../../src/guard/api-key.ts';
import { createGuard, type Guard, type GuardOptions, type HeaderCarrier } from '../../src/index.ts';
import { PERMISSION } from './surfaces.ts';

/** Returns a guard that cannot reach Castellan. */
const guardOf = (options: Partial<GuardOptions> = {}): Guard =>
  createGuard({
    baseUrl: 'https://id.example.com',
    apiKey: 'castellan_guard',
    fetch: () => Promise.reject(new Error('unreachable')),
    ...options,
  });
/** Returns a guard that lets every API key through, of an account with the permission. */
const openGuard = (): Guard => {
  const answer = {
    active: true,
    sub: 'account',
    client_id: 'account',
    username: 'Import',
    jti: 'key',
    iat: Math.floor(Date.now() / 1_000),
    permissions: [PERMISSION],
  };
  return guardOf({ fetch: async () => Response.json(answer) });
};
const KEY = makeKey();
const withKey = { headers: { authorization: `Bearer ${KEY}` } };

/** Returns the status that a client gets from a listener with a guard. */
async function serve(listen: (guard: Guard) => Parameters<typeof createServer>[1]): Promise<number> {
  const server = createServer(listen(guardOf())).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await response.text();
    return response.status;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test('a refusal after the response was sent writes nothing and runs no handler', async () => {
  for (const send of ['writeHead', 'end'] as const) {
    let checked: Promise<void> | undefined;
    const called: unknown[] = [];
    const status = await serve((guard) => (request, response) => {
      checked = guard.authenticated.express(request, response, () => called.push(send));
      if (send === 'end') response.writeHead(504).end('late');
      else {
        response.writeHead(504).flushHeaders();
        checked.finally(() => response.end()).catch(() => undefined);
      }
    });
    assert.equal(status, 504);
    await assert.doesNotReject(Promise.resolve(checked), send);
    assert.deepEqual(called, []);
  }
  const calls: string[] = [];
  const record = (name: string) => () => calls.push(name);
  const reply = { sent: true, code: record('code'), header: record('header'), send: record('send') };
  await guardOf().authenticated.fastify({ headers: {} }, reply);
  assert.deepEqual(calls, []);
});

test('a refusal that cannot be written ends the connection, and the handler does not run', async () => {
  const calls: string[] = [];
  const response = {
    statusCode: 200,
    setHeader: () => {
      throw new Error('broken response');
    },
    end: () => undefined,
    destroy: () => calls.push('destroy'),
  };
  await guardOf().authenticated.express({ headers: {} }, response, () => calls.push('next'));
  assert.deepEqual(calls, ['destroy']);
});

test('what a handler throws is no rejection of the guard', async (t) => {
  const thrown = new Error('broken handler');
  const caught = Promise.withResolvers<unknown>();
  process.setUncaughtExceptionCaptureCallback(caught.resolve);
  t.after(() => process.setUncaughtExceptionCaptureCallback(null));
  const nothing = () => undefined;
  const response = { statusCode: 200, setHeader: nothing, end: nothing, destroy: nothing };
  await openGuard().authenticated.express(withKey, response, () => {
    throw thrown;
  });
  assert.equal(await caught.promise, thrown);
});

/** As the NextRequest of Next.js. */
class OwnRequest extends Request {
  readonly origin = new URL(this.url).origin;
}

test('fetch takes handlers of a subclass of Request, and of more parameters', async () => {
  const { fetch } = openGuard().authenticated;
  const handler = fetch((request: OwnRequest, { params }: { params: Promise<{ id: string }> }) =>
    params.then(({ id }) => new Response(request.origin + id)),
  );
  const request = new OwnRequest('http://orders.example/', withKey);
  const response = await handler(request, { params: Promise.resolve({ id: '/7' }) });
  assert.equal(await response.text(), 'http://orders.example/7');
  // @ts-expect-error: the handler needs more than a Request.
  handler satisfies (request: Request) => Promise<Response>;
  const plain: (request: Request) => Promise<Response> = fetch((request) => new Response(request.url));
  assert.equal((await plain(request)).status, 200);
});

test('an inherited Authorization header does not count', async () => {
  const headers = Object.create(withKey.headers);
  await assert.rejects(openGuard().authenticate({ headers }), { code: 'missing_token' });
  assert.ok(await openGuard().authenticate({ headers: Object.assign(Object.create(null), withKey.headers) }));
});

test('of two Authorization headers none counts', async () => {
  const rawHeaders = ['Host', 'Authorization', 'Authorization', `Bearer ${KEY}`];
  assert.ok(await openGuard().authenticate({ ...withKey, rawHeaders } as HeaderCarrier));
  const repeated = [...rawHeaders, 'authorization', `Bearer ${makeKey()}`];
  for (const request of [{ rawHeaders: repeated }, { raw: { rawHeaders: repeated } }])
    await assert.rejects(openGuard().authenticate(Object.assign(request, withKey)), { status: 401 });
  const headers = new Headers(withKey.headers);
  headers.append('authorization', `Bearer ${makeKey()}`);
  await assert.rejects(openGuard().authenticate({ headers }), { status: 401 });
});

test('two Authorization headers over HTTP are refused', async () => {
  const app = Fastify();
  app.get('/', { onRequest: openGuard().authenticated.fastify }, () => 'ok');
  app.get('/express', (request, reply) => {
    reply.hijack();
    openGuard().authenticated.express(request.raw, reply.raw, () => reply.raw.end('ok'));
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const statusOf = async (path: string, authorization: string[]) => {
    const headers = ['host', 'orders.example', ...authorization.flatMap((one) => ['authorization', one])];
    const [response] = await once(get({ port, path, headers }), 'response');
    response.resume();
    return response.statusCode;
  };
  try {
    for (const path of ['/', '/express']) {
      assert.equal(await statusOf(path, [`Bearer ${KEY}`]), 200, path);
      assert.equal(await statusOf(path, [`Bearer ${KEY}`, 'Bearer x']), 401, path);
    }
  } finally {
    await app.close();
  }
});

test('every refusal without an answer is logged once, and no other one', async () => {
  const logged: string[] = [];
  const guard = guardOf({ onUnavailable: ({ code }) => logged.push(code) });
  const broken = {} as HeaderCarrier;
  const handler = guard.require(PERMISSION).fetch(() => new Response('ok'));
  assert.equal((await handler(broken as Request)).status, 503);
  assert.deepEqual(logged, ['unavailable']);
  await assert.rejects(guard.authenticate(broken), { code: 'unavailable' });
  assert.equal((await handler(new Request('http://orders.example/', withKey))).status, 503);
  assert.deepEqual(logged, Array(3).fill('unavailable'));
  assert.equal((await handler(new Request('http://orders.example/'))).status, 401);
  assert.equal(logged.length, 3);
});
