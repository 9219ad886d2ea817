// The headers of every kind of answer of every route, also during a fault, and what a cache may keep.
// It must not end the administrator's session that it uses.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { appPaths, authPaths } from '@castellan/console/paths';
import type { Answer, RequestOptions } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { postText, routesOf } from '@castellan/testing/http/fixture';
import { exchange } from '@castellan/testing/http/raw';
import { scenariosOf } from '@castellan/testing/scenario';
import { assertError, assertProper, BRAND_POLICY, type Expected } from './answers.ts';
import { rawCaller } from './caller.ts';

const scenario = scenariosOf('http');
const service = await startTestService({ after }, { TRUSTED_PROXIES: '127.0.0.1' });
const admin = await signIn(service, ADMIN);
const routes = await routesOf(service);
const JSON_TYPE = { 'content-type': 'application/json' };

const isPage = (path: string): boolean =>
  [...authPaths, ...appPaths].includes(
    path.replace(/(?<=^\/(roles|applications|identity-providers|webhooks)\/)[0-9a-f-]{36}$/, ':id'),
  );
const isStatic = (path: string): boolean =>
  isPage(path) || /^\/(docs|brand\/(icon|colors)|theme\.js|form-post\.js|skeleton\.css)/.test(path);

// Browsers are sent here, and get redirects and pages.
const isForBrowsers = (path: string): boolean =>
  /^\/api\/v1\/(oauth\/(authorize|logout)\b|auth\/providers\/[^/]+\/(callback|signed-out)$)/.test(path);

function expectedOf(path: string, { status, headers }: Answer): Expected {
  // No logo is set: the route itself answers 404.
  if (path === '/brand/logo' && status === 404) return { policy: BRAND_POLICY };
  if (isForBrowsers(path) && !headers.get('content-type')?.includes('json'))
    return { referrer: 'no-referrer', isPage: true };
  // OPTIONS of the front page has no body to keep.
  if (status >= 400 || status === 204) return {};
  if (path === '/.well-known/jwks.json') return { cache: 'public, max-age=60' };
  if (path === '/api/v1/webhooks/events') return { cache: 'public, max-age=3600' };
  if (/^\/\.well-known\/(oauth|openid|authzen)-/.test(path)) return { cache: 'public, max-age=300' };
  return {
    // Programs get JSON at the front page.
    ...(isPage(path) && path !== '/' ? { referrer: 'no-referrer' } : {}),
    ...(isStatic(path) ? { cache: 'no-cache' } : {}),
    ...(path.startsWith('/brand/') ? { policy: BRAND_POLICY } : {}),
  };
}

/**
 * Returns requests that cause all the different answers of a route. None of them may end the administrator's session.
 */
function attemptsOn(method: string, path: string): [method: string, path: string, options: RequestOptions][] {
  const odd = /[0-9a-f]{8}-[0-9a-f-]{27}/;
  const attempts: [string, string, RequestOptions][] = [
    [method, path, { headers: { authorization: null } }],
    ['PATCH', path, {}],
    ['TRACE', `${path}/nothing/here`, {}],
    [method, `${path}?page=0&size=x`, method === 'GET' ? {} : { raw: '{', headers: JSON_TYPE }],
  ];
  if (method === 'GET') attempts.push(['HEAD', path, {}], ['GET', path, {}]);
  else
    attempts.push(
      [method, path, { headers: { 'x-csrf-token': null } }],
      [method, path, { raw: 'x' }],
      [method, path, { raw: '{}', headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }],
      [method, path, { raw: '{', headers: { ...JSON_TYPE, accept: 'application/problem+json' } }],
      [method, path, { raw: `"${'x'.repeat(1_048_576)}"`, headers: JSON_TYPE }],
    );
  if (method !== 'GET' && !path.includes('/logout')) attempts.push([method, path, { json: {} }]);
  if (odd.test(path))
    attempts.push(
      [method, path.replace(odd, 'no-id'), {}],
      [method, path.replace(odd, 'x'.repeat(2_000)), {}],
      [method, path.replace(odd, '%ff'), {}],
    );
  return attempts.filter(([verb]) => verb !== 'TRACE');
}

/** These challenge only applications that used Basic, because pages of browsers call them, too (RFC 6749, 5.2). */
const ofApplications = /\/oauth\/(par|device_authorization)$/;

