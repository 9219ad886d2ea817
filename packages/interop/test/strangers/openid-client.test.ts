// openid-client 6, of panva: a sign-in with PKCE, userinfo, refresh, introspection, revocation, sign-out; and another one with a pushed
// request (PAR) and tokens that are bound to a key (DPoP).
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as client from 'openid-client';
import {
  type Arrival,
  CALLBACK,
  newBrowser,
  type Provider,
  SIGNED_OUT,
  walk,
} from '../providers/provider.ts';
import { startProviders } from './providers.ts';

function discover({ issuer, application }: Provider): Promise<client.Configuration> {
  const { client_id: id, client_secret: secret } = application;
  return client.discovery(new URL(issuer), id, secret, client.ClientSecretBasic(secret), {
    execute: [client.allowInsecureRequests],
  });
}

/** Returns where the application has been called back. */
function callbackIn(arrival: Arrival): URL {
  assert.equal(arrival.kind, 'application', JSON.stringify(arrival));
  return new URL(arrival.kind === 'application' ? arrival.address : '');
}

for (const provider of await startProviders({ after })) {
  test(`openid-client signs in at ${provider.name}, refreshes and signs out`, async () => {
    const config = await discover(provider);
    const browser = newBrowser(provider);
    /** Sends the browser to sign in, and exchanges the code. */
    const signIn = async (more: Record<string, string> = {}) => {
      const verifier = client.randomPKCECodeVerifier();
      const checks = {
        expectedState: client.randomState(),
        expectedNonce: client.randomNonce(),
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      };
      const address = client.buildAuthorizationUrl(config, {
        redirect_uri: CALLBACK,
        scope: 'openid email offline_access',
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: checks.expectedState,
        nonce: checks.expectedNonce,
        ...more,
      });
      const arrival = await walk(provider, browser, address.href);
      return client.authorizationCodeGrant(config, callbackIn(arrival), checks);
    };

    const tokens = await signIn({ prompt: 'consent' });
    const claims = tokens.claims();
    assert.ok(claims);
    const about = await client.fetchUserInfo(config, tokens.access_token, claims.sub);
    assert.equal(about.email, provider.email);

    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
    assert.equal(refreshed.claims()?.sub, claims.sub);
    assert.notEqual(refreshed.access_token, tokens.access_token);
    const live = await client.tokenIntrospection(config, refreshed.access_token);
    assert.equal(live.active, true);
    await client.tokenRevocation(config, refreshed.access_token);
    assert.equal((await client.tokenIntrospection(config, refreshed.access_token)).active, false);

    const again = await signIn({ prompt: 'none' });
    assert.equal(again.claims()?.sub, claims.sub);
    const out = client.buildEndSessionUrl(config, {
      id_token_hint: again.id_token ?? '',
      post_logout_redirect_uri: SIGNED_OUT,
      state: 'bye',
    });
    const left = await walk(provider, browser, out.href);
    assert.ok(
      left.kind === 'application' && left.address === `${SIGNED_OUT}?state=bye`,
      JSON.stringify(left),
    );
    await assert.rejects(signIn({ prompt: 'none' }), { error: 'login_required' });
  });

  test(`openid-client pushes a request to ${provider.name}, and proves that it holds the key of its tokens`, async () => {
    const config = await discover(provider);
    const browser = newBrowser(provider);
    const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));
    const verifier = client.randomPKCECodeVerifier();
    const expectedState = client.randomState();
    const address = await client.buildAuthorizationUrlWithPAR(
      config,
      {
        redirect_uri: CALLBACK,
        scope: 'openid email offline_access',
        prompt: 'consent',
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: expectedState,
      },
      { DPoP },
    );
    assert.deepEqual([...address.searchParams.keys()].toSorted(), ['client_id', 'request_uri']);
    const callback = callbackIn(await walk(provider, browser, address.href));
    const again = await walk(provider, browser, address.href);
    // The library tells the application, Castellan the person.
    assert.ok(
      again.kind === 'page' ? again.status === 400 : again.params.has('error'),
      JSON.stringify(again),
    );

    const checks = { expectedState, pkceCodeVerifier: verifier, idTokenExpected: true };
    const tokens = await client.authorizationCodeGrant(config, callback, checks, undefined, { DPoP });
    assert.equal(tokens.token_type, 'dpop');
    const sub = tokens.claims()?.sub ?? '';
    const about = await client.fetchUserInfo(config, tokens.access_token, sub, { DPoP });
    assert.equal(about.email, provider.email);
    const stranger = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));
    for (const options of [{}, { DPoP: stranger }])
      await assert.rejects(client.fetchUserInfo(config, tokens.access_token, sub, options));
    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '', undefined, { DPoP });
    assert.equal(refreshed.token_type, 'dpop');
    const live = await client.tokenIntrospection(config, refreshed.access_token);
    assert.deepEqual([live.active, live.cnf?.jkt], [true, await DPoP.calculateThumbprint()]);
  });
}
