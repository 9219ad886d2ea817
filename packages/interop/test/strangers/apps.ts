// What web apps of strangers have in common: a server on a loopback port, and what a person does there.
// It must not know how an app signs somebody in.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import type { Hooks } from '@castellan/testing/harness';
import { createBrowser } from '../providers/browser.ts';
import { type Arrival, newBrowser, type Provider, walk } from '../providers/provider.ts';

/** `path` is the callback; the app's front page is where a sign-out leads. */
export type App = {
  name: string;
  path: string;
  /**
   * Returns the app. GET /login signs in, /me tells the email or `nobody`, /refresh gets a new access token with the refresh token and
   * tells `refreshed`, /logout signs out here and at the provider.
   */
  serve(provider: Provider, origin: string): RequestListener;
};

/** Serves until `t` ends. */
export async function listen(t: Hooks, port: number, app: RequestListener): Promise<void> {
  const server = createServer(app);
  await once(server.listen(port, '127.0.0.1'), 'listening');
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
}

/** A person in one browser, at an app and at the provider. */
export function visitor(provider: Provider, origin: string) {
  const there = newBrowser(provider);
  const here = createBrowser(origin);
  const visit = (path: string): Promise<Arrival> =>
    walk(provider, there, `${origin}${path}`, undefined, { [origin]: here });
  /** Asserts what the page says at which the visit ends. */
  const reads = async (path: string, text: string | RegExp): Promise<void> => {
    const arrival = await visit(path);
    assert.ok(arrival.kind === 'page', JSON.stringify(arrival));
    assert.match(
      arrival.text,
      text instanceof RegExp ? text : new RegExp(`^${text}$`),
      JSON.stringify(arrival),
    );
  };
  return { there, here, visit, reads };
}

/** Signs in, refreshes, signs out. */
export async function tryApp(provider: Provider, origin: string): Promise<void> {
  const { visit, reads } = visitor(provider, origin);
  await reads('/me', 'nobody');
  const arrival = await visit('/login');
  assert.deepEqual(arrival.asked[0], 'sign_in', JSON.stringify(arrival));
  await reads('/me', provider.email);
  await reads('/refresh', 'refreshed');
  const left = await visit('/logout');
  assert.equal(left.kind === 'page' && left.text, 'front page', JSON.stringify(left));
  await reads('/me', 'nobody');
  // Also at the provider.
  const again = await visit('/login');
  assert.equal(again.asked[0], 'sign_in', JSON.stringify(again));
}
