// CORS: only pages of listed origins may call with cookies; every page may read `/.well-known/` without. Origins are
// compared character by character. It must not treat an origin that only looks like a listed one as listed.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused, isUnsafe, routesOf } from '@castellan/testing/http/fixture';
import { byTurns, scenariosOf } from '@castellan/testing/scenario';
import { assertProper } from '../answers.ts';

const scenario = scenariosOf('http');
const APP = 'https://app.example';
const LOCAL = 'http://localhost:5173';
const service = await startTestService({ after }, { CORS_ORIGINS: `${APP}, ${LOCAL}` });
const closed = await startTestService({ after });
const isOpen = (path: string): boolean =>
  path.startsWith('/.well-known/') || path === '/api/v1/oauth/jwks.json';
// A route that ignores the method answers no preflight (packages/server/test/access/forward.test.ts).
const answering = (await routesOf(service)).filter(({ path, config }) => !isOpen(path) && !config.anyMethod);
/** Programs and pages of applications call these, without cookies: the record of the application names its origins. */
const isForApplications = (path: string): boolean =>
  /^\/api\/v1\/oauth\/(token|par|device_authorization|introspect|revoke|userinfo)$/.test(path);
const routes = answering.filter(({ path }) => !isForApplications(path));
const forApplications = answering.filter(({ path }) => isForApplications(path));
const wellKnown = (await routesOf(service)).filter(({ path }) => isOpen(path));

const strangers = [
  'https://evil.example',
  'http://app.example',
  'https://app.example:444',
  'https://app.example:443',
  'https://app.example.evil.example',
  'https://xapp.example',
  'https://sub.app.example',
  'https://app.exampl',
  'https://app.example.',
  'https://app-example',
  'https://APP.example',
  'HTTPS://app.example',
  'https://app.example/',
  'https://app.example/path',
  'https://user@app.example',
  'https://app.example@evil.example',
  'https://app.example#evil.example',
  'https://app.example%60.evil.example',
  'https://app.example_.evil.example',
  'https://app.example, https://evil.example',
  'https://app.example https://evil.example',
  `${APP}, ${LOCAL}`,
  'app.example',
  '//app.example',
  'file://',
  'http://localhost:5174',
  'http://localhost',
  'http://127.0.0.1:5173',
  'null',
  'NULL',
  '*',
  '',
];

const corsOf = ({ headers }: Answer): string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));
const preflight = (url: string, path: string, headers: Record<string, string>): Promise<Answer> =>
  service
    .client()
    .at(url)
    .request('OPTIONS', path, {
      headers: {
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,x-csrf-token',
        'access-control-request-private-network': 'true',
        ...headers,
      },
    });

scenario(
  'a listed origin may call every route with cookies and read what it needs, errors included',
  async (tally) => {
    for (const { method, path } of [
      ...routes,
      { method: 'GET', path: '/nothing' },
      { method: 'PATCH', path: '/docs' },
    ])
      for (const origin of [APP, LOCAL]) {
        const { headers } = await service
          .client()
          .request(method, path, { headers: { origin, 'x-csrf-token': null } });
        tally.tried();
        assert.equal(headers.get('access-control-allow-origin'), origin, path);
        assert.equal(headers.get('access-control-allow-credentials'), 'true', path);
        assert.match(headers.get('access-control-expose-headers') ?? '', /x-request-id.*retry-after/);
        assert.doesNotMatch(headers.get('access-control-expose-headers') ?? '', /\*/);
        assert.match(headers.get('vary') ?? '', /(^|, )origin($|,)/i, path);
        tally.held(5);
      }
  },
);

scenario(
  'an origin that only looks like a listed one gets no CORS header on any route, and Vary keeps caches correct',
  async (tally) => {
    for (const origin of strangers)
      for (const path of ['/api/v1/auth/csrf-token', '/api/v1/users/me', '/docs', '/nothing']) {
        const answer = await service.client().get(path, { headers: { origin } });
        const asked = await preflight(service.url, path, { origin });
        tally.tried(2);
        for (const one of [answer, asked]) {
          assert.deepEqual(corsOf(one), [], origin);
          assert.match(one.headers.get('vary') ?? '', /origin/i);
          tally.held(2);
        }
        assert.ok([404, 405].includes(asked.status), `${origin}: ${asked.status}`);
        tally.held(1 + assertProper(asked, origin));
      }
  },
);

scenario(
  'a preflight of a listed origin is answered without a token for every route, and never allows private network access',
  async (tally) => {
    for (const path of new Set([...routes.map((one) => one.path), '/nothing'])) {
      const answer = await preflight(service.url, path, { origin: APP });
      const { status, headers } = answer;
      tally.tried();
      assert.equal(status, 204);
      assert.equal(headers.get('access-control-allow-origin'), APP);
      assert.equal(headers.get('access-control-allow-credentials'), 'true');
      assert.equal(headers.get('access-control-allow-methods'), 'GET, POST, PUT, PATCH, DELETE');
      const allowed = (headers.get('access-control-allow-headers') ?? '').split(', ');
      for (const name of ['authorization', 'content-type', 'x-csrf-token', 'x-request-id'])
        assert.ok(allowed.includes(name), name);
      assert.equal(headers.get('access-control-max-age'), '600');
      assert.equal(headers.get('access-control-allow-private-network'), null);
      assert.ok(!headers.get('access-control-allow-headers')?.includes('*'));
      tally.held(12 + assertProper(answer, path));
    }
  },
);

