// Reads the ID token by which an application names a person or a session (`id_token_hint`: OpenID Connect Core, 3.1.2.1; RP-Initiated
// Logout, 2). It must not look at the time: a hint counts after its token has expired.
import { verify } from 'node:crypto';
import { importPublicJwk, type PublicJwk } from '../../platform/security/signing-keys.ts';
import { isObject } from '../../platform/unknown-values.ts';

/** `sub`, `sid`: what the application knows the person and the session by. */
export type Hint = { clientId: string; sub: string; sid: string };

/** Characters of a hint. An ID token has at most 6 KiB (claims/token-size.ts), unless claims that are no lists are larger. */
export const MAX_HINT = 12_288;

/** The keys of applications, also those that no longer sign. */
type Keys = { publicJwks(purpose: 'application'): readonly PublicJwk[] };

/**
 * Returns what an ID token of this service says; undefined for any other text, and for other tokens that the same keys sign. The
 * algorithm is that of the key, never that of the token.
 */
export function readHint(keys: Keys, issuer: string, text: string): Hint | undefined {
  const [head = '', payload = '', signature = '', ...rest] = text.split('.');
  const header = partOf(head);
  if (rest.length > 0 || header?.typ !== 'JWT' || 'crit' in header) return undefined;
  const jwk = keys.publicJwks('application').find(({ kid }) => kid === header.kid);
  if (!jwk || jwk.alg !== header.alg || !isCanonical(signature)) return undefined;
  const key = { key: importPublicJwk(jwk), dsaEncoding: 'ieee-p1363' } as const;
  if (!verify('sha256', Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url')))
    return undefined;
  const claims = partOf(payload);
  if (claims?.iss !== issuer) return undefined;
  const { aud, sub, sid } = claims;
  const isWhole = typeof aud === 'string' && typeof sub === 'string' && typeof sid === 'string';
  return isWhole ? { clientId: aud, sub, sid } : undefined;
}

/** One signature has one spelling: no padding, no other alphabet, no bits behind the last byte. */
const isCanonical = (text: string): boolean => Buffer.from(text, 'base64url').toString('base64url') === text;

function partOf(text: string): Record<string, unknown> | undefined {
  if (!isCanonical(text)) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return isObject(value) && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
