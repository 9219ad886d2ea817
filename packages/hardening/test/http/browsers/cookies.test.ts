// Cookies: the service sets exactly two, with exact attributes, and none with a refusal. Cookies that arrive malformed,
// twice or from a neighbouring site have no effect. It must not test the CSRF cookie: see two-cookies.test.ts.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import {
  ADMIN,
  createVerifiedUser,
  PASSWORD,
  signIn,
  startTestService,
  type TestService,
} from '@castellan/testing/harness';
import { routesOf } from '@castellan/testing/http/fixture';
import { canary, exchange, newRequestId } from '@castellan/testing/http/raw';
import { byTurns, scenariosOf, type Tally } from '@castellan/testing/scenario';
import { assertError, assertProper } from '../answers.ts';

const scenario = scenariosOf('http');
const service = await startTestService({ after });
const NEW_ACCESS_TOKEN = '/api/v1/auth/new_access_token';
// Seven days: the default of REFRESH_TOKEN_EXPIRE_DAYS.
const LIFETIME_SECONDS = 7 * 86_400;

const cookiesOf = ({ headers }: Answer): string[] =>
  headers.getSetCookie().map((one) => one.replace(/^([\w-]+)=[^;]+/, '$1=…'));

/** Calls every operation that sets or clears a cookie with one browser, and checks the cookies. */
async function assertCookies(
  tally: Tally,
  on: TestService,
  secure: string,
  { headers = {}, name = 'refresh_token', path = '/api/v1/auth' } = {},
): Promise<void> {
  const user = await createVerifiedUser(on);
  const client = on.client();
  const set = [`${name}=…; Max-Age=${LIFETIME_SECONDS}; Path=${path}; HttpOnly${secure}; SameSite=Lax`];
  const cleared = [
    `${name}=; Max-Age=0; Path=${path}; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly${secure}; SameSite=Lax`,
  ];
  const steps: [string, () => Promise<Answer>, string[]][] = [
    ['login', () => client.login(user), set],
    ['new_access_token', () => client.post(NEW_ACCESS_TOKEN, {}, { headers }), []],
    [
      'refresh by the cookie’s token',
      () => client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken }),
      set,
    ],
    [
      'refresh by another token',
      async () => {
        const other = await signIn(on, user);
        return client.post('/api/v1/auth/refresh', { refresh_token: other.refreshToken });
      },
      [],
    ],
    [
      'change_password',
      () =>
        client.post('/api/v1/auth/change_password', {
          current_password: PASSWORD,
          new_password: ADMIN.password,
        }),
      set,
    ],
    ['login again', () => client.login({ ...user, password: ADMIN.password }), set],
    ['logout', () => client.post('/api/v1/auth/logout'), cleared],
    ['login to leave', () => client.login({ ...user, password: ADMIN.password }), set],
    ['logout/all', () => client.post('/api/v1/auth/logout/all'), cleared],
  ];
  for (const [what, step, expected] of steps) {
    const answer = await step();
    tally.tried();
    assert.equal(answer.status, 200, `${what}: ${answer.text}`);
    assert.deepEqual(cookiesOf(answer).map(sorted), expected.map(sorted), what);
    tally.held(2);
  }
}

/** Sorts the attributes, whose order has no meaning. */
const sorted = (cookie: string): string => cookie.split('; ').sort().join('; ');

scenario(
  'the refresh cookie is HttpOnly, Secure, Lax, for /api/v1/auth alone, and is cleared with the same attributes',
  (tally) => assertCookies(tally, service, '; Secure'),
);

scenario(
  'COOKIE_SECURE alone decides whether the refresh cookie is Secure, whatever a proxy says',
  async (tally, t) => {
    const open = await startTestService(t, { COOKIE_SECURE: 'false', TRUSTED_PROXIES: '127.0.0.1' });
    await assertCookies(tally, open, '', { headers: { 'x-forwarded-proto': 'https' } });
  },
);

scenario(
  'the CSRF cookie is HttpOnly, Lax, for the whole site, and Secure when PUBLIC_URL is https or a trusted peer says that https came in',
  async (tally, t) => {
    const behindProxy = await startTestService(t, { TRUSTED_PROXIES: '127.0.0.1' });
    const behindHttps = await startTestService(t, { PUBLIC_URL: 'https://castellan.test' });
    const cases: [TestService, Record<string, string>, string][] = [
      [service, {}, ''],
      [behindHttps, {}, '; Secure'],
      [service, { 'x-forwarded-proto': 'https' }, ''],
      [behindProxy, { 'x-forwarded-proto': 'https' }, '; Secure'],
      [behindProxy, { 'x-forwarded-proto': 'http' }, ''],
      [behindProxy, {}, ''],
      [behindProxy, { 'x-forwarded-proto': 'https, http' }, ''],
      [behindProxy, { 'x-forwarded-proto': 'httpsx' }, ''],
      [behindProxy, { 'x-forwarded-ssl': 'on', 'front-end-https': 'on', forwarded: 'proto=https' }, ''],
    ];
    for (const [on, headers, secure] of cases) {
      const answer = await on.client().get('/api/v1/auth/csrf-token', { headers });
      tally.tried();
      assert.deepEqual(cookiesOf(answer), [`csrf_token=…; Path=/; HttpOnly${secure}; SameSite=Lax`]);
      tally.held();
    }
  },
);

