// The recipes of deploy/gateways, run by the real programs between a client, a product and the real service.
// It must not test the endpoint that they ask: test/access/forward.test.ts does.
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Agent, type ServerResponse } from 'node:http';
import { after, type TestContext, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, signedInWith } from '@castellan/testing/users/people';
import { echo, type Seen, type Spelling, send, startProduct, startRelay } from './neighbours.ts';
import { missingOf, type Program, programs, startGateway } from './programs.ts';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const admin = await signIn(service, ADMIN);
const group = await admin.post('/api/v1/permission-groups', { name: 'orders' });
assert.equal(group.status, 201, group.text);
for (const name of ['orders.read', 'orders.write'])
  await service.sql('insert into permissions (id, name, group_id) values ($1, $2, $3)', [
    randomUUID(),
    name,
    group.body.data.id,
  ]);

const bearer = (token: string | null | undefined): string[] => ['Authorization', `Bearer ${token}`];
const reading = (permission: string): string => `/api/v1/access/forward?permission=${permission}`;

/** Every header that some product could read as one of the subject's: whatever separates the words. */
const subjectIn = ({ headers }: Seen) =>
  headers.filter(([name]) => /^x.castellan.subject/.test(name)).sort(([a], [b]) => (a < b ? -1 : 1));

const forged = [
  ...['X-Castellan-Subject-Type', 'x-castellan-subject-id', 'X-CASTELLAN-SUBJECT-NAME'],
  ...['X-Castellan-Subject-Email', 'X-Castellan-Subject-Id', 'X_Castellan_Subject_Id'],
  ...['x_castellan_subject_email', 'X-Castellan_Subject-Email', 'X.Castellan.Subject.Email'],
].flatMap((name) => [name, 'forged']);

/** Paths that other programs may read as one outside /orders, and one inside it that is spelt oddly. */
const crooked = [
  '/orders/../admin',
  '/orders/./../admin',
  '/orders/%2e%2e/admin',
  '/orders/%2E./admin',
  '/orders/.%2e/admin',
  '/orders/..%2fadmin',
  '/orders%2f..%2fadmin',
  '/orders/..;/admin',
  '/orders/..;a=b/admin',
  '/orders/..%3b/admin',
  '/orders/..\\admin',
  '/orders\\..\\admin',
  '/orders/..%5cadmin',
  '/orders//../../admin',
  '//orders/../admin',
  '//admin/orders',
  '/orders/%00/admin',
  '/./orders/../admin',
  '/admin/../orders/../admin',
  '/orders/%252e%252e/admin',
  '/%6frders/7',
  '/orders//7',
  '/orders/7/../8',
];

/** Asserts that nobody reads the path as one outside /orders, whatever they take for a separator. */
function assertInside(path: string, sent: string): void {
  assert.match(decodeURIComponent(path), /^\/orders(\/|$)/, sent);
  assert.doesNotMatch(path, /\/\/|\\|%2f|%5c|%00|\/\.\.?(\/|;|$)|%2e/i, sent);
}

type Answering = (response: ServerResponse) => void;
const status =
  (code: number, headers: Record<string, string> = {}, body = '{}'): Answering =>
  (response) => {
    response.writeHead(code, headers).end(code === 204 ? undefined : body);
  };
const subjectOf = { 'X-Castellan-Subject-Type': 'user', 'X-Castellan-Subject-Id': 'somebody' };

/** What is no answer of Castellan's, and must let nobody pass. */
const faults: Record<string, Answering> = {
  '200': status(200, subjectOf),
  '200 that names 204': status(200, { ...subjectOf, Status: '204', 'X-Status': '204' }),
  '201': status(201, subjectOf),
  '204 that names nobody': status(204),
  '206': status(206, subjectOf),
  '302': status(302, { ...subjectOf, Location: '/orders' }),
  '304': status(304, subjectOf),
  '404': status(404),
  '422': status(422),
  '500': status(500),
  '502': status(502),
  'a closed connection': (response) => response.socket?.destroy(),
  'half a status line': (response) => response.socket?.end('HTTP/1.1 20'),
  'half a head': (response) => response.socket?.end('HTTP/1.1 204 No Content\r\nX-Castellan-Subject-Id: a'),
  'no HTTP': (response) => response.socket?.end('204 No Content\r\n\r\n'),
  silence: () => {},
};

