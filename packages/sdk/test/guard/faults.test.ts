// The mutation table: each way in which Castellan can fail or lie, against every way to ask a guard. None may pass.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, test } from 'node:test';
import { createGuard, type Guard } from '../../src/index.ts';
import { type FakeCastellan, type Json, type Lie, sendJson, startFakeCastellan } from './fake-castellan.ts';
import { callers, decisions, middlewares, type Outcome, PERMISSION } from './surfaces.ts';

const castellan: FakeCastellan = await startFakeCastellan();
after(() => castellan.stop());
afterEach(() => castellan.lie(undefined));

const SUBJECT = '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be210';
castellan.grant(SUBJECT, PERMISSION);

/** Long, so that a busy machine fails no honest answer; short only where nothing answers. */
let timeoutMs = 60_000;

const guardOf = (): Guard =>
  createGuard({ baseUrl: castellan.url, apiKey: 'castellan_guard', timeoutMs, maxStaleMs: 60_000 });

/** Asks in every way, each with a new guard, and returns the outcomes by name. */
async function askEveryWay(token: string, ways: 'callers' | 'all'): Promise<[name: string, Outcome][]> {
  const asked = Object.entries({ ...middlewares, ...callers }).map(
    async ([name, ask]): Promise<[string, Outcome]> => [name, await ask(guardOf(), `Bearer ${token}`)],
  );
  const decided = Object.entries(decisions).map(
    async ([name, ask]): Promise<[string, Outcome]> => [name, await ask(guardOf(), SUBJECT)],
  );
  return Promise.all(ways === 'all' ? [...asked, ...decided] : asked);
}

const refused = (outcomes: [string, Outcome][], status: number): void => {
  for (const [name, outcome] of outcomes)
    assert.equal('status' in outcome ? outcome.status : 'passed', status, name);
};

const replaced =
  (change: (honest: Json) => unknown): Lie =>
  (response, honest) =>
    sendJson(response, change(honest));

const status =
  (code: number, headers: Record<string, string> = {}): Lie =>
  (response, honest) => {
    response.statusCode = code;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    sendJson(response, honest);
  };

const text =
  (type: string | undefined, body: (honest: Json) => string | Buffer): Lie =>
  (response, honest) => {
    if (type) response.setHeader('content-type', type);
    response.end(body(honest));
  };

function cut(response: ServerResponse, honest: Json): void {
  const body = JSON.stringify(honest);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length + 10 });
  response.write(body, () => response.destroy());
}

function half(response: ServerResponse, honest: Json): void {
  response.setHeader('content-type', 'application/json');
  response.write(JSON.stringify(honest).slice(0, -1));
}

const dated =
  (minutes: number): Lie =>
  (response, honest) => {
    response.setHeader('date', new Date(Date.now() + minutes * 60_000).toUTCString());
    sendJson(response, honest);
  };

test('without a fault, every way lets the caller through', async () => {
  const token = castellan.token([PERMISSION], { sub: SUBJECT });
  for (const [name, outcome] of await askEveryWay(token, 'all'))
    assert.equal('passed' in outcome && outcome.passed, SUBJECT, name);
});

const HTML = '<!doctype html><title>Sign in</title>';
const everywhere: [name: string, lie: Lie][] = [
  ...[201, 202, 203, 204, 206, 304, 400, 401, 403, 404, 429, 500, 502, 503].map((code): [string, Lie] => [
    `status ${code} with the right body`,
    status(code),
  ]),
  ['200 with HTML', text('text/html', () => HTML)],
  ['200 with HTML that claims to be JSON', text('application/json', () => HTML)],
  ['200 with the right body as text', text('text/plain', (honest) => JSON.stringify(honest))],
  [
    '200 with the right body as another JSON type',
    text('application/jsonp', (honest) => JSON.stringify(honest)),
  ],
  ['200 with the right body without a type', text(undefined, (honest) => JSON.stringify(honest))],
  ['200 without a body', text('application/json', () => '')],
  ['two bodies in one', text('application/json', (honest) => JSON.stringify(honest).repeat(2))],
  [
    'text that is no UTF-8',
    text('application/json', (honest) =>
      Buffer.concat([Buffer.from(JSON.stringify(honest).slice(0, -1)), Buffer.from(',"\xff":1}', 'latin1')]),
    ),
  ],
  [
    'a body over 8 MiB',
    text('application/json', (honest) => JSON.stringify(honest) + ' '.repeat(9 * 1024 * 1024)),
  ],
  ['true', replaced(() => true)],
  ['null', replaced(() => null)],
  ['an empty object', replaced(() => ({}))],
  ['a list around the body', replaced((honest) => [honest])],
  ['an envelope around the body', replaced((honest) => ({ data: honest, message: 'OK' }))],
  ['no answer', () => undefined],
  ['half an answer', half],
  ['a cut body', cut],
  ['a closed connection', (response) => response.destroy()],
];
for (const [name, lie] of everywhere)
  test(`refused everywhere: ${name}`, async (t) => {
    timeoutMs = 500;
    t.after(() => {
      timeoutMs = 60_000;
    });
    const token = castellan.token([PERMISSION], { sub: SUBJECT });
    castellan.lie(lie);
    refused(await askEveryWay(token, 'all'), 503);
    // The same on one path only: the others are honest.
    castellan.lie(lie, 'introspect', 'evaluations');
    refused(await askEveryWay(token, 'all'), 503);
    castellan.lie(lie, 'jwks');
    refused(await askEveryWay(token, 'callers'), 503);
  });

