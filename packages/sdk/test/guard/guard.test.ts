import assert from 'node:assert/strict';
import { after, afterEach, mock, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeKey } from '../../src/guard/api-key.ts';
import { networkOf } from '../../src/guard/unknown-keys.ts';
import { createGuard, type Guard, GuardError, type GuardOptions, type Subject } from '../../src/index.ts';
import { type FakeCastellan, sendJson, startFakeCastellan } from './fake-castellan.ts';
import { middlewares, PERMISSION } from './surfaces.ts';

const castellan: FakeCastellan = await startFakeCastellan();
after(() => castellan.stop());
afterEach(() => {
  castellan.lie(undefined);
  mock.timers.reset();
});

const guardOf = (options: Partial<GuardOptions> = {}): Guard =>
  createGuard({ baseUrl: castellan.url, apiKey: 'castellan_guard', timeoutMs: 30_000, ...options });
const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const user = (id: string): Subject => ({ type: 'user', id });

/** Returns how many requests of each kind an action causes. */
async function requestsOf(run: () => Promise<unknown>): Promise<Record<string, number>> {
  const { jwks, introspect, evaluations } = castellan.asked;
  const before = [jwks.length, introspect.length, evaluations.length];
  await run();
  const [keys = 0, tokens = 0, decisions = 0] = before;
  return {
    jwks: jwks.length - keys,
    introspect: introspect.length - tokens,
    evaluations: evaluations.length - decisions,
  };
}

test('the identity names the user, the token and the session', async () => {
  const token = castellan.token([PERMISSION], {
    sub: 'user-1',
    jti: 'token-1',
    sid: 'session-1',
    exp: 4_102_444_800,
  });
  assert.deepEqual(await guardOf().authenticate(bearing(token)), {
    type: 'user',
    id: 'user-1',
    name: 'ada@example.com',
    tokenId: 'token-1',
    sessionId: 'session-1',
    expiresAt: 4_102_444_800_000,
    acr: 'aal1',
    amr: [],
    authTime: undefined,
  });
});

test('the type of an identity is right for services of this version and of 0.2, which names no client of users', async () => {
  const account = castellan.key([PERMISSION], 'account-1');
  for (const client of ['castellan', undefined]) {
    const token = castellan.token([PERMISSION], { client_id: client });
    assert.equal((await guardOf().authenticate(bearing(token))).type, 'user');
  }
  const ofApplication = castellan.token([PERMISSION], { client_id: 'another-application' });
  await assert.rejects(guardOf().authenticate(bearing(ofApplication)), { code: 'invalid_token' });
  // A pairwise subject may be the name of an application.
  const named = castellan.token([PERMISSION], { sub: 'grafana', client_id: 'grafana' });
  await assert.rejects(guardOf().authenticate(bearing(named)), { code: 'invalid_token' });
  const ofAccount = { sub: 'account-1', client_id: 'account-1', sid: undefined };
  for (const claims of [ofAccount, { ...ofAccount, nbf: 0 }]) {
    const token = castellan.token([PERMISSION], claims);
    assert.equal((await guardOf().authenticate(bearing(token))).type, 'service_account');
  }
  assert.equal((await guardOf().authenticate(bearing(account))).type, 'service_account');
  for (const client of ['castellan', undefined]) {
    const token = castellan.token([PERMISSION], { client_id: client, sid: undefined });
    await assert.rejects(guardOf().authenticate(bearing(token)), { code: 'unavailable' });
  }
});

test('a personal access token is that of its user, in no session', async () => {
  const token = castellan.personalToken([PERMISSION], 'user-7');
  const { type, id, sessionId, acr } = await guardOf().authenticate(bearing(token));
  assert.deepEqual(
    { type, id, sessionId, acr },
    { type: 'user', id: 'user-7', sessionId: undefined, acr: 'aal1' },
  );
  await assert.rejects(guardOf().authenticate(bearing(`${token.slice(0, -6)}000000`)), {
    code: 'invalid_token',
  });
  castellan.revoke(token);
  await assert.rejects(guardOf().authenticate(bearing(token)), { code: 'invalid_token' });
});

