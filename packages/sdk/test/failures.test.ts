// What a call does when a response is a refusal, is not of the service, is late, or never comes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClientIn } from '../src/client.ts';
import { CastellanError } from '../src/index.ts';
import { createHost, createService, hang, json, ME, machine, refusal } from './fixture.ts';

const ID = '0198c5a0-0000-7000-8000-000000000000';
const offline = () => Promise.reject(new TypeError('fetch failed'));
const busy = (status: 429 | 503, seconds: string) => () =>
  refusal(status, 'overloaded', { 'retry-after': seconds });
const create = 'POST /api/v1/roles';
const body = { name: 'Editors' };

test('a refusal has the code, message, status, request id, fields and body of the response', async () => {
  const service = createService();
  const fields = [{ field: 'name', code: 'too_long', message: 'Shorten it.' }];
  service.next(create, () =>
    refusal(422, 'validation_failed', {}, { errors: [...fields, 'x', { field: 1 }], more: 1 }),
  );
  const error = await machine(service)
    .client.post('/api/v1/roles', { body })
    .catch((reason: unknown) => reason);
  assert.ok(error instanceof CastellanError && error instanceof Error);
  const { name, code, message, status, requestId, retryAfterMs } = error;
  assert.deepEqual(
    { name, code, message, status, requestId, retryAfterMs },
    {
      name: 'CastellanError',
      code: 'validation_failed',
      message: 'text of validation_failed',
      status: 422,
      requestId: 'r-1',
      retryAfterMs: null,
    },
  );
  assert.deepEqual(error.fields, fields);
  assert.equal(error.body?.more, 1);
});

test('the message of a rejected password is that of its detail', async () => {
  const service = createService();
  const detail = { message: 'Choose another password.', errors: ['Use a digit.'] };
  service.next(create, () => refusal(400, 'password_rejected', {}, { detail }));
  await assert.rejects(machine(service).client.post('/api/v1/roles', { body }), {
    message: 'Choose another password.',
    body: { detail, code: 'password_rejected', request_id: 'r-1' },
  });
});

test('errors of the token services have their code and description', async () => {
  const service = createService();
  service.next('POST /api/v1/oauth/token', () =>
    json(401, { error: 'invalid_client', error_description: 'No.' }),
  );
  await assert.rejects(
    machine(service).client.post('/api/v1/oauth/token', { body: { grant_type: 'client_credentials' } }),
    { code: 'invalid_client', message: 'No.', status: 401 },
  );
});

const brokenBody = () =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"data":'));
      controller.error(new TypeError('terminated'));
    },
  });
const type = { 'content-type': 'application/json' };
const malformed: [what: string, respond: () => Response, status: number][] = [
  ['HTML with 200', () => new Response('<html>', { headers: { 'content-type': 'text/html' } }), 200],
  [
    'JSON of another content type',
    () => new Response('{}', { headers: { 'content-type': 'text/plain' } }),
    200,
  ],
  ['JSON without a content type', () => new Response(new TextEncoder().encode('{}')), 200],
  ['an empty body', () => new Response('', { headers: type }), 200],
  ['a cut text', () => new Response('{"data":{"id"', { headers: type }), 200],
  ['a cut connection', () => new Response(brokenBody(), { headers: type }), 200],
  ['null', () => json(200, null), 200],
  ['a list', () => json(200, []), 200],
  [
    'a redirect',
    () => new Response(null, { status: 302, headers: { location: 'https://evil.example/' } }),
    302,
  ],
  ['a redirect that keeps the method', () => new Response(null, { status: 307 }), 307],
  ['an error page of a proxy', () => new Response('<html>', { status: 502 }), 502],
  ['an error without a code', () => json(500, { detail: 'no' }), 500],
];
for (const [what, respond, status] of malformed) {
  test(`${what} is malformed_response and is not repeated`, async () => {
    const service = createService();
    service.always(ME, respond);
    await assert.rejects(machine(service).client.get('/api/v1/users/me'), {
      code: 'malformed_response',
      status,
    });
    assert.equal(service.requests.length, 1);
  });
}

test('a redirect is an error even if its body is one of the service', async () => {
  const service = createService();
  service.always(ME, () => refusal(308, 'rate_limited', { location: 'https://evil.example/' }));
  await assert.rejects(machine(service).client.get('/api/v1/users/me'), {
    code: 'malformed_response',
    message: 'The response with status 308 is a redirect, which is not followed. Check baseUrl.',
  });
});

test('304 is not_modified, carries the id of the request and is not repeated', async () => {
  const service = createService();
  service.always(ME, () => new Response(null, { status: 304, headers: { 'x-request-id': 'known' } }));
  const headers = { 'if-none-match': '"1-x"' };
  await assert.rejects(machine(service).client.get('/api/v1/users/me', { headers }), {
    code: 'not_modified',
    status: 304,
    requestId: 'known',
  });
  assert.equal(service.requests.length, 1);
});

