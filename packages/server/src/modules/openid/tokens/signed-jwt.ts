// Signs JWTs for applications with RS256 or ES256 (RFC 7515, RFC 7518). It is synchronous, as the signing of sessions' tokens is.
// It must not choose the key or the claims.
import { hash, type KeyObject, sign } from 'node:crypto';

export type SigningAlgorithm = 'RS256' | 'ES256';

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** `typ`: of the header, such as `JWT` or `at+jwt`. */
export function signJwt(
  { alg, key, typ }: { alg: SigningAlgorithm; key: { id: string; privateKey: KeyObject }; typ: string },
  claims: object,
): string {
  const signed = `${encode({ alg, typ, kid: key.id })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), {
    key: key.privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${signed}.${signature.toString('base64url')}`;
}

/** Returns `at_hash` of a token: the left half of its SHA-256 (OpenID Connect Core, 3.1.3.6), for algorithms with SHA-256. */
export const leftHalfOfHash = (text: string): string =>
  hash('sha256', text, 'buffer').subarray(0, 16).toString('base64url');