test('a guarded request asks once', async () => {
  const guard = guardOf();
  const handler = guard.require(PERMISSION).fetch(() => new Response('ok'));
  const send = (token: string) =>
    handler(new Request('http://orders.example/', { headers: { authorization: `Bearer ${token}` } }));
  await send(castellan.token([]));
  const token = castellan.token([PERMISSION]);
  assert.deepEqual(await requestsOf(() => send(token)), { jwks: 0, introspect: 1, evaluations: 0 });
});

test('a text that is no API key or token of Castellan is refused without a question', async () => {
  const guard = guardOf();
  await guard.authenticate(bearing(castellan.token([])));
  const key = castellan.key([PERMISSION], 'account-8');
  const other = key.endsWith('0') ? '1' : '0';
  const texts = [
    'castellan_',
    'castellan_guard',
    `${key}x`,
    key.slice(0, -1),
    key.slice(0, -1) + other,
    'a.b.c',
  ];
  const requests = await requestsOf(async () => {
    for (const text of texts)
      await assert.rejects(guard.authenticate(bearing(text)), { code: 'invalid_token' }, text);
  });
  assert.deepEqual(requests, { jwks: 0, introspect: 0, evaluations: 0 });
  assert.equal((await guard.authenticate(bearing(key))).type, 'service_account');
});

test('an unknown key is asked about once, and again after three seconds', async (t) => {
  const clock = { now: 1_000 };
  t.mock.method(performance, 'now', () => clock.now);
  const guard = guardOf();
  const later = castellan.key([PERMISSION], 'account-9');
  castellan.lie((response) => sendJson(response, { active: false }), 'introspect');
  const requests = await requestsOf(async () => {
    for (let time = 0; time < 5; time += 1)
      await assert.rejects(guard.authenticate(bearing(later)), { code: 'invalid_token' });
  });
  assert.equal(requests.introspect, 1);
  castellan.lie(undefined);
  clock.now += 3_000;
  assert.equal((await guard.authenticate(bearing(later))).id, 'account-9');
});

test('unknown API keys are limited by the network of the client, and others still pass', async () => {
  const guard = guardOf({ addressOf: ({ headers }) => Reflect.get(headers, 'x-address') });
  const from = (token: string, address?: string) =>
    guard.authenticate({ headers: { authorization: `Bearer ${token}`, 'x-address': address } });
  const [known, fresh] = [castellan.key([], 'account-a'), castellan.key([], 'account-b')];
  await from(known, '2001:db8::1');
  const codes: string[] = [];
  const requests = await requestsOf(() =>
    Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        from(makeKey(), `2001:db8::${index}`).catch((error: GuardError) => codes.push(error.code)),
      ),
    ),
  );
  assert.equal(requests.introspect, 30);
  assert.deepEqual(codes.sort(), [...Array(30).fill('invalid_token'), ...Array(10).fill('rate_limited')]);
  await assert.rejects(from(fresh, '2001:db8::ffff'), { code: 'rate_limited', status: 429 });
  for (const address of ['2001:db8:0:1::1', undefined]) await from(fresh, address);
  await from(known, '2001:db8::2');
  // A user is not kept out: the signature of an access token is no guess.
  await from(castellan.token([]), '2001:db8::3');
});

test('made-up tokens of applications are limited as unknown API keys are', async () => {
  const audience = 'https://orders.example.com';
  const guard = guardOf({ audience, addressOf: () => '192.0.2.1' });
  const part = (json: object) => Buffer.from(JSON.stringify(json)).toString('base64url');
  const nowS = Math.floor(Date.now() / 1_000);
  const madeUp = (jti: string) =>
    `${part({ typ: 'at+jwt', alg: 'RS256' })}.${part({ sub: 'x', aud: audience, jti, iat: nowS, exp: nowS + 60 })}.c2ln`;
  castellan.lie((response) => sendJson(response, { active: false }), 'introspect');
  const refusals: string[] = [];
  const requests = await requestsOf(async () => {
    for (let index = 0; index < 31; index += 1)
      await guard.authenticate(bearing(madeUp(String(index)))).catch(({ code }) => refusals.push(code));
  });
  const handler = guard.authenticated.fetch(() => new Response('done'));
  const answer = await handler(new Request('http://orders.test/', bearing(madeUp('last'))));
  castellan.lie(undefined);
  assert.equal(requests.introspect, 30);
  assert.deepEqual(refusals, [...Array(30).fill('invalid_token'), 'rate_limited']);
  assert.deepEqual(
    [answer.status, (await answer.json()).detail],
    [429, 'Too many unknown API keys or access tokens came from your network. Try again later.'],
  );
});

