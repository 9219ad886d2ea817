// How the console is served: headers, compression, caches, the path of PUBLIC_URL, the operator's brand.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { appPaths, authPaths } from '@castellan/console/paths';
import { startTestService } from '@castellan/testing/harness';

const html = { accept: 'text/html' };
const service = await startTestService({ after });
const get = (path: string, headers: Record<string, string> = {}) =>
  service.client().request('GET', path, { headers });

/** Returns the URLs of the files that a page loads. */
const filesOf = (page: string): string[] =>
  [...page.matchAll(/(?:src|href)="(\/[^"]*assets\/[^"]+)"/g)].map(([, url = '']) => url);

test('every page is HTML that browsers revalidate, with the policy and without a referrer', async () => {
  for (const path of [...authPaths, ...appPaths.map((one) => one.replace(':id', 'x'))]) {
    const { status, headers, text } = await get(path, html);
    assert.equal(status, 200, path);
    assert.match(headers.get('content-type') ?? '', /^text\/html/);
    assert.equal(headers.get('cache-control'), 'no-cache');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.match(headers.get('content-security-policy') ?? '', /script-src 'self'(;|$)/);
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin');
    assert.doesNotMatch(
      text,
      /<script(?![^>]*\bsrc=)|\bon\w+="|\{\{/,
      'no inline script, no open placeholder',
    );
    const again = await get(path, { ...html, 'if-none-match': headers.get('etag') ?? '' });
    assert.equal(again.status, 304);
  }
});

