// What a gateway that reads the status is told: GET /api/v1/access/forward. Only 204 lets a request pass.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { METHODS } from 'node:http';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused, relayTo } from '@castellan/testing/http/fixture';
import { exchange } from '@castellan/testing/http/raw';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { clientToken } from '@castellan/testing/service-accounts/token-services';
import { countStatements, statementsOf } from '@castellan/testing/statements';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';

const ORIGIN = 'https://app.example.com';
const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0', CORS_ORIGINS: ORIGIN });
const twin = await service.another();
const admin = await signIn(service, ADMIN);
const path = '/api/v1/access/forward';
const asking = (permission: string): string => `${path}?permission=${encodeURIComponent(permission)}`;

/** Sends what a gateway sends: the caller's token, without a cookie or a CSRF token. */
const ask = (token: string | null | undefined, target = path, headers: Record<string, string> = {}) =>
  service.client().get(target, {
    headers: { authorization: token == null ? null : `Bearer ${token}`, ...headers },
  });
const subjectIn = ({ headers }: Answer) =>
  Object.fromEntries(
    ['type', 'id', 'name', 'email'].map((part) => [part, headers.get(`x-castellan-subject-${part}`)]),
  );

function assertPasses(answer: Answer, what?: string): void {
  assert.deepEqual([answer.status, answer.text], [204, ''], what ?? answer.text);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  for (const name of ['content-type', 'content-length', 'etag', 'set-cookie', 'location'])
    assert.equal(answer.headers.get(name), null, name);
}

/** Asserts that no refusal tells who the caller is. */
function assertDenied(answer: Answer, permission: string): void {
  assertRefused(answer, 403, 'permission_denied');
  assert.equal(answer.body.required_permission, permission);
  assert.ok(answer.body.detail.includes(permission));
  assert.deepEqual(subjectIn(answer), { type: null, id: null, name: null, email: null });
}

test('204 tells who the caller is, in percent-encoded UTF-8', async () => {
  const person = await addPerson(service, {
    email: `o'neil+${randomUUID()}@example.com`,
    firstName: 'Zoë %41',
    lastName: 'Ōe 大江',
  });
  const answer = await ask((await signIn(service, person)).accessToken);
  assertPasses(answer);
  assert.deepEqual(subjectIn(answer), {
    type: 'user',
    id: person.id,
    name: encodeURIComponent('Zoë %41 Ōe 大江'),
    email: encodeURIComponent(person.email),
  });
  const single = await addPerson(service, { firstName: 'Suharto', lastName: '' });
  assert.equal(subjectIn(await ask((await signIn(service, single)).accessToken)).name, 'Suharto');

  const robot = await addServiceAccount(service, { name: `Röbot ${randomUUID()}` });
  for (const token of [robot.key, await clientToken(service, robot)]) {
    const machine = await ask(token);
    assertPasses(machine);
    assert.deepEqual(subjectIn(machine), {
      type: 'service_account',
      id: robot.id,
      name: encodeURIComponent(robot.name),
      email: null,
    });
  }
});

test('an international domain is told by its letters, as in the record', async () => {
  const person = await addPerson(service, { email: `zoe-${randomUUID()}@xn--mnchen-3ya.example` });
  const client = await signIn(service, person);
  const { body } = await client.get('/api/v1/users/me');
  const answer = await ask(client.accessToken);
  assertPasses(answer);
  assert.match(body.data.email, /@münchen\.example$/);
  assert.equal(subjectIn(answer).email, encodeURIComponent(body.data.email));
});

test('with a permission, callers who hold it pass, on every instance and until it is taken away', async () => {
  const role = await addRole(service, 'role.read');
  const person = await addPerson(service, { roles: [role] });
  const { accessToken } = await signIn(service, person);
  for (const name of ['role.read', 'ROLE.Read']) assertPasses(await ask(accessToken, asking(name)), name);
  assertDenied(await ask(accessToken, asking('ROLE.delete')), 'role.delete');
  const changed = await admin.post(`/api/v1/users/${person.id}/roles`, { role_ids: [] });
  assert.equal(changed.status, 200, changed.text);
  const elsewhere = await twin.client().get(asking('role.read'), {
    headers: { authorization: `Bearer ${accessToken}` },
  });
  assertDenied(elsewhere, 'role.read');
  assertPasses(await ask(accessToken));
});