test('a network is an IPv4 address or the half of an IPv6 address that names it', () => {
  const networks = {
    '192.0.2.7': '192.0.2.7',
    '::ffff:192.0.2.7': '192.0.2.7',
    '::1': '0:0:0:0',
    '2001:DB8:0:00a1::7': '2001:db8:0:a1',
    '2001:db8::': '2001:db8:0:0',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2',
    'fe80::1%eth0': 'fe80:0:0:0',
  };
  for (const [address, network] of Object.entries(networks)) assert.equal(networkOf(address), network);
});

test('without addressOf, the address is that of the framework or of the connection', async () => {
  const carriers: object[] = [{ ip: '192.0.2.1' }, { socket: { remoteAddress: '192.0.2.1' } }];
  for (const carrier of carriers) {
    const guard = guardOf();
    const ask = (): Promise<string> =>
      guard.authenticate({ ...carrier, ...bearing(makeKey()) }).then(
        () => 'passed',
        (error: GuardError) => error.code,
      );
    for (let time = 0; time < 30; time += 1) assert.equal(await ask(), 'invalid_token');
    assert.equal(await ask(), 'rate_limited');
  }
});

test('a revoked token and a revoked permission are refused at the next request', async () => {
  const guard = guardOf();
  const token = castellan.token([PERMISSION], { sub: 'user-2' });
  await guard.authenticate(bearing(token));
  castellan.revoke(token);
  await assert.rejects(guard.authenticate(bearing(token)), { code: 'invalid_token', status: 401 });
});

test('a caller without the permission gets 403 with its name, and 401 says which scheme to use', async () => {
  for (const [name, ask] of Object.entries(middlewares)) {
    const lacking = await ask(guardOf(), `Bearer ${castellan.token(['orders.delete'])}`);
    assert.partialDeepStrictEqual(lacking, { status: 403, code: 'permission_denied' }, name);
    const unknown = await ask(guardOf(), undefined);
    assert.ok('status' in unknown, name);
    assert.equal(unknown.headers.get('www-authenticate'), 'Bearer', name);
    const ended = await ask(guardOf(), 'Bearer x');
    assert.ok('status' in ended, name);
    assert.equal(ended.headers.get('www-authenticate'), 'Bearer error="invalid_token"', name);
    assert.equal(ended.headers.get('cache-control'), 'no-store', name);
  }
});

test('permissions are compared ignoring case', async () => {
  const guard = guardOf();
  const handler = guard.require('Orders.READ').fetch(() => new Response('ok'));
  const token = castellan.token([PERMISSION], { sub: 'user-3' });
  const response = await handler(new Request('http://a.example/', bearing(token)));
  assert.equal(response.status, 200);
  assert.equal(await guard.can(user('user-3'), 'Orders.READ'), true);
});

test('no two permissions are the same but for the case of ASCII letters', async () => {
  const guard = guardOf();
  // In JavaScript both are the same in lower case, in PostgreSQL not always.
  const [dotted, folded] = ['orders.\u0130', 'orders.i\u0307'];
  const identity = await guard.authenticate(bearing(castellan.token([dotted])));
  assert.equal(await guard.can(identity, dotted), true);
  assert.equal(await guard.can(identity, folded), false);
  castellan.grant('dotted', folded);
  assert.equal(await guard.can(user('dotted'), dotted), false);
  castellan.grant('plain', PERMISSION);
  castellan.lie((response, { evaluations }) => {
    const [first, second] = Array.isArray(evaluations) ? evaluations : [];
    sendJson(response, {
      evaluations: [{ decision: true, context: { permission: folded } }, second ?? first],
    });
  }, 'evaluations');
  const [other, plain] = await Promise.allSettled([
    guard.can(user('dotted'), dotted),
    guard.can(user('plain'), PERMISSION),
  ]);
  assert.equal(other.status === 'rejected' && other.reason.code, 'unavailable');
  assert.equal(plain.status === 'fulfilled' && plain.value, true);
});

