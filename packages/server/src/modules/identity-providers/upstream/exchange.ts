// Turns what the browser brings back from a provider into what the provider says of the person.
import type { Configuration } from 'openid-client';
import type { Clock } from '../../../platform/clock.ts';
import { errorCode } from '../../../platform/unknown-values.ts';
import { type Assertion, UpstreamError, type UpstreamProvider } from './assertion.ts';
import { upstreamErrorOf } from './failures.ts';
import { gitHubAssertion } from './github.ts';
import { CLOCK_SECONDS } from './metadata.ts';
import { assertionOf, namedElsewhere } from './rules.ts';
import { hasClaim } from './said.ts';
import type { Upstreams } from './upstreams.ts';

export type ExchangeDeps = { upstreams: Upstreams; clock: Clock };

export type Returned = {
  verifier: string;
  nonce: string | null;
  state: string;
  redirectUri: string;
  /** The query or the form that came to the redirect URI. */
  parameters: URLSearchParams;
  /** As it was asked for, in seconds. */
  maxAge?: number;
};

type Library = typeof import('openid-client');
type Tokens = Awaited<ReturnType<Library['authorizationCodeGrant']>>;
type Claims = NonNullable<ReturnType<Tokens['claims']>>;

/** Between signing in at the provider and its ID token, both by its own clock. */
const LATE_SECONDS = 30;

/** Redeems the code and returns who signed in. Rejects with UpstreamError. Call it once for each sign-in, and in no transaction. */
export async function finishUpstream(
  deps: ExchangeDeps,
  provider: UpstreamProvider,
  returned: Returned,
): Promise<Assertion> {
  const { answers, gate } = deps.upstreams;
  try {
    return await gate.run(provider.id, undefined, async () => {
      answers.set(returned.verifier, null);
      return finish(deps, provider, returned);
    });
  } catch (error) {
    throw upstreamErrorOf(error);
  } finally {
    answers.delete(returned.verifier);
  }
}

async function finish(
  { upstreams, clock }: ExchangeDeps,
  provider: UpstreamProvider,
  returned: Returned,
): Promise<Assertion> {
  const library = await import('openid-client');
  let configuration = await upstreams.configurationOf(provider);
  let tokens: Tokens;
  try {
    tokens = await redeem(library, configuration, returned);
  } catch (error) {
    // The provider may have changed its keys. The code is used up, so the answer is verified again with the new ones.
    if (errorCode(error) !== 'OAUTH_KEY_SELECTION_FAILED') throw error;
    const newer = await upstreams.newerThan(configuration, provider);
    if (!newer) throw error;
    configuration = newer;
    tokens = await redeem(library, configuration, returned);
  }
  if (provider.kind === 'github') return gitHubAssertion(configuration, tokens.access_token);
  const idToken = tokens.claims();
  if (!idToken || tokens.id_token === undefined) throw new UpstreamError('unacceptable', 'no_id_token');
  requireTimely(idToken, clock, returned.maxAge);
  const isAsked = lacks(provider, idToken) && configuration.serverMetadata().userinfo_endpoint !== undefined;
  const userinfo = isAsked
    ? await library.fetchUserInfo(configuration, tokens.access_token, idToken.sub)
    : null;
  return {
    ...assertionOf(provider, { idToken, userinfo, parameters: returned.parameters }),
    idToken: tokens.id_token,
  };
}

/** Checks `state`, `iss` and errors in what the browser brought, then asks the token endpoint and verifies the ID token. */
function redeem(
  { authorizationCodeGrant }: Library,
  configuration: Configuration,
  { verifier, nonce, state, redirectUri, parameters, maxAge }: Returned,
): Promise<Tokens> {
  const address = new URL(redirectUri);
  address.search = parameters.toString();
  return authorizationCodeGrant(configuration, address, {
    pkceCodeVerifier: verifier,
    expectedState: state,
    // With `maxAge`, the library demands an ID token. GitHub has none, and is believed that the sign-in is new.
    ...(nonce === null
      ? {}
      : { expectedNonce: nonce, idTokenExpected: true, ...(maxAge === undefined ? {} : { maxAge }) }),
  });
}

/** The library accepts an ID token that is issued in the future, and lets clocks differ when it compares `auth_time`. */
function requireTimely(idToken: Claims, clock: Clock, maxAge: number | undefined): void {
  const { iat, auth_time: authTime } = idToken;
  if (Math.abs(clock.now() / 1_000 - iat) > CLOCK_SECONDS)
    throw new UpstreamError('unacceptable', 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED');
  if (maxAge !== undefined && (typeof authTime !== 'number' || authTime + maxAge + LATE_SECONDS < iat))
    throw new UpstreamError('unacceptable', 'auth_time_too_old');
}

/** Whether userinfo may know more that is needed. */
function lacks({ role_mapping }: UpstreamProvider, idToken: Claims): boolean {
  const elsewhere = namedElsewhere(idToken);
  const hasName = ['name', 'given_name', 'family_name'].some((name) => Object.hasOwn(idToken, name));
  return (
    !hasName ||
    !Object.hasOwn(idToken, 'email') ||
    role_mapping.some(({ claim }) => !hasClaim(idToken, claim) && !elsewhere.includes(claim))
  );
}