scenario(
  'COOKIE_PREFIX goes before every cookie, set and cleared alike; __Host- and __Secure- ones are Secure, and __Host- ones have the path /',
  async (tally, t) => {
    for (const { prefix, path, secure } of [
      { prefix: '__Host-castellan_', path: '/', secure: '; Secure' },
      { prefix: '__host-', path: '/', secure: '; Secure' },
      { prefix: '__Secure-', path: '/api/v1/auth', secure: '; Secure' },
      { prefix: 'castellan_', path: '/api/v1/auth', secure: '' },
    ]) {
      const on = await startTestService(t, { COOKIE_PREFIX: prefix });
      await assertCookies(tally, on, '; Secure', { name: `${prefix}refresh_token`, path });
      const answer = await on.client().get('/api/v1/auth/csrf-token');
      assert.deepEqual(cookiesOf(answer), [`${prefix}csrf_token=…; Path=/; HttpOnly${secure}; SameSite=Lax`]);
      const client = await signIn(on, ADMIN);
      const bare = [...client.cookies].map(([name, value]) => `${name.slice(prefix.length)}=${value}`);
      const refused = await client.post(NEW_ACCESS_TOKEN, {}, { headers: { cookie: bare.join('; ') } });
      tally.tried(2);
      tally.held(1 + assertError(refused, 403, 'csrf_invalid', 'the names without the prefix'));
    }
  },
);

