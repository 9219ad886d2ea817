// Castellan's client side: it signs people in at each provider, signs them out there, and is told of a sign-out.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { checkProvider } from '@castellan/server/modules/identity-providers/upstream/check';
import { finishUpstream } from '@castellan/server/modules/identity-providers/upstream/exchange';
import { readLogoutToken } from '@castellan/server/modules/identity-providers/upstream/logout-token';
import {
  beginUpstream,
  upstreamLogoutUrl,
} from '@castellan/server/modules/identity-providers/upstream/sending';
import { createUpstreams } from '@castellan/server/modules/identity-providers/upstream/upstreams';
import { createLog } from '@castellan/server/platform/logging/log';
import { loadSettings } from '@castellan/server/settings';
import { eventually } from '@castellan/testing/harness';
import { portOf } from '@castellan/testing/ports';
import { CALLBACK, newBrowser, SIGNED_OUT, walk } from '../providers/provider.ts';
import { startProviders } from './providers.ts';

/** What the providers posted to the address that is told about sign-outs. */
const told: URLSearchParams[] = [];
const listener = createServer(async (request, response) => {
  told.push(new URLSearchParams(await text(request)));
  response.end();
}).listen(0, '127.0.0.1');
await once(listener, 'listening');
after(() => listener.close());

const clock = { now: () => Date.now() };
const settings = loadSettings({ PUBLIC_URL: 'http://castellan.test' });
const log = createLog('silent');

for (const provider of await startProviders(
  { after },
  { backchannelUrl: `http://127.0.0.1:${portOf(listener)}/` },
)) {
  const { client_id, client_secret } = provider.application;
  const upstreams = createUpstreams({ settings, clock, log, openSecret: () => client_secret });
  const deps = { upstreams, clock };
  const record = {
    id: randomUUID(),
    slug: 'acme',
    kind: 'oidc' as const,
    issuer: provider.issuer,
    client_id,
    client_auth: 'client_secret_basic' as const,
    secret_sealed: null,
    team_id: null,
    key_id: null,
    scopes: ['openid', 'profile', 'email'],
    domains: [],
    tenants: [],
    version: 1,
    extra_parameters: {},
    role_mapping: [],
  };

  test(`Castellan signs people in at ${provider.name} and out, and understands its logout token`, async () => {
    const tried = await checkProvider(deps, record);
    assert.deepEqual(
      tried.checks.filter(({ ok }) => !ok),
      [],
    );

    const browser = newBrowser(provider);
    const begun = await beginUpstream(deps, record, { state: 'of-the-browser', redirectUri: CALLBACK });
    const arrival = await walk(provider, browser, begun.url);
    assert.ok(arrival.kind === 'application', JSON.stringify(arrival));
    const assertion = await finishUpstream(deps, record, {
      ...begun,
      state: 'of-the-browser',
      redirectUri: CALLBACK,
      parameters: arrival.params,
    });
    assert.deepEqual(
      [assertion.issuer, assertion.email, assertion.emailVerified],
      [provider.issuer, provider.email, true],
    );
    assert.notEqual(assertion.displayName, null);

    const out = await upstreamLogoutUrl(deps, record, {
      idToken: assertion.idToken,
      postLogoutRedirectUri: SIGNED_OUT,
      state: 'bye',
    });
    const left = await walk(provider, browser, out ?? '');
    assert.ok(
      left.kind === 'application' && left.address === `${SIGNED_OUT}?state=bye`,
      JSON.stringify(left),
    );
    const posted = await eventually(() => told.shift(), 'a logout token');
    const ended = await readLogoutToken(deps, record, posted.get('logout_token') ?? '');
    assert.deepEqual([ended.sub ?? assertion.subject, ended.sid], [assertion.subject, assertion.sid]);
  });
}
