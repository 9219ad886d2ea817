// Where browsers are sent: to a provider to sign in, and to sign out there.
import type { Configuration } from 'openid-client';
import { UpstreamError, type UpstreamProvider } from './assertion.ts';
import { upstreamErrorOf } from './failures.ts';
import type { Upstreams } from './upstreams.ts';

export type SendingDeps = { upstreams: Upstreams };

export type Beginning = {
  state: string;
  redirectUri: string;
  acrValues?: string;
  /** Seconds. */
  maxAge?: number;
  /** Whether the provider must ask the person again, however lately they signed in there. */
  asksAgain?: boolean;
  loginHint?: string;
};

/** What the exchange needs. Secrets. */
export type Begun = {
  /** Where the browser goes. */
  url: string;
  /** The PKCE verifier. */
  verifier: string;
  /** Null for GitHub, which has no ID token. */
  nonce: string | null;
};

/** `prompt` that asks a person again. Google and GitHub know no `login`, and Apple no `prompt`. From their documents, as of 2026. */
const askingAgain: Readonly<Record<string, string>> = {
  oidc: 'login',
  microsoft: 'login',
  google: 'select_account',
  github: 'select_account',
};

/** Returns where the browser goes to sign in. Rejects with UpstreamError `unavailable`, which has the seconds to wait. */
export async function beginUpstream(
  { upstreams }: SendingDeps,
  provider: UpstreamProvider,
  beginning: Beginning,
): Promise<Begun> {
  try {
    return await begin(await upstreams.configurationOf(provider), provider, beginning);
  } catch (error) {
    // Whatever is wrong with a provider, nobody can sign in there now.
    const { code, retryAfterSeconds } = upstreamErrorOf(error);
    throw new UpstreamError('unavailable', code, retryAfterSeconds);
  }
}

async function begin(
  configuration: Configuration,
  provider: UpstreamProvider,
  { state, redirectUri, acrValues, maxAge, asksAgain, loginHint }: Beginning,
): Promise<Begun> {
  const { buildAuthorizationUrl, calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier } =
    await import('openid-client');
  const verifier = randomPKCECodeVerifier();
  const nonce = provider.kind === 'github' ? null : randomNonce();
  const optional = Object.entries({
    nonce: nonce ?? undefined,
    acr_values: acrValues,
    max_age: maxAge?.toString(),
    prompt: asksAgain ? askingAgain[provider.kind] : undefined,
    login_hint: loginHint,
    // Apple gives name and address in no other way.
    response_mode: provider.kind === 'apple' ? 'form_post' : undefined,
  }).filter((one): one is [string, string] => one[1] !== undefined);
  const url = buildAuthorizationUrl(configuration, {
    ...provider.extra_parameters,
    ...Object.fromEntries(optional),
    client_id: provider.client_id,
    response_type: 'code',
    scope: provider.scopes.join(' '),
    redirect_uri: redirectUri,
    state,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  return { url: url.href, verifier, nonce };
}

/**
 * Returns where the browser goes to sign out at the provider; null if it has no such address, or does not answer. A sign-out asks the
 * provider only if nothing is known of it.
 */
export async function upstreamLogoutUrl(
  { upstreams }: SendingDeps,
  provider: UpstreamProvider,
  given: { idToken: string | null; postLogoutRedirectUri: string; state: string },
): Promise<string | null> {
  try {
    const configuration = await upstreams.knownConfigurationOf(provider);
    if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
    const { buildEndSessionUrl } = await import('openid-client');
    return buildEndSessionUrl(configuration, {
      ...(given.idToken === null ? {} : { id_token_hint: given.idToken }),
      post_logout_redirect_uri: given.postLogoutRedirectUri,
      state: given.state,
    }).href;
  } catch {
    return null;
  }
}
