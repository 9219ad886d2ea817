// Apache with mod_auth_openidc: a sign-in with PKCE, a refresh, a sign-out from its own address, and one that it is told about.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually } from '@castellan/testing/harness';
import { freePort } from '@castellan/testing/ports';
import { walk } from '../providers/provider.ts';
import { BACKCHANNEL_PATH, CALLBACK_PATH, skip, startApache } from './apache.ts';
import { visitor } from './apps.ts';
import { startProviders } from './providers.ts';

const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const registration = {
  callbacks: [`${origin}${CALLBACK_PATH}`],
  signedOut: [`${origin}/public/`],
  backchannelUrl: `${origin}${BACKCHANNEL_PATH}`,
};

for (const provider of skip ? [] : await startProviders({ after }, registration))
  test(`Apache signs in at ${provider.name}, refreshes and signs out`, async (t) => {
    await startApache(t, provider, port);
    const { here, there, visit } = visitor(provider, origin);
    const arrival = await visit('/');
    assert.equal(arrival.asked[0], 'sign_in', JSON.stringify(arrival));
    /** What Apache tells about the person who is signed in there. */
    const told = async () => {
      const { status, headers } = await here.request('GET', '/', { headers: { accept: 'text/html' } });
      return { status, email: headers.get('x-email'), token: headers.get('x-token') ?? '' };
    };
    const first = await told();
    assert.deepEqual([first.status, first.email], [200, provider.email]);

    const page = new URLSearchParams({ refresh: `${origin}/`, access_token: first.token });
    await visit(`${CALLBACK_PATH}?${page}`);
    const second = await told();
    assert.equal(second.email, provider.email);
    assert.notEqual(second.token, first.token);

    await visit(`${CALLBACK_PATH}?${new URLSearchParams({ logout: `${origin}/public/` })}`);
    assert.equal((await told()).status, 302);
    const again = await visit('/');
    assert.equal(again.asked[0], 'sign_in', JSON.stringify(again));

    // Apache learns of this sign-out by the logout token alone.
    assert.equal((await told()).email, provider.email);
    const { body } = await there.request('GET', '/.well-known/openid-configuration');
    const left = await walk(provider, there, body.end_session_endpoint);
    assert.deepEqual([left.kind, left.asked], ['page', ['sign_out']], JSON.stringify(left));
    await eventually(async () => ((await told()).status === 302 ? true : undefined), 'Apache to sign out');
    assert.equal((await visit('/')).asked[0], 'sign_in');
  });
if (skip) test('Apache signs in, refreshes and signs out', { skip }, () => {});