for (const code of [301, 302, 303, 307, 308])
  test(`a redirect with ${code} is not followed`, async (t) => {
    let followed = 0;
    const target = createServer((_, response) => {
      followed += 1;
      sendJson(response, { active: true, evaluations: [{ decision: true }] });
    });
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
    t.after(() => target.close());
    const { port } = target.address() as AddressInfo;
    const token = castellan.token([PERMISSION], { sub: SUBJECT });
    castellan.lie(status(code, { location: `http://127.0.0.1:${port}/` }));
    refused(await askEveryWay(token, 'all'), 503);
    assert.equal(followed, 0);
  });

test('refused everywhere: no service at that address', async () => {
  const gone = await startFakeCastellan();
  const token = gone.token([PERMISSION], { sub: SUBJECT });
  await gone.stop();
  const guard = () => createGuard({ baseUrl: gone.url, apiKey: 'castellan_guard' });
  for (const ask of Object.values({ ...middlewares, ...callers }))
    refused([['caller', await ask(guard(), `Bearer ${token}`)]], 503);
  for (const ask of Object.values(decisions)) refused([['decision', await ask(guard(), SUBJECT)]], 503);
});

const first = (honest: Json): Json => (Array.isArray(honest.evaluations) ? honest.evaluations[0] : {});
const lyingDecisions: [name: string, change: (honest: Json) => unknown][] = [
  ...['true', 1, 'yes', {}, [], null, undefined].map((decision): [string, (honest: Json) => unknown] => [
    `decision: ${JSON.stringify(decision)}`,
    (honest) => ({ evaluations: [{ ...first(honest), decision }] }),
  ]),
  ['no decisions', () => ({ evaluations: [] })],
  ['too many decisions', (honest) => ({ evaluations: [first(honest), first(honest)] })],
  ['a decision instead of a list', () => ({ decision: true })],
  [
    'a decision about another permission',
    () => ({ evaluations: [{ decision: true, context: { permission: 'orders.delete' } }] }),
  ],
  [
    'a decision that is an error',
    () => ({ evaluations: [{ decision: true, context: { error: { status: 500 } } }] }),
  ],
];
for (const [name, change] of lyingDecisions)
  test(`refused as a decision: ${name}`, async () => {
    castellan.lie(replaced(change), 'evaluations');
    for (const ask of Object.values(decisions)) refused([['decision', await ask(guardOf(), SUBJECT)]], 503);
  });

test('a refusal in an honest answer is false', async () => {
  castellan.lie(
    replaced(() => ({ evaluations: [{ decision: false, context: { reason: 'not_granted' } }] })),
    'evaluations',
  );
  for (const ask of Object.values(decisions)) refused([['decision', await ask(guardOf(), SUBJECT)]], 403);
});

const lyingInspections: [name: string, members: Json][] = [
  ['active: "true"', { active: 'true' }],
  ['active: 1', { active: 1 }],
  ['no active', { active: undefined }],
  ['permissions as text', { permissions: PERMISSION }],
  ['permissions as an object', { permissions: { [PERMISSION]: true } }],
  ['permissions of numbers', { permissions: [1] }],
  ['no permissions', { permissions: undefined }],
  ['another subject', { sub: 'someone-else' }],
  ['another token', { jti: 'another' }],
  ['no session', { sid: undefined }],
  ['an end that is text', { exp: '9999999999' }],
  ['a start that is text', { iat: 'now' }],
];
for (const [name, members] of lyingInspections)
  test(`refused as an introspection: ${name}`, async () => {
    const token = castellan.token([PERMISSION], { sub: SUBJECT });
    castellan.lie(
      replaced((honest) => ({ ...honest, ...members })),
      'introspect',
    );
    refused(await askEveryWay(token, 'callers'), 503);
  });

