// The pages of a service whose console is not built.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createServer } from '../../platform/http/server/server.ts';
import { createLog } from '../../platform/logging/log.ts';
import { parseTrustedProxies } from '../../platform/security/client-address.ts';
import { consoleRoutes } from './routes.ts';

const settings = {
  serviceName: 'Castellan',
  publicUrl: 'http://castellan.test',
  appUrl: undefined,
  forgotUrl: undefined,
  basePath: '',
  accentColor: '#0b7a3e',
  language: 'en',
  selfDeletionDays: null,
};

test('without a build, pages say how to make one, and are served once there is one', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-unbuilt-'));
  const app = createServer({
    log: createLog('silent'),
    publicUrl: 'http://castellan.test',
    basePath: '',
    trustedProxies: parseTrustedProxies(''),
    constraintCodes: {},
    onRefused: async () => {},
  });
  t.after(async () => {
    await app.close();
    await rm(folder, { recursive: true });
  });
  const built = new URL(`${pathToFileURL(folder)}/`);
  consoleRoutes(app, { settings, logo: undefined, resetLinkMinutes: 30, built });
  const get = (url: string, accept = 'text/html') =>
    app.inject({ method: 'GET', url, headers: { host: 'castellan.test', accept } });

  for (const url of ['/', '/login', '/users']) {
    const { statusCode, headers, body } = await get(url);
    assert.equal(statusCode, 503, url);
    assert.match(String(headers['content-type']), /^text\/html/);
    assert.match(body, /npm ci &amp;&amp; npm run build/);
    assert.doesNotMatch(body, /<script|\{\{/);
  }
  assert.equal((await get('/', 'application/json')).statusCode, 200, 'programs get the front page');
  for (const url of ['/theme.js', '/assets/app.js', '/brand/icon'])
    assert.equal((await get(url)).statusCode, 404, url);

  await writeFile(join(folder, 'auth.html'), '<html><head><title>{{service_name}}</title></head></html>');
  const page = await get('/login');
  assert.equal(page.statusCode, 200);
  assert.match(page.body, /<title>Castellan<\/title>/);
});
