// How Castellan authenticates itself at providers. It must not keep what it signs: each request gets a new one.
import { createPrivateKey, type KeyObject, randomUUID, sign } from 'node:crypto';
import type { ClientAuth } from 'openid-client';
import type { Clock } from '../../../platform/clock.ts';
import { UpstreamError, type UpstreamProvider } from './assertion.ts';

type Library = typeof import('openid-client');

/** Apple allows six months; the secret is used at once. */
const SIGNED_SECONDS = 300;
const APPLE = 'https://appleid.apple.com';
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Returns how the provider is authenticated to. `secret` is what its record has. Throws UpstreamError if that does not do. */
export function clientAuthOf(
  { None, ClientSecretBasic, ClientSecretPost }: Library,
  clock: Clock,
  provider: UpstreamProvider,
  secret: string | null | undefined,
): ClientAuth {
  if (provider.client_auth === 'none') return None();
  // Sealed with another SECRET_KEY.
  if (secret === undefined) throw new UpstreamError('unavailable', 'secret_unreadable');
  if (!secret) throw new UpstreamError('unavailable', 'secret_missing');
  if (provider.client_auth === 'client_secret_basic') return ClientSecretBasic(secret);
  if (provider.client_auth === 'client_secret_post') return ClientSecretPost(secret);
  const key = keyOf(secret);
  return ({ issuer }, { client_id }, body) => {
    const isApple = provider.kind === 'apple';
    const signed = signedWith(key, provider.key_id, {
      iss: isApple ? provider.team_id : client_id,
      sub: client_id,
      aud: isApple ? APPLE : issuer,
      iat: Math.floor(clock.now() / 1_000),
      exp: Math.floor(clock.now() / 1_000) + SIGNED_SECONDS,
      jti: randomUUID(),
    });
    body.set('client_id', client_id);
    if (isApple) body.set('client_secret', signed);
    else {
      body.set('client_assertion_type', ASSERTION_TYPE);
      body.set('client_assertion', signed);
    }
  };
}

function keyOf(pem: string): KeyObject {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key;
  } catch {
    // As a key of another kind.
  }
  throw new UpstreamError('unavailable', 'key_unusable');
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Returns a JWT with the algorithm ES256. */
function signedWith(key: KeyObject, kid: string | null, claims: object): string {
  const text = `${encoded({ alg: 'ES256', ...(kid === null ? {} : { kid }) })}.${encoded(claims)}`;
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}
