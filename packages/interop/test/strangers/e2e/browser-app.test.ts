// An app in a browser with oidc-client-ts, of Brock Allen and Dominick Baier, on another origin than the provider: the token endpoint
// across origins, the refresh, the silent sign-in in a frame, the sign-out.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import { after, test } from 'node:test';
import { openBrowserFor } from '@castellan/testing/e2e/browser';
import { freePort } from '@castellan/testing/ports';
import type { UserManager } from 'oidc-client-ts';
import { newBrowser, type Provider, walk } from '../../providers/provider.ts';
import { listen } from '../apps.ts';
import { startProviders } from '../providers.ts';

declare global {
  // Made by the app's page.
  var manager: UserManager;
}

const library = readFileSync(
  createRequire(import.meta.url)
    .resolve('oidc-client-ts')
    .replace(/dist\/.*$/, 'dist/browser/oidc-client-ts.min.js'),
);
const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const paths = ['/signed-in', '/silent'];
const providers = await startProviders(
  { after },
  { callbacks: paths.map((path) => `${origin}${path}`), signedOut: [`${origin}/`], origin },
);

/** The page of the app: it answers the provider's redirects by itself. */
const pageOf = (
  provider: Provider,
): string => `<!doctype html><title>app</title><script src="/library.js"></script>
<script>
globalThis.manager = new oidc.UserManager({
  authority: ${JSON.stringify(provider.issuer)}, client_id: ${JSON.stringify(provider.browserApp.client_id)},
  redirect_uri: ${JSON.stringify(`${origin}/signed-in`)}, silent_redirect_uri: ${JSON.stringify(`${origin}/silent`)},
  post_logout_redirect_uri: ${JSON.stringify(`${origin}/`)}, scope: 'openid email', loadUserInfo: true,
  automaticSilentRenew: false, userStore: new oidc.WebStorageStateStore({ store: localStorage }),
});
if (location.pathname === '/signed-in') manager.signinRedirectCallback().then(() => { document.title = 'signed in'; },
  (error) => { document.title = String(error); });
if (location.pathname === '/silent') manager.signinSilentCallback();
</script>`;

for (const provider of providers)
  test(`oidc-client-ts signs in at ${provider.name} from another origin, refreshes and signs out`, async (t) => {
    const app: RequestListener = (request, response) => {
      const isLibrary = request.url === '/library.js';
      response.writeHead(200, { 'content-type': isLibrary ? 'text/javascript' : 'text/html' });
      response.end(isLibrary ? library : pageOf(provider));
    };
    await listen(t, port, app);
    const person = newBrowser(provider);
    const context = await (await openBrowserFor(t, {})).newContext();
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });

    await page.goto(`${origin}/`);
    // The person signs in before, by the calls that the provider's page sends; its page has tests of its own.
    const endpoint = await page.evaluate(() => globalThis.manager.metadataService.getAuthorizationEndpoint());
    const request = new URLSearchParams({
      client_id: provider.browserApp.client_id,
      redirect_uri: `${origin}/signed-in`,
      response_type: 'code',
      scope: 'openid email',
      code_challenge: 'c'.repeat(43),
      code_challenge_method: 'S256',
    });
    await walk(provider, person, `${endpoint}?${request}`);
    await context.addCookies(
      [...person.cookies].map(([name, value]) => ({ name, value, url: provider.issuer })),
    );

    await page.evaluate(() => void globalThis.manager.signinRedirect());
    await page.waitForFunction(() => document.title !== 'app', undefined, { timeout: 60_000 });
    assert.equal(await page.title(), 'signed in', complaints.join('\n'));
    const user = () =>
      page.evaluate(async () => {
        const found = await globalThis.manager.getUser();
        return { email: found?.profile.email, token: found?.access_token, refresh: found?.refresh_token };
      });
    const first = await user();
    assert.equal(first.email, provider.email);

    // By the refresh token if there is one, in a frame otherwise.
    await page.evaluate(async () => void (await globalThis.manager.signinSilent()));
    const second = await user();
    assert.notEqual(second.token, first.token);
    await page.evaluate(async () => {
      const found = await globalThis.manager.getUser();
      if (found) await globalThis.manager.storeUser(Object.assign(found, { refresh_token: undefined }));
      await globalThis.manager.signinSilent();
    });
    const third = await user();
    assert.notEqual(third.token, second.token);
    assert.equal(third.email, provider.email);

    const left = await page.evaluate(async () => {
      const found = await globalThis.manager.getUser();
      return {
        idToken: found?.id_token,
        address: await globalThis.manager.metadataService.getEndSessionEndpoint(),
      };
    });
    const parameters = new URLSearchParams({
      id_token_hint: left.idToken ?? '',
      post_logout_redirect_uri: `${origin}/`,
    });
    const arrival = await walk(provider, person, `${left.address}?${parameters}`);
    assert.ok(arrival.kind === 'application' && arrival.address === `${origin}/`, JSON.stringify(arrival));
    const silently = await page.evaluate(async () => {
      await globalThis.manager.removeUser();
      return globalThis.manager.signinSilent().then(
        () => 'signed in',
        ({ error }) => error,
      );
    });
    assert.equal(silently, 'login_required');
    await page.close();
  });