scenario(
  'every kind of answer of every route carries the security headers, a request id and a cache rule',
  async (tally) => {
    const seen = new Set<number>();
    for (const { method, path, config } of routes)
      for (const [verb, target, options] of attemptsOn(method, path)) {
        const answer = await admin.request(verb, target, options);
        const what = `${verb} ${target.slice(0, 80)} ${answer.status}`;
        tally.tried();
        seen.add(answer.status);
        assert.ok(answer.status < 500, `${what}: ${answer.text}`);
        tally.held(1 + assertProper(answer, what, expectedOf(path, answer)));
        if (answer.status === 405) assert.match(answer.headers.get('allow') ?? '', /^[A-Z]+(, [A-Z]+)*$/);
        const challenge = ofApplications.test(path)
          ? /^$/
          : config.clientCredentials
            ? /^Basic realm="/
            : /^Bearer/;
        if (answer.status === 401) assert.match(answer.headers.get('www-authenticate') ?? '', challenge);
      }
    for (const status of [200, 400, 401, 403, 404, 405, 413, 414, 415, 422])
      assert.ok(seen.has(status), `${status} was never answered`);
    tally.held();
  },
);

scenario(
  'a rate-limit refusal, and a fault on any reading route, answer with the same headers',
  async (tally, t) => {
    const limited = await startTestService(t, { RATE_LIMIT_LOGIN: '1/minute' });
    const client = limited.client();
    await postText(client, '/api/v1/auth/login', '{');
    const rate = await postText(client, '/api/v1/auth/login', '{');
    tally.tried(2);
    tally.held(1 + assertError(rate, 429, 'rate_limited', '429'));
    assert.match(rate.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    const second = await startTestService(t);
    const own = await signIn(second, ADMIN);
    await second.sql('alter table sessions rename to lost_sessions');
    for (const path of routes.filter(
      ({ method, config }) => method === 'GET' && config.access !== 'public',
    )) {
      const answer = await own.get(path.path);
      tally.tried();
      tally.held(assertError(answer, 500, 'internal_error', path.path));
    }
  },
);

scenario(
  'no API answer may be cached, in any spelling of its path; pages are revalidated each time',
  async (tally) => {
    const { bearer } = await rawCaller(admin);
    for (const target of [
      '/api/v1/users/me',
      '/%61pi/v1/users/me',
      '/%61pi/v1/%ff',
      '//api/v1/users/me',
      '/API/v1/users/me',
      'http://evil.example/api/v1/users/me',
      'HTTPS://evil.example/%61%70%69/v1/users/me',
      '/api/v1/users/me?x=.css',
      '/api/v1/users/me#.css',
      '/api/v1/users/me/x.css',
      '/api/v1/users/me;x.css',
      '/api/v1/users/me%00.css',
    ]) {
      const [answer] = await exchange(
        service.url,
        `GET ${target} HTTP/1.1\r\nHost: a\r\n${bearer}Connection: close\r\n\r\n`,
      );
      tally.tried();
      tally.held(assertProper(answer as Answer, target));
    }
  },
);

scenario('a page is sent again only when it changed, however a cache has altered its ETag', async (tally) => {
  for (const { path } of routes.filter(({ path, method }) => method === 'GET' && isStatic(path))) {
    const whole = await admin.get(path);
    const etag = whole.headers.get('etag') ?? '';
    assert.match(etag, /^"h[\w-]{22}"$/);
    const coded = etag.replace(/"$/, '-gzip"');
    for (const tags of [
      etag,
      `W/${etag}`,
      `"other", ${etag}`,
      `"other",W/${etag}`,
      coded,
      `W/${coded}`,
      '*',
    ]) {
      const answer = await admin.get(path, { headers: { 'if-none-match': tags } });
      tally.tried();
      assert.equal(answer.status, 304, `${path} ${tags}`);
      assert.equal(answer.text, '');
      assert.equal(answer.headers.get('etag'), etag);
      tally.held(3 + assertProper(answer, path, expectedOf(path, answer)));
    }
    for (const tags of [
      '"other"',
      etag.replaceAll('"', ''),
      `x${etag}`,
      '',
      '"',
      `${etag.slice(0, -1)}`,
      `"${etag}"`,
    ]) {
      const answer = await admin.get(path, { headers: { 'if-none-match': tags, range: 'bytes=0-1' } });
      tally.tried();
      assert.equal(answer.status, 200, `${path} ${tags}`);
      assert.equal(answer.text, whole.text);
      tally.held(2);
    }
  }
});