test('a program may do what its key may, though its account may do more', async () => {
  const guard = guardOf();
  castellan.grant('account-1', PERMISSION);
  const identity = await guard.authenticate(bearing(castellan.key(['orders.delete'], 'account-1')));
  assert.equal(identity.type, 'service_account');
  assert.equal(await guard.can(identity, PERMISSION), false);
  assert.equal(await guard.can(identity, 'orders.delete'), true);
  assert.equal(await guard.can({ type: 'service_account', id: 'account-1' }, PERMISSION), true);
  await assert.rejects(guard.can({ ...identity }, PERMISSION), TypeError);
});

test('an identity may do nothing once its token has ended, though its account may', async () => {
  const guard = guardOf();
  const tokens = {
    user: castellan.token([PERMISSION], { sub: 'account-2' }),
    service_account: castellan.key([PERMISSION], 'account-2'),
  };
  for (const [type, token] of Object.entries(tokens)) {
    const identity = await guard.authenticate(bearing(token));
    assert.equal(identity.type, type);
    assert.equal(await guard.can(identity, PERMISSION), true, type);
    assert.equal(await guard.can(identity, 'orders.delete'), false, type);
    castellan.revoke(token);
    assert.equal(await guard.can(identity, PERMISSION), false, type);
    await assert.rejects(guard.can({ ...identity }, PERMISSION), TypeError, type);
  }
  assert.equal(await guard.can(user('account-2'), PERMISSION), true);
});

test('every guard knows the identities of the others', async () => {
  for (const token of [castellan.token([PERMISSION]), castellan.key([PERMISSION], 'account-3')]) {
    const identity = await guardOf().authenticate(bearing(token));
    assert.equal(await guardOf().can(identity, PERMISSION), true);
  }
});

test('a thousand questions of one tick are one request, and equal ones are asked once', async () => {
  const guard = guardOf();
  for (let one = 0; one < 1_000; one += 2) castellan.grant(`many-${one}`, PERMISSION);
  let answers: boolean[] = [];
  const requests = await requestsOf(async () => {
    answers = await Promise.all(
      Array.from({ length: 2_000 }, (_, index) => guard.can(user(`many-${index % 1_000}`), PERMISSION)),
    );
  });
  assert.deepEqual(requests, { jwks: 0, introspect: 0, evaluations: 1 });
  assert.deepEqual(
    answers,
    answers.map((_, index) => index % 2 === 0),
  );
});

test('questions beyond the limits of a request go into further ones', async () => {
  const guard = guardOf();
  const requests = await requestsOf(() =>
    Promise.all(Array.from({ length: 2_500 }, (_, index) => guard.can(user(`limit-${index}`), PERMISSION))),
  );
  assert.equal(requests.evaluations, 3);
  const long = await requestsOf(() =>
    Promise.all(
      Array.from({ length: 10 }, (_, index) => guard.can(user(`${index}`.repeat(50_000)), PERMISSION)),
    ),
  );
  assert.equal(long.evaluations, 4);
  for (const body of castellan.asked.evaluations) assert.ok(body.length < 1024 * 1024);
});

test('a failed request refuses its own questions only', async () => {
  const guard = guardOf();
  castellan.grant('spoilt-1', PERMISSION);
  castellan.lie((response, honest) => {
    if (Array.isArray(honest.evaluations) && honest.evaluations.length === 1) response.destroy();
    else sendJson(response, honest);
  }, 'evaluations');
  const long = guard.can(user('x'.repeat(250_000)), PERMISSION);
  const others = Array.from({ length: 3 }, (_, index) => guard.can(user(`spoilt-${index}`), PERMISSION));
  await assert.rejects(long, { code: 'unavailable' });
  assert.deepEqual(await Promise.all(others), [false, true, false]);
});

test('text that Castellan cannot store names nobody and nothing, and spoils no other question', async () => {
  const guard = guardOf();
  castellan.grant('nul', PERMISSION);
  const answers: Promise<boolean>[] = [];
  const requests = await requestsOf(async () => {
    for (const bad of ['\0', '\ud800', 'a\udc00b'])
      answers.push(guard.can(user(`nul${bad}`), PERMISSION), guard.can(user('nul'), `${PERMISSION}${bad}`));
    answers.push(guard.can(user('nul'), PERMISSION));
    await Promise.all(answers);
  });
  assert.deepEqual(await Promise.all(answers), [...Array<boolean>(6).fill(false), true]);
  assert.deepEqual(JSON.parse(castellan.asked.evaluations.at(-1) ?? '').evaluations.length, 1);
  assert.equal(requests.evaluations, 1);
});

