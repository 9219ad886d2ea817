// Routes that declare `readOnly`: a POST that changes nothing. They are registered here, beside those of the service.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { after, test } from 'node:test';
import { buildApp } from '@castellan/server/app';
import { signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { countStatements } from '@castellan/testing/statements';
import { addPerson } from '@castellan/testing/users/people';

const service = await startTestService({ after });
const { deps } = service.service;
const entered: string[] = [];
const watched = (name: 'changes' | 'reads') => ({
  ...deps.turns[name],
  enter: (...given: Parameters<typeof deps.turns.reads.enter>) => {
    entered.push(name);
    return deps.turns[name].enter(...given);
  },
});
const app = await buildApp({
  ...deps,
  turns: { changes: watched('changes'), reads: watched('reads') },
});
for (const [url, config] of [
  ['/api/v1/probe/change', {}],
  ['/api/v1/probe/read', { readOnly: true }],
  ['/api/v1/probe/free', { readOnly: true, turn: false }],
] as const)
  app.route({
    method: 'POST',
    url,
    config: { access: 'authenticated', ...config },
    schema: { hide: true },
    handler: async () => ({ ok: true }),
  });
/** Called when the caller of a request is authorized and its body is about to be read. */
let onBody: () => void = () => undefined;
app.addHook('preParsing', async () => onBody());
const url = await app.listen({ port: 0, host: '127.0.0.1' });
after(() => app.close());

const client = (await signIn(service, await addPerson(service))).at(url);
const ask = (route: string, headers: Record<string, string | null> = {}) =>
  client.post(`/api/v1/probe/${route}`, {}, { headers: { 'x-csrf-token': null, cookie: null, ...headers } });

test('a read-only route needs a bearer token and no CSRF token', async () => {
  assertRefused(await ask('change'), 403, 'csrf_invalid');
  for (const route of ['read', 'free']) {
    assert.equal((await ask(route)).status, 200);
    assertRefused(await ask(route, { authorization: null }), 401, 'token_missing');
  }
});

test('a read-only route takes a turn of the reads, or none', async () => {
  for (const [route, expected] of [
    ['read', ['reads']],
    ['free', []],
  ] as const) {
    entered.length = 0;
    assert.equal((await ask(route)).status, 200);
    assert.deepEqual(entered, expected);
  }
});

test('the caller of a read-only route is authorized once; before a change, twice', async () => {
  for (const route of ['read', 'free']) assert.equal(await countStatements(service, () => ask(route)), 1);
  const change = () => client.post('/api/v1/probe/change', {});
  assert.equal((await change()).status, 200);
  assert.equal(await countStatements(service, change), 2);
});

/** Sends the headers, runs `between` after the caller was authorized, and sends the body. Returns the status. */
async function askSlowly(token: string, between: () => Promise<void>): Promise<number | undefined> {
  const authorized = new Promise<void>((resolve) => {
    onBody = resolve;
  });
  const sent = request(`${url}/api/v1/probe/read`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': 2 },
  });
  const answered = once(sent, 'response');
  sent.write('{');
  await authorized;
  await between();
  sent.end('}');
  const [answer] = await answered;
  answer.resume();
  return answer.statusCode;
}

test('the caller of a read-only route is authorized again if the body took more than a second', async (t) => {
  const person = await addPerson(service);
  const { accessToken } = await signIn(service, person);
  const now = performance.now.bind(performance);
  let waited = 0;
  t.mock.method(performance, 'now', () => now() + waited);
  const deactivate = async () => {
    await service.sql('update users set is_active = false where id = $1', [person.id]);
    waited += 1_001;
  };
  assert.equal(await askSlowly(accessToken as string, async () => undefined), 200);
  assert.equal(await askSlowly(accessToken as string, deactivate), 401);
});