test('the hidden redirect of a browser is malformed_response', async () => {
  const hidden = Object.defineProperty(Response.error(), 'type', { value: 'opaqueredirect' });
  const service = createService();
  service.next(ME, () => hidden);
  await assert.rejects(machine(service).client.get('/api/v1/users/me'), {
    code: 'malformed_response',
    status: 0,
  });
});

test('a proxy that is busy without an error code is waited for, too', async () => {
  const service = createService();
  const { client, host } = machine(service);
  service.next(ME, () => new Response('busy', { status: 503, headers: { 'retry-after': '3' } }));
  await client.get('/api/v1/users/me');
  assert.deepEqual(host.sleeps, [3_000]);
});

type Client = ReturnType<typeof machine>['client'];
const path = { role_id: ID };
const calls: [what: string, operation: string, call: (client: Client) => Promise<unknown>][] = [
  ['GET', ME, (client) => client.get('/api/v1/users/me')],
  ['PUT', `PUT /api/v1/roles/${ID}`, (client) => client.put('/api/v1/roles/{role_id}', { path, body })],
  ['DELETE', `DELETE /api/v1/roles/${ID}`, (client) => client.delete('/api/v1/roles/{role_id}', { path })],
  ['POST with a key', create, (client) => client.post('/api/v1/roles', { body })],
  [
    'POST without a key',
    'POST /api/v1/role-groups/sync-roles',
    (client) => client.post('/api/v1/role-groups/sync-roles'),
  ],
];
const repeated: [failure: string, respond: () => Promise<never> | Response, methods: string[]][] = [
  ['429', busy(429, '1'), ['GET', 'PUT', 'DELETE', 'POST with a key', 'POST without a key']],
  ['503', busy(503, '1'), ['GET', 'PUT', 'DELETE', 'POST with a key']],
  ['a network error', offline, ['GET', 'POST with a key']],
  ['500', () => refusal(500, 'internal_error', { 'retry-after': '1' }), []],
  ['429 without Retry-After', () => refusal(429, 'rate_limited'), []],
  ['503 with an unreadable Retry-After', busy(503, 'soon'), []],
];
for (const [failure, respond, methods] of repeated)
  for (const [what, operation, call] of calls) {
    const isRepeated = methods.includes(what);
    test(`${what} is ${isRepeated ? '' : 'not '}repeated after ${failure}`, async () => {
      const service = createService();
      service.next(operation, respond);
      const { client } = machine(service);
      if (isRepeated) await call(client);
      else await assert.rejects(call(client), CastellanError);
      assert.equal(service.count(operation), isRepeated ? 2 : 1);
    });
  }

const keys = `/api/v1/service-accounts/${ID}/keys`;
const keyCalls: [what: string, operation: string, call: (client: Client) => Promise<unknown>][] = [
  [
    'the creation of an API key',
    `POST ${keys}`,
    (client) =>
      client.post('/api/v1/service-accounts/{service_account_id}/keys', {
        path: { service_account_id: ID },
        body: { name: 'deploy' },
      }),
  ],
  [
    'the rotation of an API key',
    `POST ${keys}/${ID}/rotate`,
    (client) =>
      client.post('/api/v1/service-accounts/{service_account_id}/keys/{key_id}/rotate', {
        path: { service_account_id: ID, key_id: ID },
      }),
  ],
];
for (const [what, operation, call] of keyCalls)
  test(`${what} is repeated after 429 and 503, and not after a network error, because only the first response has the key`, async () => {
    const service = createService();
    const { client } = machine(service);
    service.next(operation, busy(429, '1'), busy(503, '1'));
    await call(client);
    assert.equal(service.count(operation), 3);
    service.next(operation, offline);
    await assert.rejects(call(client), { code: 'network_error' });
    assert.equal(service.count(operation), 4);
  });

test('an Idempotency-Key stays the same over all attempts of a call, and differs between calls', async () => {
  const service = createService();
  const { client } = machine(service);
  service.next(create, offline, busy(429, '1'));
  await client.post('/api/v1/roles', { body });
  await client.post('/api/v1/roles', { body });
  await client.post('/api/v1/roles', { body, idempotencyKey: 'mine' });
  await client.post('/api/v1/roles', { body, headers: { 'Idempotency-Key': 'also mine' } });
  const keys = service.requests.map(({ headers }) => headers.get('idempotency-key'));
  assert.equal(new Set(keys.slice(0, 3)).size, 1);
  assert.match(keys[0] ?? '', /^[0-9a-f]{32}$/);
  assert.notEqual(keys[2], keys[3]);
  assert.deepEqual(keys.slice(4), ['mine', 'also mine']);
});