for (const status of [400, 413])
  test(`a question for which Castellan answers ${status} fails alone`, async () => {
    const guard = guardOf();
    castellan.grant('fine-7', PERMISSION);
    castellan.lie((response, honest) => {
      if (castellan.asked.evaluations.at(-1)?.includes('fine-700')) response.statusCode = status;
      sendJson(response, honest);
    }, 'evaluations');
    let answers: PromiseSettledResult<boolean>[] = [];
    const requests = await requestsOf(async () => {
      const asked = Array.from({ length: 1_000 }, (_, index) => guard.can(user(`fine-${index}`), PERMISSION));
      answers = await Promise.allSettled(asked);
    });
    const failed = answers.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []));
    assert.deepEqual(failed, [700]);
    const granted = answers.flatMap((one, index) => (one.status === 'fulfilled' && one.value ? [index] : []));
    assert.deepEqual(granted, [7]);
    assert.ok(requests.evaluations && requests.evaluations <= 21, String(requests.evaluations));
  });

test('a service that refuses every request is not asked without end', async () => {
  const guard = guardOf();
  castellan.lie((response, honest) => {
    response.statusCode = 400;
    sendJson(response, honest);
  }, 'evaluations');
  let answers: PromiseSettledResult<boolean>[] = [];
  const requests = await requestsOf(async () => {
    const asked = Array.from({ length: 1_000 }, (_, index) => guard.can(user(`${index}`), PERMISSION));
    answers = await Promise.allSettled(asked);
  });
  assert.ok(answers.every((one) => one.status === 'rejected' && one.reason.code === 'unavailable'));
  assert.equal(requests.evaluations, 101);
});

test('a question that cannot be evaluated fails alone', async () => {
  const guard = guardOf();
  castellan.grant('known', PERMISSION);
  castellan.lie((response, { evaluations }) => {
    const [first] = Array.isArray(evaluations) ? evaluations : [];
    const error = { status: 400, message: 'The subject is malformed.' };
    sendJson(response, { evaluations: [first, { decision: false, context: { error } }] });
  }, 'evaluations');
  const [known, unknown] = await Promise.allSettled([
    guard.can(user('known'), PERMISSION),
    guard.can(user('odd'), PERMISSION),
  ]);
  assert.equal(known.status === 'fulfilled' && known.value, true);
  assert.equal(unknown.status === 'rejected' && unknown.reason.code, 'unavailable');
});

test('requests with one token that arrive together are one look-up, and later ones are not', async () => {
  const guard = guardOf();
  const token = castellan.token([PERMISSION]);
  await guard.authenticate(bearing(token));
  const together = await requestsOf(() =>
    Promise.all(Array.from({ length: 50 }, () => guard.authenticate(bearing(token)))),
  );
  assert.equal(together.introspect, 1);
  const later = await requestsOf(async () => {
    const first = guard.authenticate(bearing(token));
    const { length } = castellan.asked.introspect;
    while (castellan.asked.introspect.length === length) await sleep(1);
    castellan.revoke(token);
    await assert.rejects(guard.authenticate(bearing(token)), { code: 'invalid_token' });
    await first.catch(() => undefined);
  });
  assert.equal(later.introspect, 2);
});

test('canAll needs every permission, and at least one check', async () => {
  const guard = guardOf();
  castellan.grant('all', PERMISSION);
  const check = { subject: user('all'), permission: PERMISSION };
  assert.equal(await guard.canAll([check]), true);
  assert.equal(await guard.canAll([check, { ...check, permission: 'orders.delete' }]), false);
  await assert.rejects(guard.canAll([]), TypeError);
});

test('without maxStaleMs every check asks', async () => {
  const guard = guardOf();
  const token = castellan.token([PERMISSION], { sub: 'asks' });
  await guard.authenticate(bearing(token));
  const requests = await requestsOf(async () => {
    for (let one = 0; one < 3; one += 1) {
      await guard.authenticate(bearing(token));
      await guard.can(user('asks'), PERMISSION);
    }
  });
  assert.deepEqual(requests, { jwks: 0, introspect: 3, evaluations: 3 });
});