test('a permission that does not exist lets nobody pass, superusers included', async () => {
  for (const name of ['role.raed', 'role', 'orders_2.read-all'])
    assertDenied(await ask(admin.accessToken, asking(name)), name);
  for (const name of ['*', ' ', 'role.read ', '<b>role.read</b>', 'x'.repeat(2_000)]) {
    const answer = await ask(admin.accessToken, asking(name));
    assertRefused(answer, 403, 'permission_denied');
    assert.equal(answer.body.detail, 'There is no permission of this name.');
    assert.equal(answer.body.required_permission, undefined);
  }
  assertPasses(await ask(admin.accessToken, asking('role.delete')));
});

test('anything but one permission is refused, so that no misspelt parameter lets everybody in', async () => {
  for (const query of [
    '?permission=',
    '?permission',
    '?permission=role.read&permission=role.read',
    '?permission=role.read&permission=role.delete',
    '?permission[]=role.read',
    '?permission[0]=role.read',
    '?permissions=role.read',
    '?Permission=role.read',
    '?permission=role.read&x',
    '?permission=role.read;permission=role.delete&scope=a',
    `?permission=${'x'.repeat(2_001)}`,
    '?__proto__=role.read',
  ]) {
    const answer = await ask(admin.accessToken, `${path}${query}`);
    assertRefused(answer, 422, 'validation_failed');
    assert.equal(answer.headers.get('x-castellan-subject-id'), null, query);
  }
  assertRefused(await ask(admin.accessToken, `${path}?permission=%00`), 400, 'invalid_text');
  assertRefused(await ask(admin.accessToken, `${path}/`), 404, 'route_not_found');
  assertRefused(await ask(admin.accessToken, `${path}/orders`), 404, 'route_not_found');
});

test('401 with the challenge for a caller who is not signed in', async () => {
  const { client } = await signedInWith(service, 'role.read');
  const { accessToken } = client;
  await client.post('/api/v1/auth/logout', {});
  const robot = await addServiceAccount(service, { permissions: ['role.read'], active: false });
  const expired = await addApiKey(service, robot.id, { expiresInSeconds: -1 });
  for (const [token, code, challenge] of [
    [undefined, 'token_missing', 'Bearer'],
    ['a.b.c', 'token_invalid', 'Bearer error="invalid_token"'],
    [accessToken, 'token_revoked', 'Bearer error="invalid_token"'],
    [robot.key, 'service_account_inactive', 'Bearer error="invalid_token"'],
    [expired.key, 'api_key_expired', 'Bearer error="invalid_token"'],
  ] as const)
    for (const target of [path, asking('role.read'), asking('role.raed')]) {
      const answer = await ask(token, target);
      assertRefused(answer, 401, code);
      assert.equal(answer.headers.get('www-authenticate'), challenge);
      assert.equal(answer.headers.get('cache-control'), 'no-store');
    }
  const signedIn = [...admin.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  assertRefused(await ask(undefined, path, { cookie: signedIn }), 401, 'token_missing');
});

test('a narrowed key passes with what it is narrowed to, whatever its account may do', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read', 'role.delete'] });
  const narrow = await addApiKey(service, account.id, { narrowedTo: ['role.read', 'role.update'] });
  for (const token of [narrow.key, await clientToken(service, { ...account, key: narrow.key })]) {
    assertPasses(await ask(token, asking('role.read')));
    assertDenied(await ask(token, asking('role.delete')), 'role.delete');
    assertDenied(await ask(token, asking('role.update')), 'role.update');
  }
  assertPasses(await ask(account.key, asking('role.delete')));
});

test('who must change their password first is refused, as everywhere', async () => {
  const { client, person } = await signedInWith(service, 'role.read');
  const demanded = await admin.put(`/api/v1/users/${person.id}`, { must_change_password: true });
  assert.equal(demanded.status, 200, demanded.text);
  for (const target of [path, asking('role.read')])
    assertRefused(await ask(client.accessToken, target), 403, 'password_change_required');
});

/** Sends the request as bytes, and returns the answer. The body that it announces never comes. */
async function raw(method: string, client: TestClient, target: string, fields = ''): Promise<Answer> {
  const bytes = `${method} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${client.accessToken}\r\n${fields}\r\n`;
  const [answer, ...more] = await exchange(service.url, bytes, method === 'HEAD' ? { heads: [0] } : {});
  assert.ok(answer && more.length === 0);
  return answer;
}