scenario(
  'an unsafe request from another origin does nothing without the token that only a listed page can read',
  async (tally) => {
    const admin = await signIn(service, ADMIN);
    const before = await service.sql('select (select count(*) from users), (select count(*) from roles)');
    for (const { method, path } of routes.filter((one) => isUnsafe(one) && one.config.csrf !== false))
      for (const headers of [
        { origin: 'https://evil.example', 'x-csrf-token': null },
        { origin: 'null', 'x-csrf-token': null, 'content-type': 'text/plain' },
        { origin: 'https://evil.example', 'x-csrf-token': 'x'.repeat(96), 'sec-fetch-site': 'cross-site' },
      ]) {
        const answer = await admin.request(method, path, { raw: '{}', headers });
        tally.tried();
        assertRefused(answer, 403, 'csrf_invalid');
        assert.deepEqual(corsOf(answer), []);
        tally.held(2);
      }
    assert.deepEqual(
      await service.sql('select (select count(*) from users), (select count(*) from roles)'),
      before,
    );
    assert.equal((await admin.get('/api/v1/users/me')).status, 200);
    tally.held(2);
  },
);

scenario('OPTIONS that is not a preflight is treated like any other method', async (tally) => {
  for (const { path } of routes) {
    // Health checks send it.
    if (path === '/') continue;
    const answer = await service.client().request('OPTIONS', path, { headers: { origin: APP } });
    tally.tried();
    assertRefused(answer, 405, 'method_not_allowed');
    assert.doesNotMatch(answer.headers.get('allow') ?? '', /OPTIONS/);
    tally.held(2);
  }
  assertRefused(await service.client().request('OPTIONS', '/nothing'), 404, 'route_not_found');
});

scenario(
  'by default no origin is listed, and no CORS header is sent outside /.well-known/',
  async (tally) => {
    for (const [number, { method, path }] of routes.entries())
      for (const origin of byTurns([APP, closed.url, 'null', '*'], 1, number)) {
        const answer = await closed
          .client()
          .request(method, path, { headers: { origin, 'x-csrf-token': null } });
        const asked = await preflight(closed.url, path, { origin });
        tally.tried(2);
        assert.equal(asked.status, path === '/' ? 204 : 405, path);
        assert.deepEqual([...corsOf(answer), ...corsOf(asked)], [], path);
        assert.doesNotMatch(answer.headers.get('vary') ?? '', /origin/i, path);
        tally.held(3);
      }
  },
);

scenario(
  'every origin may read /.well-known/, errors and preflights included, and none with credentials',
  async (tally) => {
    for (const url of [service.url, closed.url])
      for (const path of [...wellKnown.map((one) => one.path), '/.well-known/nothing'])
        for (const origin of [...strangers, APP, undefined]) {
          const headers = origin === undefined ? {} : { origin };
          const { headers: given } = await service.client().at(url).get(path, { headers });
          const asked = await preflight(url, path, {
            ...headers,
            'access-control-request-method': 'GET',
          });
          tally.tried(2);
          for (const one of [given, asked.headers]) {
            assert.equal(one.get('access-control-allow-origin'), '*', path);
            assert.equal(one.get('access-control-allow-credentials'), null, path);
            assert.equal(one.get('access-control-allow-private-network'), null, path);
            assert.doesNotMatch(one.get('vary') ?? '', /origin/i, path);
          }
          assert.equal(asked.status, 204);
          assert.equal(asked.headers.get('access-control-allow-methods'), 'GET');
          tally.held(10 + assertProper(asked, path));
        }
  },
);

scenario(
  'services for applications answer preflights without credentials, and no origin before they know the application',
  async (tally) => {
    for (const url of [service.url, closed.url])
      for (const { method, path } of forApplications)
        for (const origin of [...strangers, APP]) {
          const answer = await service
            .client()
            .at(url)
            .request(method, path, { headers: { origin, 'x-csrf-token': null } });
          const asked = await preflight(url, path, { origin });
          tally.tried(2);
          assert.ok(answer.status >= 400, `${method} ${path}: ${answer.status}`);
          assert.deepEqual(corsOf(answer), [], `${method} ${path} ${origin}`);
          assert.equal(asked.status, 204);
          assert.equal(asked.headers.get('access-control-allow-origin'), '*');
          assert.equal(asked.headers.get('access-control-allow-credentials'), null);
          assert.equal(asked.headers.get('access-control-allow-private-network'), null);
          tally.held(6 + assertProper(asked, path));
        }
    assert.equal(new Set(forApplications.map(({ path }) => path)).size, 6);
    tally.held();
  },
);