test('assets never change, and are sent in the best coding that the client accepts', async () => {
  const [file = ''] = filesOf((await get('/login', html)).text).filter((one) => one.endsWith('.js'));
  for (const [accepted, coding] of [
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['identity', null],
    ['', null],
  ] as const) {
    const { status, headers } = await get(file, { 'accept-encoding': accepted });
    assert.equal(status, 200, file);
    assert.equal(headers.get('content-encoding'), coding, accepted);
    assert.equal(headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.match(headers.get('vary') ?? '', /accept-encoding/);
    assert.match(headers.get('content-type') ?? '', /^text\/javascript/);
  }
  const head = await service.client().request('HEAD', file, {});
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
});

test('other files, and ways out of the folder, are not found', async () => {
  for (const path of [
    '/assets/none.js',
    '/assets/..%2fapp.html',
    '/assets/..%2f..%2fpackage.json',
    '/assets/%2e%2e%2f.sources',
    '/assets/..%5capp.html',
    '/assets/',
    '/assets/.vite',
    '/.vite/manifest.json',
    '/app.html',
    '/brand/logo',
  ])
    assert.equal((await get(path)).status, 404, path);
});

test('a browser gets a page at an address that is not there, a program the error', async () => {
  const urls = ['/nonsense', '/api/v1/xyz', '/users/me', '/assets/none.js', '/.well-known/unknown'];
  for (const url of urls)
    for (const method of ['GET', 'HEAD']) {
      const page = await service.client().request(method, url, { headers: html });
      assert.equal(page.status, 404, url);
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
      assert.equal(page.headers.get('cache-control'), 'no-store');
      assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
      assert.match(page.headers.get('vary') ?? '', /accept$/);
      if (method === 'GET') assert.match(page.text, /<script type="module"/);
      for (const accept of ['*/*', 'application/json', 'application/problem+json', 'text/html;q=0.5, */*']) {
        const error = await service.client().request(method, url, { headers: { accept } });
        assert.equal(error.status, 404);
        assert.match(error.headers.get('content-type') ?? '', /json/, `${url} for ${accept}`);
        assert.match(error.headers.get('vary') ?? '', /accept$/);
      }
    }
  assert.equal((await get('/%ff', html)).status, 404);
  const sent = await service.client().request('POST', '/nonsense', { headers: html, json: {} });
  assert.match(sent.headers.get('content-type') ?? '', /json/);
  const { id } = (await service.sql<{ id: string }>('select id from users limit 1'))[0] ?? {};
  const refused = await get(`/api/v1/users/${id}`, html);
  assert.match(refused.headers.get('content-type') ?? '', /json/);
});

test('a browser is led to the page that a changed address means, a program is not', async (t) => {
  const own = await startTestService(t, { PUBLIC_URL: 'http://castellan.test/accounts' });
  for (const [url, location] of [
    ['/verify-email%23token=x', '/verify-email#token=x'],
    ['/Reset/?a=1', '/reset?a=1'],
    ['/users/', '/users'],
  ] as const) {
    const found = await get(url, html);
    assert.deepEqual([found.status, found.headers.get('location')], [302, location]);
    assert.equal((await get(url)).status, 404);
    const below = await own.client().request('GET', url, { headers: html });
    assert.equal(below.headers.get('location'), `/accounts${location}`);
  }
});

test('password managers are led to where the password is changed', async (t) => {
  const own = await startTestService(t, { PUBLIC_URL: 'http://castellan.test/accounts' });
  for (const method of ['GET', 'HEAD'])
    for (const [at, location] of [
      [service, '/account'],
      [own, '/accounts/account'],
    ] as const) {
      const led = await at.client().request(method, '/.well-known/change-password', { headers: html });
      assert.deepEqual([led.status, led.headers.get('location')], [302, location]);
    }
  // They take the redirect for real only if this address, of the same draft, is not there.
  const unknown = '/.well-known/resource-that-should-not-exist-whose-status-code-should-not-be-200';
  for (const accept of ['text/html', '*/*']) assert.equal((await get(unknown, { accept })).status, 404);
});

test('the name of the service is escaped, and files are below the path of PUBLIC_URL', async (t) => {
  const own = await startTestService(t, {
    SERVICE_NAME: `Tom & "Co" <3 'x'`,
    PUBLIC_URL: 'http://castellan.test/accounts',
    APP_URL: 'https://app.example.com/?a=1&b=2',
  });
  const { text } = await own.client().request('GET', '/login', { headers: html });
  assert.match(text, /<title>Tom &amp; (&quot;|")Co(&quot;|") &lt;3 /);
  assert.ok(filesOf(text).length > 0);
  assert.ok(
    filesOf(text).every((url) => url.startsWith('/accounts/assets/')),
    filesOf(text).join(),
  );
  const [, settings = ''] = /name="page-settings" content="([^"]*)"/.exec(text) ?? [];
  const unescaped = settings
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
  const { basePath, serviceName } = JSON.parse(unescaped);
  assert.equal(basePath, '/accounts');
  assert.equal(serviceName, `Tom & "Co" <3 'x'`);
});

test("the operator's logo and colour are on every page", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-logo-'));
  t.after(() => rm(folder, { recursive: true }));
  const logo = join(folder, 'logo.svg');
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>';
  await writeFile(logo, drawing);
  const own = await startTestService(t, { LOGO_FILE: logo, ACCENT_COLOR: '#0b7a3e' });
  for (const path of ['/login', '/users']) {
    const { text } = await own.client().request('GET', path, { headers: html });
    // Behind the styles of the build, whose colors it replaces.
    assert.match(text, /<link rel="stylesheet" href="\/brand\/colors\.css">\s*<\/head>/, path);
    assert.match(text, /&quot;hasLogo&quot;:true/);
  }
  const colors = await own.client().request('GET', '/brand/colors.css', {});
  assert.match(colors.text, /^:root\{--accent:#0b7a3e/);
  assert.match(colors.headers.get('content-type') ?? '', /^text\/css/);
  const sent = await own.client().request('GET', '/brand/logo', {});
  assert.equal(sent.text, drawing);
  assert.match(sent.headers.get('content-type') ?? '', /^image\/svg\+xml/);
  const etag = sent.headers.get('etag') ?? '';
  const again = await own.client().request('GET', '/brand/logo', { headers: { 'if-none-match': etag } });
  assert.equal(again.status, 304);
  for (const { headers } of [colors, sent, again, await own.client().request('GET', '/brand/icon', {})])
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none';.*; sandbox$/);
});
