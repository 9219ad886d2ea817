// Reads the ID token by which an application says whom it expects (OpenID Connect Core, 3.1.2.1: `id_token_hint`).
// It must not look at the time: a hint counts after its token has expired.
import { verify } from 'node:crypto';
import { importPublicJwk, type PublicJwk } from '../../../platform/security/signing-keys.ts';
import { isObject } from '../../../platform/unknown-values.ts';

/** The keys of applications, also those that no longer sign. */
type Keys = { publicJwks(purpose: 'application'): readonly PublicJwk[] };

/** Returns the subject of an ID token of this service for the application; null for any other text. The key decides the algorithm. */
export function subjectHinted(
  keys: Keys,
  { issuer, clientId }: { issuer: string; clientId: string },
  text: string,
): string | null {
  const [head = '', payload = '', signature = '', ...rest] = text.split('.');
  const header = partOf(head);
  if (rest.length > 0 || header?.typ !== 'JWT' || 'crit' in header) return null;
  const jwk = keys.publicJwks('application').find(({ kid }) => kid === header.kid);
  if (!jwk || jwk.alg !== header.alg) return null;
  const key = { key: importPublicJwk(jwk), dsaEncoding: 'ieee-p1363' } as const;
  if (!verify('sha256', Buffer.from(`${head}.${payload}`), key, Buffer.from(signature, 'base64url')))
    return null;
  const claims = partOf(payload);
  return claims?.iss === issuer && claims.aud === clientId && typeof claims.sub === 'string'
    ? claims.sub
    : null;
}

function partOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return isObject(value) && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