scenario('no refusal and no other route sets a cookie, or clears one', async (tally) => {
  const admin = await signIn(service, ADMIN);
  const cookie = [...admin.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  for (const [number, { method, path }] of (await routesOf(service)).entries()) {
    const raw = method === 'GET' ? {} : { raw: '{' };
    const all = [
      { authorization: null, cookie: null },
      { authorization: 'Bearer x', cookie },
      { 'x-csrf-token': null },
      { 'content-type': 'application/json', cookie },
      { 'content-type': 'text/plain', cookie: `${cookie}; refresh_token=x` },
    ];
    for (const headers of byTurns(all, 2, number)) {
      const answer = await admin.request(method, path, { ...raw, headers });
      tally.tried();
      if (path === '/api/v1/auth/csrf-token') continue;
      assert.deepEqual(answer.headers.getSetCookie(), [], `${method} ${path} ${answer.status}`);
      tally.held();
    }
  }
});

/** Requests an access token with exactly these cookies and the browser's CSRF cookie. */
const exchangeFor = (client: TestClient, cookies: string): Promise<Answer> =>
  client.request('POST', NEW_ACCESS_TOKEN, {
    json: {},
    headers: { cookie: `csrf_token=${client.cookies.get('csrf_token')}; ${cookies}`, authorization: null },
  });

scenario(
  'a refresh cookie that the service did not sign has no effect, in any number and order',
  async (tally) => {
    const client = await signIn(service, ADMIN);
    const mine = client.cookies.get('refresh_token') ?? '';
    const signature = mine.slice(mine.lastIndexOf('.') + 1);
    const strangers = [
      'evil',
      '"evil"',
      '',
      '%',
      '%00',
      '"',
      `${mine}x`,
      mine.replace(signature, [...signature].reverse().join('')),
      client.accessToken ?? '',
      'e30.e30.e30',
      `"${(await signIn(service, await createVerifiedUser(service))).cookies.get('refresh_token')}"`,
    ];
    for (const other of strangers)
      for (const cookies of [
        `refresh_token=${other}; refresh_token=${mine}`,
        `refresh_token=${mine}; refresh_token=${other}`,
        `refresh_token=${other};refresh_token=${mine};refresh_token=${other}`,
        `refresh_token; =; refresh_token ==${other}; a=b; refresh_token =${mine}; refresh_token=evil2`,
        `${Array.from({ length: 200 }, (_, number) => `refresh_token=evil${number}; `).join('')}refresh_token=${mine}`,
      ]) {
        const answer = await exchangeFor(client, cookies);
        tally.tried();
        assert.equal(answer.status, 200, cookies.slice(0, 60));
        tally.held();
      }
    // Clients without cookies of their own send the token in the body.
    for (const cookies of ['refresh_token=evil', 'refresh_token=evil; refresh_token=evil2']) {
      const headers = {
        cookie: `csrf_token=${client.cookies.get('csrf_token')}; ${cookies}`,
        authorization: null,
      };
      const answer = await client.request('POST', NEW_ACCESS_TOKEN, {
        json: { refresh_token: mine },
        headers,
      });
      tally.tried();
      assert.equal(answer.status, 200, cookies);
      tally.held();
      assertError(await exchangeFor(client, cookies), 401, 'refresh_token_invalid', cookies);
    }
    const headers = {
      cookie: `csrf_token=${client.cookies.get('csrf_token')}; refresh_token=evil; refresh_token=${mine}`,
    };
    assert.equal((await client.post('/api/v1/auth/logout', undefined, { headers })).status, 200);
    assertError(
      await exchangeFor(client, `refresh_token=${mine}`),
      401,
      'refresh_token_invalid',
      'signed out',
    );
  },
);

scenario(
  "a refresh cookie set by a neighbouring site never replaces the visitor's session with its owner's",
  async (tally) => {
    const victim = await signIn(service, await createVerifiedUser(service));
    const attacker = await signIn(service, await createVerifiedUser(service));
    const [mine, theirs] = [victim, attacker].map((one) => one.cookies.get('refresh_token'));
    for (const cookies of [
      `refresh_token=${mine}; refresh_token=${theirs}`,
      `refresh_token=${theirs}; refresh_token=${mine}`,
      `refresh_token=${theirs};refresh_token=${mine}`,
      `refresh_token=${theirs}; a=b; refresh_token =${mine}`,
      `refresh_token=; refresh_token=${theirs}; refresh_token=${mine}`,
      `refresh_token=evil; refresh_token=${theirs}; refresh_token=evil; refresh_token=${mine}`,
    ]) {
      const answer = await exchangeFor(victim, cookies);
      tally.tried();
      tally.held(assertError(answer, 401, 'refresh_token_invalid', cookies.slice(0, 40)));
      assert.deepEqual(answer.headers.getSetCookie(), []);
      tally.held();
    }
    // Two equal cookies count as one. Neither session was ended.
    for (const cookies of [
      `refresh_token=${mine}; refresh_token=${mine}`,
      `refresh_token=${mine}`,
      `refresh_token=${theirs}`,
    ]) {
      assert.equal((await exchangeFor(victim, cookies)).status, 200);
      tally.tried();
      tally.held();
    }
    const both = {
      cookie: `csrf_token=${victim.cookies.get('csrf_token')}; refresh_token=${theirs}; refresh_token=${mine}`,
    };
    assert.equal((await victim.post('/api/v1/auth/logout', undefined, { headers: both })).status, 200);
    assert.equal((await exchangeFor(attacker, `refresh_token=${theirs}`)).status, 200);
    assert.equal((await exchangeFor(victim, `refresh_token=${mine}`)).status, 401);
    tally.tried(3);
    tally.held(3);
  },
);

scenario('cookies of another case, prefix or spelling are other cookies', async (tally) => {
  const client = await signIn(service, ADMIN);
  const token = client.cookies.get('refresh_token');
  for (const name of [
    'Refresh_Token',
    'REFRESH_TOKEN',
    'refresh-token',
    '__Host-refresh_token',
    '__Secure-refresh_token',
    'refresh_token[]',
    '$refresh_token',
    'refresh%5ftoken',
    'a.refresh_token',
  ]) {
    tally.tried();
    tally.held(
      assertError(await exchangeFor(client, `${name}=${token}`), 401, 'refresh_token_invalid', name),
    );
  }
  const value = client.cookies.get('csrf_token');
  for (const name of ['CSRF_TOKEN', 'Csrf_Token', '__Host-csrf_token', 'csrf%5ftoken']) {
    const answer = await client.request('POST', NEW_ACCESS_TOKEN, {
      json: {},
      headers: { cookie: `${name}=${value}` },
    });
    tally.tried();
    tally.held(assertError(answer, 403, 'csrf_invalid', name));
  }
});

scenario('malformed and overlong cookies cause no 5xx and authenticate nobody', async (tally) => {
  for (const cookie of [
    '',
    ';',
    '=',
    ';;;;',
    '=x',
    'refresh_token',
    'refresh_token=',
    'refresh_token==',
    'refresh_token=%',
    'refresh_token=%ff',
    'refresh_token=%00',
    'csrf_token=%E0%A4%A',
    'refresh_token="',
    '__proto__=x; constructor=y; toString=z',
    '$Version=1; refresh_token=x',
    `refresh_token=${'x'.repeat(8_000)}`,
    'a=b; '.repeat(2_000),
    '\xff=\xfe',
    'refresh_token=a,refresh_token=b',
  ]) {
    const behind = newRequestId('behind');
    const answers = await exchange(
      service.url,
      `GET /api/v1/users/me HTTP/1.1\r\nHost: a\r\nCookie: ${cookie}\r\n\r\n` +
        `POST ${NEW_ACCESS_TOKEN} HTTP/1.1\r\nHost: a\r\nCookie: ${cookie}\r\nContent-Length: 0\r\n\r\n${canary(behind)}`,
    );
    tally.tried(2);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [401, 403, 200],
      cookie.slice(0, 40),
    );
    assert.equal(answers[2]?.headers.get('x-request-id'), behind);
    tally.held(2);
    for (const answer of answers) tally.held(assertProper(answer, cookie.slice(0, 40)));
  }
});