test('a key whose first request is still running is waited for', async () => {
  const service = createService();
  const { client, host } = machine(service);
  service.next(create, offline, () => refusal(409, 'idempotency_in_progress', { 'retry-after': '1' }));
  await client.post('/api/v1/roles', { body });
  assert.equal(host.sleeps.length, 2);
});

test('a call ends after three attempts, or as many as the client allows', async () => {
  for (const [options, expected] of [
    [{}, 3],
    [{ attempts: 1 }, 1],
    [{ attempts: 5 }, 5],
  ] as const) {
    const service = createService();
    service.always(ME, busy(429, '1'));
    await assert.rejects(machine(service, options).client.get('/api/v1/users/me'), { status: 429 });
    assert.equal(service.requests.length, expected);
  }
});

test('a call does not wait longer in total than the client allows', async () => {
  const service = createService();
  service.always(ME, busy(503, '20'));
  const { client, host } = machine(service);
  await assert.rejects(client.get('/api/v1/users/me'), { status: 503, retryAfterMs: 20_000 });
  assert.deepEqual(host.sleeps, [20_000]);
});

test('waits are spread: never shorter than Retry-After, at most a quarter longer', async () => {
  const service = createService();
  const host = { ...createHost(service), random: () => 0.999 };
  const client = createClientIn(host, { baseUrl: 'https://a.example', apiKey: 'castellan_key' });
  service.next(ME, busy(429, '4'));
  await client.get('/api/v1/users/me');
  assert.deepEqual(host.sleeps.map(Math.round), [4_999]);
});

test('Retry-After may be a date', async () => {
  const service = createService();
  const { client, host } = machine(service);
  service.next(ME, () => busy(503, new Date(host.now() + 5_000).toUTCString())());
  await client.get('/api/v1/users/me');
  assert.deepEqual(host.sleeps, [5_000]);
});

test('pauses after network errors grow', async () => {
  const service = createService();
  const { client, host } = machine(service);
  service.always(ME, offline);
  await assert.rejects(client.get('/api/v1/users/me'), (error: unknown) => {
    assert.ok(error instanceof CastellanError && error.cause instanceof TypeError);
    assert.deepEqual([error.code, error.status, error.requestId], ['network_error', 0, null]);
    return true;
  });
  assert.deepEqual(host.sleeps, [250, 500]);
});

test('a service that never responds is a timeout, which is not repeated', async () => {
  const service = createService();
  service.always(ME, ({ init }) => hang(init.signal));
  await assert.rejects(machine(service).client.get('/api/v1/users/me', { timeoutMs: 5 }), {
    code: 'timeout',
    status: 0,
  });
  assert.equal(service.requests.length, 1);
});

const endless = () => new Response(new ReadableStream({ start() {} }), { headers: type });

test('a body that never ends is a timeout', async () => {
  const service = createService();
  service.always(ME, endless);
  await assert.rejects(machine(service).client.get('/api/v1/users/me', { timeoutMs: 5 }), {
    code: 'timeout',
  });
});

test('a timeout of Infinity is none', async () => {
  const service = createService();
  await machine(service).client.get('/api/v1/users/me', { timeoutMs: Infinity });
});

test('the signal of the caller ends a call before it starts, while it is sent, read, and waits', async () => {
  const reason = new Error('closed');
  const isReason = (error: unknown) => error === reason;
  const service = createService();
  const { client } = machine(service);
  await assert.rejects(client.get('/api/v1/users/me', { signal: AbortSignal.abort(reason) }), isReason);
  assert.equal(service.requests.length, 0);

  for (const respond of [() => new Promise<never>(() => {}), endless]) {
    const controller = new AbortController();
    service.next(ME, () => {
      setImmediate(() => controller.abort(reason));
      return respond();
    });
    await assert.rejects(client.get('/api/v1/users/me', { signal: controller.signal }), isReason);
  }

  const controller = new AbortController();
  const { sleep } = await import('../src/calls/waiting.ts');
  const waiting = createClientIn(
    { ...createHost(service), sleep },
    { baseUrl: 'https://a.example', apiKey: 'k' },
  );
  service.next(ME, () => {
    setTimeout(() => controller.abort(reason), 1);
    return busy(503, '20')();
  });
  await assert.rejects(waiting.get('/api/v1/users/me', { signal: controller.signal }), isReason);
});

test('the signal of the caller ends the stream of an export', async () => {
  const service = createService();
  const controller = new AbortController();
  let seen: AbortSignal | null | undefined;
  service.next('GET /api/v1/audit-logs/export', ({ init }) => {
    seen = init.signal;
    return new Response('', { headers: { 'content-type': 'text/csv' } });
  });
  await machine(service).client.get('/api/v1/audit-logs/export', { signal: controller.signal });
  assert.equal(seen?.aborted, false);
  controller.abort();
  assert.equal(seen?.aborted, true);
});
