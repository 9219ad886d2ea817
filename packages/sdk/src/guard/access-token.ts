import { isRecord, isText, type Json } from './json.ts';
import type { KeySet } from './key-set.ts';

/** The claims of an access token that a guard uses; times are in seconds. */
export type Claims = { sub: string; jti: string; iat: number; exp: number };

/** RFC 6750, section 2.1. */
const BEARER = /^Bearer +([\w.~+/-]+=*)$/i;
const LONGEST_TOKEN = 8_192;
const encoder = new TextEncoder();

/** Returns the bearer token of an Authorization header, or undefined if it has no single, well-formed one. */
export const bearerToken = (header: string): string | undefined =>
  header.length <= LONGEST_TOKEN + 7 ? BEARER.exec(header)?.[1] : undefined;

/**
 * Returns the claims of an access token (RFC 9068) whose signature, type and times are right, or undefined. It may have been
 * revoked since. Throws `unavailable` if the key set cannot be read.
 */
export async function verifyAccessToken(
  token: string,
  keySet: KeySet,
  toleranceMs: number,
): Promise<Claims | undefined> {
  const [head = '', body = '', signature = '', ...rest] = token.split('.');
  if (!signature || rest.length > 0) return undefined;
  const header = jsonOf(head);
  // The algorithm is fixed by the key, never chosen by the token (RFC 8725, section 3.1).
  if (header?.alg !== 'EdDSA' || header.typ !== 'at+jwt' || header.crit !== undefined || !isText(header.kid))
    return undefined;
  const claims = claimsOf(jsonOf(body));
  const bytes = bytesOf(signature);
  if (!claims || !bytes || !isTimely(claims, toleranceMs)) return undefined;
  const key = await keySet.find(header.kid);
  if (!key) return undefined;
  const isSigned = await crypto.subtle.verify(
    { name: 'Ed25519' },
    key,
    bytes,
    encoder.encode(`${head}.${body}`),
  );
  return isSigned ? claims : undefined;
}

/**
 * Returns the claims of an access token that an application got for this audience, or undefined. Nothing of it is verified: only
 * Castellan can tell what it is worth.
 */
export function readApplicationToken(
  token: string,
  audience: string,
  toleranceMs: number,
): Claims | undefined {
  const [head = '', body = '', , ...rest] = token.split('.');
  const header = jsonOf(head);
  const payload = jsonOf(body);
  const isOfApplication = header?.typ === 'at+jwt' && (header.alg === 'RS256' || header.alg === 'ES256');
  const claims = claimsOf(payload);
  if (rest.length > 0 || !isOfApplication || payload?.aud !== audience || !claims) return undefined;
  return isTimely(claims, toleranceMs) ? claims : undefined;
}

/** Tells whether a token that was issued and ends at these times (s) is valid now. */
export const isTimely = ({ iat, exp }: { iat: number; exp?: number }, toleranceMs: number): boolean =>
  iat * 1_000 <= Date.now() + toleranceMs && (exp === undefined || exp * 1_000 > Date.now() - toleranceMs);

function claimsOf(json: Json | undefined): Claims | undefined {
  if (!json) return undefined;
  const { sub, jti, iat, exp } = json;
  return isText(sub) && isText(jti) && Number.isFinite(iat) && Number.isFinite(exp)
    ? { sub, jti, iat: Number(iat), exp: Number(exp) }
    : undefined;
}

function jsonOf(part: string): Json | undefined {
  const bytes = bytesOf(part);
  if (!bytes) return undefined;
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the bytes of a base64url text without padding, or undefined. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined;
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0));
  } catch {
    return undefined;
  }
}