test('every method is answered alike, without a CSRF token and without reading the body', async () => {
  const { client } = await signedInWith(service, 'role.read');
  const bodies = [
    '',
    'Content-Length: 1000000000000\r\nContent-Type: application/json\r\n',
    'Content-Length: 5\r\nContent-Type: nonsense\r\nContent-Encoding: gzip\r\n',
    'Transfer-Encoding: chunked\r\nContent-Type: multipart/form-data\r\n',
  ];
  for (const method of METHODS.filter((one) => one !== 'CONNECT'))
    for (const fields of bodies) {
      const passed = await raw(method, client, asking('role.read'), fields);
      assertPasses(passed, `${method} ${fields}`);
      const denied = await raw(method, client, asking('role.delete'), fields);
      assert.equal(denied.status, 403, `${method} ${fields}`);
      if (method !== 'HEAD') assertDenied(denied, 'role.delete');
    }
  for (const method of ['CONNECT', 'NONSENSE'])
    assert.equal((await raw(method, client, path)).status, 400, method);
});

test('no header turns a refusal into a success, nor a success into another one', async () => {
  const { client } = await signedInWith(service, 'role.read');
  for (const fields of [
    'If-None-Match: *\r\n',
    'If-Match: "7"\r\n',
    'If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n',
    'Range: bytes=0-0\r\n',
    'Expect: 200-ok\r\n',
    'Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
    'Accept: text/html\r\n',
    'Idempotency-Key: a\r\n',
    'X-HTTP-Method-Override: OPTIONS\r\n',
    `Origin: ${ORIGIN}\r\nAccess-Control-Request-Method: GET\r\n`,
    'Cookie: %; refresh_token=a; refresh_token=b\r\n',
  ])
    for (const method of ['GET', 'OPTIONS', 'POST']) {
      const status = async (target: string, by: TestClient) => (await raw(method, by, target, fields)).status;
      assert.equal(await status(asking('role.read'), client), 204, `${method} ${fields}`);
      assert.equal(await status(asking('role.delete'), client), 403, `${method} ${fields}`);
      assert.equal(await status(path, service.client()), 401, `${method} ${fields}`);
    }
});

test('it costs the statements of /users/me, and a refusal no more', async () => {
  const { client } = await signedInWith(service, 'role.read');
  const counted = (target: string) => countStatements(service, () => ask(client.accessToken, target));
  const expected = await counted('/api/v1/users/me');
  assert.equal(await counted(path), expected);
  assert.equal(await counted(asking('role.read')), expected);
  let denied: Answer | undefined;
  const statements = await statementsOf(async () => {
    denied = await ask(client.accessToken, asking('role.delete'));
  });
  assertDenied(denied as Answer, 'role.delete');
  assert.equal(statements.length, expected);
});

test('a refusal is an answer: like a decision, it is no audit event', async () => {
  const { client, person } = await signedInWith(service);
  assertDenied(await ask(client.accessToken, asking('role.read')), 'role.read');
  assertRefused(await client.get('/api/v1/roles'), 403, 'permission_denied');
  const events = await service.sql<{ route: string }>(
    "select details ->> 'route' as route from audit_logs where action = 'permission_denied' and actor_id = $1",
    [person.id],
  );
  assert.deepEqual(
    events.map(({ route }) => route),
    ['/api/v1/roles'],
  );
});

test('requests count for RATE_LIMIT_USER, and not for RATE_LIMIT_ACCESS', async (t) => {
  const limited = await startTestService(t, { RATE_LIMIT_USER: '4/hour', RATE_LIMIT_ACCESS: '1/hour' });
  const client = await signIn(limited, await addPerson(limited));
  for (let count = 0; count < 4; count += 1) assertPasses(await client.get(path));
  const refused = await client.get(path);
  assertRefused(refused, 429, 'rate_limited');
  assert.ok(Number(refused.headers.get('retry-after')) > 0);
});

test('503 with Retry-After while nobody can be judged', async (t) => {
  const relay = await relayTo(t, service.databaseUrl);
  const instance = await service.another({ DATABASE_URL: relay.url });
  const client = (await signIn(service, await addPerson(service))).at(instance.url);
  assertPasses(await client.get(path));
  await relay.cut();
  for (const target of [path, asking('role.read')]) {
    const answer = await client.get(target);
    assertRefused(answer, 503, 'database_unavailable');
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
  }
});

test('operations that answer 200 to a refusal send gateways here', async () => {
  const { body } = await service.client().get('/docs/openapi.json');
  for (const name of ['access/v1/evaluation', 'access/v1/evaluations', 'oauth/introspect', 'oauth/revoke']) {
    const { post } = body.paths[`/api/v1/${name}`];
    assert.ok(post.description.includes(path), name);
  }
  const { get } = body.paths[path];
  const names = Object.keys(get.responses['204'].headers).filter((one) => /^X-Castellan-/.test(one));
  assert.equal(names.length, 4);
});
