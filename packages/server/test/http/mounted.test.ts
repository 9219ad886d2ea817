// A service below a path of its host, behind a proxy that removes the path and behind one that does not.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { loadSettings } from '@castellan/server/settings';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { routesOf } from '@castellan/testing/http/fixture';
import { ownSegments } from '../../src/start/checks/public-url.ts';

const ISSUER = 'http://castellan.test/accounts';
const service = await startTestService({ after }, { PUBLIC_URL: ISSUER });

/** Sends a request with the path and without it, and returns both. */
const both = async (path: string) => [
  await service.client().get(path),
  await service.client().get(`/accounts${path}`),
];

test('an address with the path of PUBLIC_URL is the same as without it', async () => {
  for (const path of [
    '/health/live',
    '/api/v1/auth/password-policy?x=1',
    '/docs/openapi.json',
    '/nonsense',
  ]) {
    const [bare, below] = await both(path);
    assert.equal(below?.status, bare?.status, path);
    if (bare?.status === 200) assert.equal(below?.text, bare.text, path);
  }
  for (const path of ['/accounts', '/accounts/', '/accounts?x=1'])
    assert.equal((await service.client().get(path)).status, 200, path);
  for (const path of ['/accounts2/health/live', '/Accounts/health/live', '/accounts/accounts/health/live'])
    assert.equal((await service.client().get(path)).status, 404, path);
});

test('the front page names addresses that are below the path, whether its own ends with a slash or not', async () => {
  for (const path of ['', '/']) {
    const { body } = await service.client().get(`/accounts${path}`);
    const { service: _name, ...urls } = body.data;
    assert.deepEqual(
      Object.values<string>(urls).map((url) => new URL(url, `${ISSUER}${path}`).href),
      ['api/v1', 'docs', 'docs/openapi.json', 'health/ready'].map((name) => `${ISSUER}/${name}`),
    );
  }
});

test('a browser stays below the path: pages that were meant, passwords, and what only looks like another site', async () => {
  const html = { accept: 'text/html' };
  for (const base of ['', '/accounts']) {
    for (const [path, location] of [
      ['/verify-email%23token=a', '/accounts/verify-email#token=a'],
      ['/Login/?next=//evil.example', '/accounts/login?next=//evil.example'],
      ['//', '/accounts/'],
      ['/.well-known/change-password', '/accounts/account'],
    ]) {
      const answer = await service.client().get(`${base}${path}`, { headers: html });
      assert.deepEqual([answer.status, answer.headers.get('location')], [302, location], `${base}${path}`);
    }
    for (const path of [
      '//evil.example',
      '//evil.example/login',
      '/\\evil.example/',
      '/%2F%2Fevil.example/login',
    ]) {
      const answer = await service.client().get(`${base}${path}`, { headers: html });
      assert.deepEqual([answer.status, answer.headers.get('location')], [404, null], `${base}${path}`);
    }
  }
});

test('a gateway is answered alike for any method, with the path and without it', async () => {
  const admin = await signIn(service, ADMIN);
  for (const path of ['/api/v1/access/forward', '/accounts/api/v1/access/forward'])
    for (const method of ['GET', 'POST', 'PROPFIND', 'OPTIONS'])
      assert.equal((await admin.request(method, path, {})).status, 204, `${method} ${path}`);
});

test('metadata is at the places that clients derive from the issuer', async () => {
  const client = service.client();
  for (const url of [
    '/.well-known/oauth-authorization-server/accounts',
    '/.well-known/oauth-authorization-server',
    '/accounts/.well-known/oauth-authorization-server',
  ]) {
    const { status, body } = await client.get(url);
    assert.equal(status, 200, url);
    assert.equal(body.issuer, ISSUER);
    assert.equal(body.jwks_uri, `${ISSUER}/.well-known/jwks.json`);
  }
  const { body } = await client.get('/.well-known/authzen-configuration/accounts/api/v1');
  assert.equal(body.policy_decision_point, `${ISSUER}/api/v1`);
  assert.equal((await client.get('/accounts/.well-known/jwks.json')).status, 200);
});

test('the refresh cookie is set and cleared for the path of PUBLIC_URL', async () => {
  const client = service.client();
  const pathOf = (answer: Awaited<ReturnType<typeof client.login>>) =>
    answer.headers.getSetCookie().map((one) => /Path=([^;]+)/.exec(one)?.[1]);
  assert.deepEqual(pathOf(await client.login(ADMIN)), ['/accounts/api/v1/auth']);
  const answer = await client.post('/accounts/api/v1/auth/logout');
  assert.equal(answer.status, 200);
  assert.deepEqual(pathOf(answer), ['/accounts/api/v1/auth']);
});

test('no path of PUBLIC_URL may begin as a route does', async () => {
  const segments = (await routesOf(service)).map(({ url }) => url.split('/')[1] ?? '');
  for (const segment of new Set(segments)) if (segment !== '') assert.ok(ownSegments.has(segment), segment);
  for (const segment of [...ownSegments, 'API'])
    assert.throws(
      () => loadSettings({ PUBLIC_URL: `https://a.example/${segment}/x` }),
      /PUBLIC_URL has a path/,
    );
});

test('a PUBLIC_URL whose path has a second spelling, a query or a fragment is refused', () => {
  for (const path of [
    '//a',
    '/a//b',
    '/a//',
    '/.',
    '/a/../b',
    '/%61',
    '/a%2Fb',
    '/a/%2e%2e',
    '/a b',
    '/ä',
    '/a;b',
    '\\a',
    '/a?b',
    '/a#b',
  ])
    assert.throws(() => loadSettings({ PUBLIC_URL: `https://a.example${path}` }), /PUBLIC_URL /, path);
  for (const [given, publicUrl, basePath] of [
    ['https://a.example', 'https://a.example', ''],
    ['https://a.example/', 'https://a.example', ''],
    ['https://a.example/accounts/', 'https://a.example/accounts', '/accounts'],
    ['https://a.example:8443/a/b.c_d~e-F', 'https://a.example:8443/a/b.c_d~e-F', '/a/b.c_d~e-F'],
  ]) {
    const settings = loadSettings({ PUBLIC_URL: given });
    assert.deepEqual([settings.publicUrl, settings.basePath], [publicUrl, basePath]);
  }
});