test('with maxStaleMs, answers are used until they are that old, counted from the question', async () => {
  const now = mock.method(performance, 'now', () => clock);
  let clock = 1_000;
  try {
    const guard = guardOf({ maxStaleMs: 5_000 });
    const token = castellan.token([PERMISSION], { sub: 'stale' });
    castellan.lie(
      (response, honest) => {
        clock += 2_000;
        sendJson(response, honest);
      },
      'introspect',
      'evaluations',
    );
    const both = async () => {
      await guard.authenticate(bearing(token));
      await guard.can(user('stale'), PERMISSION);
    };
    // Introspection is asked at 1,000 and the evaluation at 3,000; it is 5,000 then.
    assert.deepEqual(await requestsOf(both), { jwks: 1, introspect: 1, evaluations: 1 });
    clock = 5_999;
    assert.deepEqual(await requestsOf(both), { jwks: 0, introspect: 0, evaluations: 0 });
    castellan.revoke(token);
    clock = 6_000;
    await assert.rejects(guard.authenticate(bearing(token)), { code: 'invalid_token' });
    clock = 8_000;
    assert.equal((await requestsOf(() => guard.can(user('stale'), PERMISSION))).evaluations, 1);
  } finally {
    now.mock.restore();
  }
});

test('answers are as old as the clock says that moved further', async (t) => {
  const clocks = { steady: 1_000, date: Date.now() };
  t.mock.method(performance, 'now', () => clocks.steady);
  t.mock.method(Date, 'now', () => clocks.date);
  const guard = guardOf({ maxStaleMs: 5_000 });
  const token = castellan.token([PERMISSION]);
  const both = async () => {
    await guard.authenticate(bearing(token));
    await guard.can(user('asleep'), PERMISSION);
  };
  await both();
  for (const clock of ['date', 'steady'] as const) {
    clocks[clock] += 4_999;
    assert.deepEqual(await requestsOf(both), { jwks: 0, introspect: 0, evaluations: 0 }, clock);
    clocks[clock] += 1;
    assert.deepEqual(await requestsOf(both), { jwks: 0, introspect: 1, evaluations: 1 }, clock);
  }
});

test('a token that ends while its answer is kept is refused', async () => {
  const guard = guardOf({ maxStaleMs: 60_000_000, clockToleranceMs: 0 });
  const exp = Math.floor(Date.now() / 1_000) + 600;
  const token = castellan.token([PERMISSION], { exp });
  await guard.authenticate(bearing(token));
  mock.timers.enable({ apis: ['Date'], now: exp * 1_000 });
  await assert.rejects(guard.authenticate(bearing(token)), { code: 'invalid_token' });
});

test('the cache keeps the latest cacheSize answers', async () => {
  const guard = guardOf({ maxStaleMs: 60_000, cacheSize: 2 });
  for (const id of ['a', 'b', 'a', 'c']) await guard.can(user(id), PERMISSION);
  const asks = async (id: string) =>
    (await requestsOf(() => guard.can(user(id), PERMISSION))).evaluations === 1;
  assert.deepEqual([await asks('a'), await asks('c'), await asks('b')], [false, false, true]);
});

test('tokens of a new signing key are accepted as soon as the key set may be read again', async () => {
  const guard = guardOf();
  await guard.authenticate(bearing(castellan.token([])));
  castellan.rotate();
  const tokens = [castellan.token([PERMISSION]), castellan.token([PERMISSION])];
  const requests = await requestsOf(() =>
    Promise.all(tokens.map((token) => guard.authenticate(bearing(token)))),
  );
  assert.deepEqual(requests, { jwks: 1, introspect: 2, evaluations: 0 });
});

test('tokens of unknown keys cannot make a guard read the key set without end', async () => {
  const other = await startFakeCastellan();
  after(() => other.stop());
  const guard = guardOf();
  await guard.authenticate(bearing(castellan.token([])));
  const requests = await requestsOf(() =>
    Promise.all(
      Array.from({ length: 200 }, () =>
        assert.rejects(guard.authenticate(bearing(other.token([PERMISSION]))), { code: 'invalid_token' }),
      ),
    ),
  );
  assert.deepEqual(requests, { jwks: 1, introspect: 0, evaluations: 0 });
  const started = performance.now();
  const next = await requestsOf(() => guard.authenticate(bearing(other.token([]))).catch(() => undefined));
  assert.deepEqual(next, { jwks: 1, introspect: 0, evaluations: 0 });
  // A lower bound, so that a slow machine cannot fail it: without a pause this takes a few milliseconds.
  assert.ok(performance.now() - started > 1_000);
});