for (const program of programs) {
  const missing = missingOf(program);
  test(
    `${program.name} forwards what Castellan lets pass, and nothing else`,
    missing ? { skip: missing } : {},
    async (t) => walk(t, program),
  );
}

async function walk(t: TestContext, program: Program): Promise<void> {
  const product = await startProduct(t);
  const relay = await startRelay(t, service.url);
  const gateway = await startGateway(t, program, { castellan: relay.port, product: product.port });
  const isNginx = program.name === 'nginx';
  const reader = await signedInWith(service, 'orders.read');
  const robot = await addServiceAccount(service, { permissions: ['orders.read', 'orders.write'] });
  const asReader = bearer(reader.client.accessToken);

  /** Sends a request, and returns what the client, Castellan and the product saw of it. */
  const go = async (spelling: Spelling) => {
    relay.asked.length = 0;
    product.seen.length = 0;
    const told = await send(gateway, spelling);
    return { told, asked: [...relay.asked], arrived: [...product.seen] };
  };
  const assertStopped = ({ told, arrived }: Awaited<ReturnType<typeof go>>, what: string): void => {
    assert.deepEqual(arrived, [], what);
    assert.equal(told.headers['x-product'], undefined, what);
    assert.equal(Object.keys(told.headers).filter((name) => name.includes('castellan')).length, 0, what);
  };
  const assertSubject = (one: Seen | undefined, expected: Record<string, string>, what: string): void => {
    assert.ok(one, what);
    const headers = Object.entries(expected).map(([part, value]) => [`x-castellan-subject-${part}`, value]);
    assert.deepEqual(subjectIn(one), headers, what);
  };
  const ofReader = {
    email: encodeURIComponent(reader.person.email),
    id: reader.person.id,
    name: 'Ada%20Lovelace',
    type: 'user',
  };
  const ofRobot = { id: robot.id, name: encodeURIComponent(robot.name), type: 'service_account' };

  await t.test('the product learns who the caller is; Castellan gets the token alone', async () => {
    const cookie = ['Cookie', 'refresh_token=secret', 'X-Other', 'other', 'X-Forwarded-For', '192.0.2.7'];
    const { told, asked, arrived } = await go({
      path: '/orders/7?x=%2F&y=1',
      headers: [...asReader, ...cookie],
    });
    assert.deepEqual([told.status, told.text], [200, 'of the product']);
    assert.equal(arrived.length, 1);
    const [one] = arrived;
    assert.ok(one);
    assert.deepEqual([one.method, one.url], ['GET', '/orders/7?x=%2F&y=1']);
    assertSubject(one, ofReader, 'reader');
    assert.ok(one.headers.some(([name, value]) => name === 'cookie' && value === 'refresh_token=secret'));
    assert.ok(one.headers.some(([name, value]) => name === 'host' && value === 'orders.example.com'));
    assert.equal(asked.length, 1);
    const [question] = asked;
    assert.ok(question);
    assert.deepEqual([question.method, question.url], ['GET', reading('orders.read')]);
    assert.equal(question.bytes, 0);
    const names = question.headers.map(([name]) => name);
    // Caddy 2.6 cannot leave out all: docs/integrate/gateways.md says so.
    const beside = [
      ...(program.name === 'Caddy' ? ['x-forwarded-host', 'x-other'] : []),
      ...['accept', 'accept-encoding', 'authorization', 'connection', 'content-length', 'host'],
      ...['user-agent', 'x-forwarded-for', 'x-forwarded-proto'],
    ];
    assert.deepEqual(
      names.filter((name) => !beside.includes(name)),
      [],
    );
    const headerOf = (name: string) => question.headers.find(([one]) => one === name)?.[1];
    assert.equal(headerOf('authorization'), asReader[1]);
    assert.equal(headerOf('x-forwarded-for'), '127.0.0.1');
    assert.ok(['0', undefined].includes(headerOf('content-length')));
  });

  await t.test('no client names itself, in any spelling', async () => {
    const user = await go({ path: '/orders', headers: [...asReader, ...forged] });
    assertSubject(user.arrived[0], ofReader, user.told.text);
    const machine = await go({ path: '/orders', headers: [...forged, ...bearer(robot.key)] });
    assertSubject(machine.arrived[0], ofRobot, machine.told.text);
    assert.ok(machine.asked[0] && subjectIn(machine.asked[0]).length === 0);
  });

  await t.test('methods and paths need their permission, and what no rule names is refused', async () => {
    for (const [method, path, headers, permission, expected] of [
      ['GET', '/orders', asReader, 'orders.read', 200],
      ['HEAD', '/orders/7', asReader, 'orders.read', 200],
      ['POST', '/orders', asReader, 'orders.write', 403],
      ['DELETE', '/orders/7', asReader, 'orders.write', 403],
      ['PROPFIND', '/orders', asReader, 'orders.write', 403],
      ['POST', '/orders', bearer(robot.key), 'orders.write', 200],
      ['PUT', '/orders/7', bearer(robot.key), 'orders.write', 200],
      ['GET', '/', asReader, undefined, 403],
      ['GET', '/ordersX', asReader, undefined, 403],
      ['GET', '/admin', asReader, undefined, 403],
      ['GET', '/admin?/orders', asReader, undefined, 403],
      ['GET', '/Orders', asReader, undefined, 403],
    ] as const) {
      const { told, asked, arrived } = await go({ method, path, headers });
      const what = `${method} ${path}`;
      assert.equal(told.status, expected, what);
      assert.deepEqual(
        asked.map(({ url }) => url),
        permission ? [reading(permission)] : [],
        what,
      );
      assert.deepEqual(
        arrived.map((one) => [one.method, one.url]),
        expected === 200 ? [[method, path]] : [],
        what,
      );
    }
    for (const path of ['/_castellan', '/_castellan?permission=orders.read', '/api/v1/access/forward'])
      assertStopped(await go({ path, headers: asReader }), path);
  });

  await t.test('the path that is judged is the path that the product gets', async () => {
    for (const path of crooked) {
      const { told, arrived } = await go({ path, headers: asReader });
      for (const one of arrived) assertInside(one.url, path);
      assert.equal(told.status === 200, arrived.length === 1, path);
    }
    const { arrived } = await go({ path: '/orders/%252e%41%20%3F?q=/../%2e', headers: asReader });
    assert.equal(arrived.length, 1);
    assert.match(arrived[0]?.url ?? '', /^\/orders\/%252e(A|%41)%20%3F\?q=\/\.\.\/%2e$/i);
  });

  await t.test('refusals keep their status, and what clients need to go on', async () => {
    for (const [headers, challenge] of [
      [[], 'Bearer'],
      [bearer('a.b.c'), 'Bearer error="invalid_token"'],
    ] as const) {
      const refused = await go({ path: '/orders', headers });
      assertStopped(refused, challenge);
      assert.deepEqual([refused.told.status, refused.told.headers['www-authenticate']], [401, challenge]);
    }
    const denied = await go({ method: 'POST', path: '/orders', headers: asReader, body: Buffer.from('{}') });
    assertStopped(denied, '403');
    assert.equal(denied.told.status, 403);
    if (!isNginx) {
      assert.match(denied.told.headers['content-type'] ?? '', /^application\/json/);
      assert.equal(JSON.parse(denied.told.text).required_permission, 'orders.write');
    }
    for (const code of [429, 503]) {
      const body = JSON.stringify({ code: `of ${code}` });
      relay.instead = (_, response) =>
        status(code, { 'Retry-After': '17', 'Content-Type': 'application/json' }, body)(response);
      const refused = await go({ path: '/orders', headers: asReader });
      relay.instead = undefined;
      assertStopped(refused, String(code));
      assert.deepEqual([refused.told.status, refused.told.headers['retry-after']], [code, '17']);
      if (!isNginx) assert.equal(refused.told.text, body);
    }
    for (const [path, expected] of [
      ['/orders/teapot', 418],
      ['/orders/broken', 500],
    ] as const) {
      const { told } = await go({ path, headers: asReader });
      assert.deepEqual([told.status, told.text], [expected, 'of the product'], path);
    }
  });

  await t.test('whatever is no answer of Castellan lets nobody pass', async () => {
    for (const [what, answering] of Object.entries(faults)) {
      relay.instead = (_, response) => answering(response);
      const stopped = await go({ path: '/orders', headers: asReader });
      assertStopped(stopped, what);
      assert.ok(stopped.told.status >= 500, `${what}: ${stopped.told.status}`);
      assert.ok(stopped.asked.length >= 1, what);
    }
    relay.instead = undefined;
    await relay.close();
    const down = await go({ path: '/orders', headers: asReader });
    assertStopped(down, 'down');
    assert.ok(down.told.status >= 500, String(down.told.status));
    await relay.open();
    assert.equal((await go({ path: '/orders', headers: asReader })).told.status, 200);
  });

  await t.test('a question that waits keeps nobody else from an answer', async () => {
    const waiting = Promise.withResolvers<ServerResponse>();
    relay.instead = (_, response) => waiting.resolve(response);
    const slow = send(gateway, { path: '/orders', headers: asReader });
    const early = slow.then(({ status }) => assert.fail(`${status} without an answer of Castellan`));
    const response = await Promise.race([waiting.promise, early]);
    early.catch(() => {});
    relay.instead = undefined;
    const others = await Promise.all(
      Array.from({ length: 20 }, () => send(gateway, { path: '/orders', headers: asReader })),
    );
    assert.deepEqual(new Set(others.map((one) => one.status)), new Set([200]));
    status(403)(response);
    assert.notEqual((await slow).status, 200);
  });

  await t.test('on one connection, each request is judged by itself', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const statuses: number[] = [];
    for (const spelling of [
      { path: '/orders', headers: asReader },
      { path: '/orders' },
      { path: '/admin', headers: asReader },
      { path: '/orders', headers: asReader, method: 'DELETE' },
      { path: '/orders', headers: [...bearer(robot.key), ...forged] },
    ])
      statuses.push((await go({ ...spelling, agent })).told.status);
    assert.deepEqual(statuses, [200, 401, 403, 403, 200]);
    assertSubject(product.seen[0], ofRobot, 'the last request');
    agent.destroy();
  });

  await t.test('no decision is remembered', async () => {
    const role = await addRole(service, 'orders.read');
    const person = await addPerson(service, { roles: [role] });
    const client = await signIn(service, person);
    const request = { path: '/orders', headers: bearer(client.accessToken) };
    assert.equal((await go(request)).told.status, 200);
    const changed = await admin.post(`/api/v1/users/${person.id}/roles`, { role_ids: [] });
    assert.equal(changed.status, 200, changed.text);
    assert.equal((await go(request)).told.status, 403);
    await client.post('/api/v1/auth/logout', {});
    assert.equal((await go(request)).told.status, 401);
  });

  await t.test('uploads and websockets go to the product, and not to Castellan', async () => {
    const body = randomBytes(8 * 1024 * 1024);
    const { told, asked, arrived } = await go({
      method: 'POST',
      path: '/orders/import',
      headers: bearer(robot.key),
      body,
    });
    assert.equal(told.status, 200);
    assert.equal(arrived[0]?.digest, createHash('sha256').update(body).digest('hex'));
    assert.deepEqual(
      asked.map(({ bytes }) => bytes),
      [0],
    );
    const [, authorization = ''] = asReader;
    const spoken = await echo(
      gateway,
      '/orders/live',
      { authorization, 'X-Castellan-Subject-Id': 'forged' },
      'hello',
    );
    assert.equal(spoken, 'hello');
    assertSubject(product.seen.at(-1), ofReader, 'websocket');
    assert.equal(await echo(gateway, '/orders/live', {}, 'hello'), 401);
    for (const Upgrade of ['h2c', 'websocket, h2c', ['h2c', 'websocket'], ['websocket', 'h2c'], 'tcp']) {
      await echo(gateway, '/orders/live', { authorization, Upgrade }, 'hello');
      const protocols = product.seen.at(-1)?.headers.filter(([name]) => name === 'upgrade') ?? [];
      assert.ok(protocols.length <= 1 && protocols.every(([, value]) => value === 'websocket'), `${Upgrade}`);
    }
  });
}
