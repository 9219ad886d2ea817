import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '../src/index.ts';
import { createTestCastellan } from '../src/testing.ts';

const ORDERS = 'https://orders.example.com';

/** A signed-in browser and a service that answers with `statuses` in turn, then 200. */
async function open(statuses: number[] = [], services: readonly string[] = [ORDERS]) {
  const castellan = createTestCastellan();
  const user = castellan.addUser({ email: 'ada@example.com' });
  const atCastellan = castellan.browserFetch();
  const received: { authorization: string | null; body: string; redirect: string }[] = [];
  const client = createClient({
    baseUrl: castellan.baseUrl,
    services,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      if (request.url.startsWith(castellan.baseUrl)) return atCastellan(request);
      received.push({
        authorization: request.headers.get('authorization'),
        body: await request.text(),
        redirect: request.redirect,
      });
      return new Response('answer', { status: statuses.shift() ?? 200 });
    },
  });
  await client.auth.signIn({ email: user.email, password: user.password });
  return { castellan, user, client, received };
}

test('a service gets the access token', async () => {
  const { client, received } = await open();
  const response = await client.auth.fetch(`${ORDERS}/orders`, { method: 'POST', body: 'paper' });
  assert.equal(await response.text(), 'answer');
  assert.deepEqual(
    received.map(({ authorization, body, redirect }) => [
      /^Bearer ey/.test(authorization ?? ''),
      body,
      redirect,
    ]),
    [[true, 'paper', 'error']],
  );
});

test('after a 401 the token is replaced, and the request with its body is sent once more', async () => {
  const { client, received } = await open([401]);
  const response = await client.auth.fetch(`${ORDERS}/orders`, { method: 'POST', body: 'paper' });
  assert.equal(response.status, 200);
  assert.deepEqual(
    received.map(({ body }) => body),
    ['paper', 'paper'],
  );
  assert.notEqual(received[0]?.authorization, received[1]?.authorization);
});

test('a service that always answers 401 is asked twice, and its response is returned', async () => {
  const { client, received } = await open([401, 401, 401]);
  assert.equal((await client.auth.fetch(`${ORDERS}/orders`)).status, 401);
  assert.equal(received.length, 2);
  assert.equal(client.auth.state, 'authenticated');
});

test('the end of the session shows: the 401 is returned, and nobody is signed in', async () => {
  const { client, user, received } = await open([401]);
  user.endSessions();
  assert.equal((await client.auth.fetch(`${ORDERS}/orders`)).status, 401);
  assert.equal(received.length, 1);
  assert.equal(client.auth.state, 'anonymous');
});

test('other statuses are returned as they are', async () => {
  for (const status of [400, 403, 404, 503]) {
    const { client, received } = await open([status]);
    assert.equal((await client.auth.fetch(`${ORDERS}/orders`)).status, status);
    assert.equal(received.length, 1);
  }
});

test('the token goes to no other origin', async () => {
  const { client, received } = await open();
  for (const address of [
    'https://evil.example/',
    'http://orders.example.com/',
    'https://orders.example.com.evil.example/',
    'https://orders.example.com@evil.example/',
    'https://orders.example.com:444/',
    'data:text/plain,x',
    'blob:https://orders.example.com/0198c5a0',
  ])
    await assert.rejects(client.auth.fetch(address), TypeError, address);
  assert.equal(received.length, 0);
});

test('a Request as the address is refused', async () => {
  const { client, received } = await open();
  const request = new Request(`${ORDERS}/orders`);
  // @ts-expect-error: the address is a string or a URL.
  await assert.rejects(client.auth.fetch(request), { name: 'TypeError', message: /request\.url/ });
  assert.equal(received.length, 0);
});

test('a service that is no HTTP origin is refused when the client is created', () => {
  for (const service of ['orders', 'ftp://orders.example.com', 'javascript:alert(1)'])
    assert.throws(() => createClient({ baseUrl: 'https://id.example.com', services: [service] }), TypeError);
});

test('a response for one user is dropped when another has signed in', async () => {
  const castellan = createTestCastellan();
  const [ada, bob] = ['ada@example.com', 'bob@example.com'].map((email) => castellan.addUser({ email }));
  assert.ok(ada && bob);
  const atCastellan = castellan.browserFetch();
  const answer = Promise.withResolvers<Response>();
  const asked = Promise.withResolvers<void>();
  const client = createClient({
    baseUrl: castellan.baseUrl,
    services: [ORDERS],
    fetch: (input, init) => {
      const request = new Request(input, init);
      if (request.url.startsWith(castellan.baseUrl)) return atCastellan(request);
      asked.resolve();
      return answer.promise;
    },
  });
  await client.auth.signIn({ email: ada.email, password: ada.password });
  const orders = client.auth.fetch(`${ORDERS}/orders`);
  await asked.promise;
  await client.auth.signIn({ email: bob.email, password: bob.password });
  answer.resolve(new Response('the orders of ada'));
  await assert.rejects(orders, { code: 'session_changed' });
});

test('an aborted request ends with the reason of its signal', async () => {
  const { client } = await open();
  const reason = new Error('the person left the page');
  const refused = client.auth.fetch(`${ORDERS}/orders`, { signal: AbortSignal.abort(reason) });
  await assert.rejects(refused, (error) => error === reason);
});

test('without a session the request carries no token', async () => {
  const { client, received } = await open();
  await client.auth.signOut();
  await client.auth.fetch(`${ORDERS}/orders`);
  assert.equal(received[0]?.authorization, null);
});