const seconds = (minutes: number): number => Math.floor(Date.now() / 1_000) + minutes * 60;
const wrongTimes: [name: string, claims: Json][] = [
  ['issued in 10 minutes', { iat: seconds(10), exp: seconds(20) }],
  ['ended 10 minutes ago', { iat: seconds(-40), exp: seconds(-10) }],
];
for (const [name, claims] of wrongTimes)
  test(`refused though called active: a token ${name}`, async () => {
    refused(await askEveryWay(castellan.token([PERMISSION], claims), 'callers'), 401);
  });

for (const minutes of [-10, 10])
  test(`refused everywhere: the clock of Castellan is ${minutes} minutes off`, async () => {
    const token = castellan.token([PERMISSION], { sub: SUBJECT });
    castellan.lie(dated(minutes), 'introspect', 'evaluations');
    refused(await askEveryWay(token, 'all'), 503);
  });

test('an API key whose times are wrong is refused though called active', async () => {
  const key = castellan.key([PERMISSION], 'account');
  for (const times of [{ iat: seconds(10) }, { iat: seconds(-40), exp: seconds(-10) }]) {
    castellan.lie(
      replaced((honest) => ({ ...honest, ...times })),
      'introspect',
    );
    refused(await askEveryWay(key, 'callers'), 401);
  }
});

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

test('forged and foreign tokens are refused and never sent to Castellan', async () => {
  const good = castellan.token([PERMISSION], { sub: SUBJECT });
  const [head = '', body = '', signature = ''] = good.split('.');
  const header = JSON.parse(Buffer.from(head, 'base64url').toString());
  const hmac = createHmac('sha256', 'x').update(`${head}.${body}`).digest('base64url');
  const forged: Record<string, string> = {
    'another body': `${head}.${encode({ ...JSON.parse(Buffer.from(body, 'base64url').toString()), sub: 'admin' })}.${signature}`,
    'no signature': `${head}.${body}.`,
    'two parts': `${head}.${body}`,
    'four parts': `${good}.${signature}`,
    'alg none': `${encode({ ...header, alg: 'none' })}.${body}.${signature}`,
    'alg HS256': `${encode({ ...header, alg: 'HS256' })}.${body}.${hmac}`,
    'another algorithm, signed by the right key': castellan.token([PERMISSION], {}, { alg: 'HS256' }),
    'another type': castellan.token([PERMISSION], {}, { typ: 'JWT' }),
    'a critical extension': castellan.token([PERMISSION], {}, { crit: ['b64'] }),
    'no key': castellan.token([PERMISSION], {}, { kid: undefined }),
    'a number as subject': castellan.token([PERMISSION], { sub: 7 }),
    'no end': castellan.token([PERMISSION], { exp: undefined }),
    padding: `${good}==`,
    'no token at all': 'x',
  };
  const before = castellan.asked.introspect.length;
  for (const [name, token] of Object.entries(forged))
    for (const [way, outcome] of await askEveryWay(token, 'callers'))
      assert.equal('status' in outcome && outcome.status, 401, `${name}, ${way}`);
  assert.equal(castellan.asked.introspect.length, before);
});

test('headers without exactly one bearer token are refused', async () => {
  const token = castellan.token([PERMISSION]);
  for (const authorization of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Basic ${token}`,
    `Bearer ${token} x`,
    `Bearer ${token}, Bearer ${token}`,
    token,
    `Bearer ${'x'.repeat(9_000)}`,
  ])
    for (const [way, ask] of Object.entries({ ...middlewares, ...callers }))
      refused([[`${authorization} ${way}`, await ask(guardOf(), authorization)]], 401);
});

test('a repeated Authorization header of a raw request is refused', async () => {
  const token = castellan.token([PERMISSION]);
  const headers = { authorization: [`Bearer ${token}`, `Bearer ${token}`] };
  await assert.rejects(guardOf().authenticate({ headers }), { code: 'missing_token' });
});

test('an answer under which the guard itself is refused says how to mend it', async () => {
  castellan.lie(status(403));
  const messages: string[] = [];
  const guard = createGuard({
    baseUrl: castellan.url,
    apiKey: 'castellan_guard',
    onUnavailable: (error) => messages.push(error.message),
  });
  await assert.rejects(guard.can({ type: 'user', id: SUBJECT }, PERMISSION), { status: 503 });
  assert.match(messages.join(), /answered 403.*role Service/);
});
