// openid-client 6, of panva: a sign-in with PKCE, userinfo, refresh, introspection, revocation, sign-out.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import * as client from 'openid-client';
import { CALLBACK, newBrowser, SIGNED_OUT, walk } from '../providers/provider.ts';
import { startProviders } from './providers.ts';

for (const provider of await startProviders({ after }))
  test(`openid-client signs in at ${provider.name}, refreshes and signs out`, async () => {
    const { client_id: id, client_secret: secret } = provider.application;
    const config = await client.discovery(
      new URL(provider.issuer),
      id,
      secret,
      client.ClientSecretBasic(secret),
      {
        execute: [client.allowInsecureRequests],
      },
    );
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
      assert.equal(arrival.kind, 'application', JSON.stringify(arrival));
      return client.authorizationCodeGrant(
        config,
        new URL(arrival.kind === 'application' ? arrival.address : ''),
        checks,
      );
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
