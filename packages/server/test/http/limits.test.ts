// Rate limits of routes: exact under parallel requests and across instances, counted per address, and before any check
// but CSRF.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { newEmail, startTestService } from '@castellan/testing/harness';
import { assertRefused, postText, routesOf } from '@castellan/testing/http/fixture';

const limited: [setting: string, path: string, text: string][] = [
  ['RATE_LIMIT_LOGIN', 'login', '5/minute'],
  ['RATE_LIMIT_REGISTER', 'register', '3/hour'],
  ['RATE_LIMIT_REGISTER', 'accept-invitation', '3/hour'],
  ['RATE_LIMIT_PASSWORD_RESET', 'password-reset/request', '3/hour'],
  ['RATE_LIMIT_PASSWORD_RESET', 'login/recovery-mail', '3/hour'],
  ['RATE_LIMIT_NEW_ACCESS_TOKEN', 'new_access_token', '5/minute'],
  ['RATE_LIMIT_RESEND_VERIFICATION', 'resend-verification-email', '3/hour'],
  ['RATE_LIMIT_PROVIDER_START', 'pending-identity/email', '20/minute'],
  ['RATE_LIMIT_PROVIDER_START', 'providers/:slug/start', '20/minute'],
];
// The values of the specification, because the harness turns all limits off.
const environment = Object.fromEntries(limited.map(([setting, , text]) => [setting, text]));
const behindProxy = { ...environment, TRUSTED_PROXIES: '127.0.0.1' };
const service = await startTestService({ after }, behindProxy);

let network = 0;
/** Returns a client with an address that no other test uses. */
function fromNewAddress(): { client: TestClient; headers: Record<string, string> } {
  network += 1;
  return { client: service.client(), headers: { 'x-forwarded-for': `198.51.100.${network}` } };
}

/** Returns an invalid body, which costs no work beyond the limit: it is refused as soon as it is read. */
const malformed = (headers: Record<string, string>) => ({
  raw: '{',
  headers: { 'content-type': 'application/json', ...headers },
});

async function inParallel(count: number, send: (index: number) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => send(index)));
}
const allowedOf = (answers: Answer[]): Answer[] => answers.filter(({ status }) => status !== 429);

test('exactly the specified routes have a limit per address', async () => {
  const found = (await routesOf(service)).filter(({ config }) => config.limit?.rule);
  assert.deepEqual(
    found.map(({ url }) => url).sort(),
    [
      ...[...limited.map(([, path]) => path), 'providers/:slug/backchannel-logout'].map(
        (path) => `/api/v1/auth/${path}`,
      ),
      '/api/v1/users/me/identities',
    ].sort(),
  );
});

for (const [, path, text] of limited) {
  const limit = Number(text.split('/')[0]);
  const windowSeconds = text.endsWith('minute') ? 60 : 3_600;

  test(`of 50 parallel calls of ${path} exactly ${limit} pass, also over two instances, malformed ones included`, async () => {
    const second = await service.another();
    const { client, headers } = fromNewAddress();
    await client.get('/api/v1/auth/csrf-token');
    const answers = await inParallel(50, (index) =>
      (index % 2 === 0 ? client : client.at(second.url)).request(
        'POST',
        `/api/v1/auth/${path}`,
        malformed(headers),
      ),
    );
    assert.equal(allowedOf(answers).length, limit);
    for (const answer of allowedOf(answers)) {
      assertRefused(answer, 400, 'malformed_json');
      assert.equal(answer.headers.get('ratelimit-limit'), String(limit));
    }
    for (const answer of answers.filter(({ status }) => status === 429)) {
      assert.equal(answer.body.code, 'rate_limited');
      const wait = Number(answer.headers.get('retry-after'));
      assert.ok(wait >= 1 && wait <= windowSeconds, `Retry-After ${wait}`);
      assert.equal(answer.headers.get('ratelimit-limit'), String(limit));
      assert.equal(answer.headers.get('ratelimit-remaining'), '0');
      assert.equal(answer.headers.get('ratelimit-reset'), String(wait));
    }
    const remaining = allowedOf(answers).map((answer) => Number(answer.headers.get('ratelimit-remaining')));
    assert.deepEqual(
      remaining.sort((a, b) => a - b),
      Array.from({ length: limit }, (_, index) => index),
    );
    await second.stop();
  });
}

test('valid requests are limited as exactly as malformed ones', async () => {
  const { client, headers } = fromNewAddress();
  await client.get('/api/v1/auth/csrf-token');
  const answers = await inParallel(50, () =>
    client.post('/api/v1/auth/login', { email: newEmail(), password: 'Wrong#Password88' }, { headers }),
  );
  assert.equal(allowedOf(answers).length, 5);
  for (const answer of allowedOf(answers)) assertRefused(answer, 422, 'invalid_credentials');
});

