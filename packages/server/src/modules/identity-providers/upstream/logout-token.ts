// Reads the logout tokens of providers (OpenID Connect Back-Channel Logout 1.0, 2.4 and 2.6). It must not end a session, nor
// remember which tokens it has read.
import type { JWTPayload, JWTVerifyGetKey } from 'jose';
import type { Configuration } from 'openid-client';
import type { Clock } from '../../../platform/clock.ts';
import { isObject } from '../../../platform/unknown-values.ts';
import { UpstreamError, type UpstreamProvider } from './assertion.ts';
import { upstreamErrorOf } from './failures.ts';
import { CLOCK_SECONDS } from './metadata.ts';
import { textIn } from './said.ts';
import type { Upstreams } from './upstreams.ts';

export type LogoutToken = {
  /** Of the provider's document, which the token has. */
  issuer: string;
  /** One of the two is there. */
  sub: string | null;
  sid: string | null;
  jti: string;
  /** Until when `jti` must be remembered, because the same token could count again. */
  expiresAt: Date;
};

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** `typ` is recommended; JWT is what providers sent before it was. Any other one names another kind of token. */
const types: ReadonlySet<unknown> = new Set([undefined, 'logout+jwt', 'application/logout+jwt', 'jwt']);
export const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const MAX_LENGTH = 16_384;
const TIMEOUT_MS = 5_000;
const PAUSE_MS = 10_000;
const FRESH_MS = 10 * 60_000;

/** Key sets, by the configuration that names them. */
const keySets = new WeakMap<Configuration, JWTVerifyGetKey>();

/** Returns whom the token signs out. Rejects with UpstreamError for a token that does not count. Call it in no transaction. */
export async function readLogoutToken(
  { upstreams, clock }: { upstreams: Upstreams; clock: Clock },
  provider: UpstreamProvider,
  token: string,
): Promise<LogoutToken> {
  // The others have no back-channel logout.
  if (provider.kind !== 'oidc') throw new UpstreamError('unacceptable', 'not_supported');
  if (token.length > MAX_LENGTH) throw new UpstreamError('unacceptable', 'too_large');
  try {
    return await upstreams.gate.run(`logout ${provider.id}`, undefined, () =>
      read(upstreams, clock, provider, token),
    );
  } catch (error) {
    throw upstreamErrorOf(error);
  }
}

async function read(
  upstreams: Upstreams,
  clock: Clock,
  provider: UpstreamProvider,
  token: string,
): Promise<LogoutToken> {
  const { decodeJwt, jwtVerify } = await import('jose');
  const configuration = await upstreams.knownConfigurationOf(provider);
  const { issuer } = configuration.serverMetadata();
  // Anybody can send a token: nothing is asked of the provider for one that is not of it.
  if (decodeJwt(token).iss !== issuer) throw new UpstreamError('unacceptable', 'issuer_differs');
  const { payload, protectedHeader } = await jwtVerify(token, await keySetOf(upstreams, configuration), {
    issuer,
    audience: provider.client_id,
    algorithms,
    requiredClaims: ['iat', 'exp', 'jti'],
    clockTolerance: CLOCK_SECONDS,
    currentDate: new Date(clock.now()),
  });
  const { typ } = protectedHeader;
  if (!types.has(typeof typ === 'string' ? typ.toLowerCase() : typ))
    throw new UpstreamError('unacceptable', 'wrong_typ');
  return { issuer, ...toldBy(payload, clock) };
}

function toldBy(payload: JWTPayload, clock: Clock): Omit<LogoutToken, 'issuer'> {
  const { iat = 0, events } = payload;
  if (Math.abs(clock.now() / 1_000 - iat) > CLOCK_SECONDS)
    throw new UpstreamError('unacceptable', 'wrong_iat');
  if (!isObject(events) || !isObject(events[EVENT]))
    throw new UpstreamError('unacceptable', 'no_logout_event');
  // It is what tells an ID token from it.
  if ('nonce' in payload) throw new UpstreamError('unacceptable', 'has_nonce');
  const [sub, sid, jti] = ['sub', 'sid', 'jti'].map((name) => textIn(payload, name));
  if ((sub ?? sid ?? null) === null) throw new UpstreamError('unacceptable', 'no_subject');
  if (!jti) throw new UpstreamError('unacceptable', 'no_jti');
  // Twice, because the clock of the database may differ from this one.
  return { sub: sub ?? null, sid: sid ?? null, jti, expiresAt: new Date((iat + 2 * CLOCK_SECONDS) * 1_000) };
}

async function keySetOf({ ask }: Upstreams, configuration: Configuration): Promise<JWTVerifyGetKey> {
  const jose = await import('jose');
  const known = keySets.get(configuration);
  if (known) return known;
  const { jwks_uri: address } = configuration.serverMetadata();
  if (address === undefined) throw new UpstreamError('unacceptable', 'no_key_set');
  const keySet = jose.createRemoteJWKSet(new URL(address), {
    timeoutDuration: TIMEOUT_MS,
    cooldownDuration: PAUSE_MS,
    cacheMaxAge: FRESH_MS,
    [jose.customFetch]: (url, { headers, method, redirect, signal }) =>
      ask(url, { headers: Object.fromEntries(headers), method, redirect, signal, body: undefined }),
  });
  keySets.set(configuration, keySet);
  return keySet;
}