test('only a hundred tokens of unknown keys wait for the next key set', async () => {
  const other = await startFakeCastellan();
  after(() => other.stop());
  const guard = guardOf();
  await guard.authenticate(bearing(castellan.token([])));
  let refused = 0;
  const { jwks } = castellan.asked;
  const { length } = jwks;
  const asked = Array.from({ length: 150 }, () =>
    guard.authenticate(bearing(other.token([]))).catch(() => {
      if (jwks.length === length) refused += 1;
    }),
  );
  await Promise.all(asked);
  assert.equal(refused, 50);
  castellan.rotate();
  assert.ok(await guard.authenticate(bearing(castellan.token([]))));
});

test('a kept connection that ends under a question does not refuse the caller', async () => {
  const token = castellan.token([PERMISSION]);
  let broken = 0;
  castellan.lie((response, honest) => {
    broken += 1;
    if (broken === 1) response.destroy();
    else sendJson(response, honest);
  }, 'introspect');
  assert.ok(await guardOf().authenticate(bearing(token)));
});

test('Retry-After of Castellan reaches the caller, and the log gets the reason', async () => {
  const logged: GuardError[] = [];
  const guard = guardOf({
    onUnavailable: (error) => {
      logged.push(error);
      throw new Error('the log is broken');
    },
  });
  castellan.lie((response) => {
    response.writeHead(503, { 'retry-after': '7' }).end();
  });
  const outcome = await middlewares.fetch?.(guard, `Bearer ${castellan.token([PERMISSION])}`);
  assert.ok(outcome && 'status' in outcome);
  assert.deepEqual([outcome.status, outcome.headers.get('retry-after')], [503, '7']);
  assert.deepEqual(
    logged.map(({ code, message }) => [code, message]),
    [['unavailable', '/.well-known/jwks.json answered 503.']],
  );
});

test('a fetch that hangs and ignores its signal ends with the timeout', async () => {
  const guard = guardOf({ timeoutMs: 20, fetch: () => new Promise(() => undefined) });
  await assert.rejects(guard.can(user('a'), PERMISSION), { code: 'unavailable', message: /within 20 ms/ });
});

test('no error contains the token or the key', async () => {
  castellan.lie((response) => response.destroy());
  const token = castellan.token([PERMISSION]);
  const error = await guardOf({ apiKey: 'castellan_secret' })
    .authenticate(bearing(token))
    .catch((one: unknown) => one);
  assert.ok(error instanceof GuardError);
  const { inspect } = await import('node:util');
  assert.doesNotMatch(inspect(error, { depth: null }), new RegExp(`castellan_secret|${token}`));
});

test('misuse is a TypeError at once', async () => {
  const guard = guardOf();
  for (const permission of ['', 'orders', '.read', 'orders.', '.', undefined, null, 7, ['orders.read']]) {
    // @ts-expect-error: most of these are no text
    assert.throws(() => guard.require(permission), TypeError, String(permission));
    // @ts-expect-error: as above
    await assert.rejects(guard.can(user('a'), permission), TypeError, String(permission));
  }
  const subjects = [
    undefined,
    null,
    'ada',
    {},
    { type: 'user' },
    { type: 'user', id: '' },
    { type: 'team', id: 'a' },
  ];
  for (const subject of subjects) {
    // @ts-expect-error: none of these is a subject
    const answer = guard.can(subject, PERMISSION);
    await assert.rejects(answer, TypeError, JSON.stringify(subject));
  }
  assert.throws(() => guard.identityOf({}), TypeError);
  const baseUrl = castellan.url;
  for (const options of [
    { baseUrl: '' },
    { baseUrl: 'ftp://a.example' },
    { baseUrl: 'http://a:b@c.example' },
    { baseUrl: 'http://a.example/?x=1' },
    { baseUrl, apiKey: '' },
    { baseUrl, apiKey: 'secret' },
    { baseUrl, apiKey: 'castellan_a\r\nb' },
    { baseUrl, maxStaleMs: -1 },
    { baseUrl, timeoutMs: Number.NaN },
    { baseUrl, cacheSize: Number.POSITIVE_INFINITY },
  ])
    assert.throws(
      () => createGuard({ apiKey: 'castellan_guard', ...options }),
      TypeError,
      JSON.stringify(options),
    );
});