test('the limits of two routes are counted separately', async () => {
  const { client, headers } = fromNewAddress();
  await inParallel(6, () => client.request('POST', '/api/v1/auth/login', malformed(headers)));
  const answer = await client.request('POST', '/api/v1/auth/register', malformed(headers));
  assertRefused(answer, 400, 'malformed_json');
});

test('each address is counted separately, whatever the account', async () => {
  const one = fromNewAddress();
  const other = fromNewAddress();
  await inParallel(6, () => one.client.request('POST', '/api/v1/auth/login', malformed(one.headers)));
  const refused = await one.client.request('POST', '/api/v1/auth/login', malformed(one.headers));
  assertRefused(refused, 429, 'rate_limited');
  const answer = await other.client.request('POST', '/api/v1/auth/login', malformed(other.headers));
  assertRefused(answer, 400, 'malformed_json');
});

test('the addresses of one IPv6 /64 are counted together', async () => {
  const { client } = fromNewAddress();
  await client.get('/api/v1/auth/csrf-token');
  const answers = await inParallel(20, (index) =>
    client.request(
      'POST',
      '/api/v1/auth/login',
      malformed({ 'x-forwarded-for': `2001:db8:1:2::${index + 1}` }),
    ),
  );
  assert.equal(allowedOf(answers).length, 5);
  const neighbour = await client.request(
    'POST',
    '/api/v1/auth/login',
    malformed({ 'x-forwarded-for': '2001:db8:1:3::1' }),
  );
  assertRefused(neighbour, 400, 'malformed_json');
});

test('behind a proxy that is not trusted all clients are counted together', async (t) => {
  const untrusting = await startTestService(t, environment);
  const client = untrusting.client();
  await client.get('/api/v1/auth/csrf-token');
  const answers = await inParallel(20, (index) =>
    client.request('POST', '/api/v1/auth/login', malformed({ 'x-forwarded-for': `203.0.113.${index}` })),
  );
  assert.equal(allowedOf(answers).length, 5);
});

test('a refused CSRF token does not count towards the limit', async () => {
  const { client, headers } = fromNewAddress();
  for (let count = 0; count < 10; count += 1) {
    const answer = await client.request(
      'POST',
      '/api/v1/auth/login',
      malformed({ ...headers, 'x-csrf-token': 'x' }),
    );
    assertRefused(answer, 403, 'csrf_invalid');
    assert.equal(answer.headers.get('ratelimit-limit'), null);
  }
  const answers = await inParallel(10, () =>
    client.request('POST', '/api/v1/auth/login', malformed(headers)),
  );
  assert.equal(allowedOf(answers).length, 5);
});

test('a refusal is an audit event that names the limit and the address', async () => {
  // The earlier tests were refused so often that the log records no more refusals of their network in this minute.
  const client = service.client();
  const headers = { 'x-forwarded-for': '192.0.2.77' };
  const answers = await inParallel(6, () => client.request('POST', '/api/v1/auth/login', malformed(headers)));
  const refused = answers.find(({ status }) => status === 429);
  const [entry] = await service.sql<{ resource_type: string; details: Record<string, string> }>(
    `select resource_type, details from audit_logs
     where action = 'rate_limited' and details->>'request_id' = $1`,
    [refused?.headers.get('x-request-id')],
  );
  assert.equal(entry?.resource_type, 'security_event');
  assert.equal(entry.details.limit, 'login');
  assert.equal(entry.details.address, headers['x-forwarded-for']);
});

test('counting reveals no account: known and unknown emails get the same answers', async () => {
  const known = fromNewAddress();
  const unknown = fromNewAddress();
  const ask = ({ client, headers }: typeof known, email: string) =>
    inParallel(4, () => client.post('/api/v1/auth/password-reset/request', { email }, { headers }));
  const shape = (answers: Answer[]) =>
    answers.map(({ status, body }) => `${status} ${body.message ?? body.detail}`).sort();
  assert.deepEqual(shape(await ask(known, 'admin@example.com')), shape(await ask(unknown, newEmail())));
});

test('`off` turns a limit off: nothing is counted and no header mentions it', async (t) => {
  const unlimited = await startTestService(t);
  const client = unlimited.client();
  await client.get('/api/v1/auth/csrf-token');
  for (const [, path] of limited) {
    const answers = await inParallel(20, () => postText(client, `/api/v1/auth/${path}`, '{'));
    for (const answer of answers) {
      assertRefused(answer, 400, 'malformed_json');
      assert.equal(answer.headers.get('ratelimit-limit'), null);
    }
  }
  const [{ count } = { count: '' }] = await unlimited.sql<{ count: string }>(
    'select count(*) from rate_limits',
  );
  assert.equal(count, '0');
});
