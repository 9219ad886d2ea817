// Verifies proofs that a request is sent by the holder of a key (RFC 9449). A token that is bound to the key is worth nothing without one.
// It must not decide which tokens are bound.
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { PublicKey } from '@castellan/contract/applications';
import { isObject } from '../../platform/unknown-values.ts';
import type { Db } from '../../schema/database.ts';
import { cleanKey } from '../applications/key-set.ts';
import { canSign, isSignedBy, proofAlgorithms, readProof } from './signed-text.ts';
import { useProof } from './used-proofs.ts';

/** Seconds that `iat` may differ from now (RFC 9449, 11.1). */
const SKEW = 60;

/** Header of a refusal of a token that is bound to a key (RFC 9449, 7.1). */
export const keyChallenge = {
  'www-authenticate': `DPoP error="invalid_token", algs="${proofAlgorithms.join(' ')}"`,
};

/** A proof whose signature is verified. `jkt`: the thumbprint of its key. */
export type KeyProof = { jkt: string; jti: string; iat: number };

/** What the proof must be made for. `path` follows PUBLIC_URL. */
export type ProvedRequest = {
  method: string;
  path: string;
  /** Null where there is no access token yet. */
  accessToken: string | null;
};

/** Returns the header `DPoP`; undefined if there is none. Several are joined, which is no proof. */
export function proofIn({ dpop }: IncomingHttpHeaders): string | undefined {
  return Array.isArray(dpop) ? dpop.join(', ') : dpop;
}

/**
 * Returns the verified proof; undefined if it is not one for this request. Whether it is of now is judged by `useKeyProof`, with the time of the
 * database.
 */
export async function readKeyProof(
  { publicUrl }: { publicUrl: string },
  text: string,
  { method, path, accessToken }: ProvedRequest,
): Promise<KeyProof | undefined> {
  const proof = readProof(text);
  if (!proof) return undefined;
  const { header, claims, alg } = proof;
  const { typ, jwk } = header;
  if (typeof typ !== 'string' || typ.toLowerCase() !== 'dpop+jwt') return undefined;
  const { jti, iat, htm, htu, ath } = claims;
  if (typeof jti !== 'string' || jti === '' || typeof iat !== 'number' || !Number.isFinite(iat))
    return undefined;
  if (htm !== method || !isAddress(htu, `${publicUrl}${path}`)) return undefined;
  if (accessToken !== null && ath !== hash('sha256', accessToken, 'base64url')) return undefined;
  const key = keyIn(jwk);
  if (!key || !canSign(key, alg) || !(await isSignedBy(text, key, alg))) return undefined;
  return { jkt: thumbprintOf(key), jti, iat };
}

/**
 * Uses a proof up. Returns false if it is more than 60 seconds off, or was used before. `now`: of the database. Call it when the proof
 * is known to belong to a token or a grant: proofs of strangers must not fill the table.
 */
export async function useKeyProof(db: Db, { jkt, jti, iat }: KeyProof, now: Date): Promise<boolean> {
  if (Math.abs(now.getTime() / 1_000 - iat) > SKEW) return false;
  return useProof(db, { kind: 'dpop', id: jkt }, { jti, endsAt: iat + SKEW });
}

/** Compares as RFC 9449, 4.3 does: scheme and host in any case, the default port or none, without query and fragment. */
function isAddress(htu: unknown, expected: string): boolean {
  const given = typeof htu === 'string' ? URL.parse(htu) : null;
  const wanted = new URL(expected);
  return (
    given !== null &&
    given.username === '' &&
    given.password === '' &&
    given.origin === wanted.origin &&
    given.pathname === wanted.pathname
  );
}

/** Returns the public key of a header; undefined for one that an application could not register, private ones included. */
function keyIn(jwk: unknown): PublicKey | undefined {
  if (!isObject(jwk)) return undefined;
  // What a key says about itself is no part of it: only its numbers count.
  const { kid: _kid, use: _use, ...given } = jwk;
  try {
    return cleanKey(given, 'jwk');
  } catch {
    return undefined;
  }
}

/** Returns the thumbprint of a key: SHA-256 over its required members in the order of their names (RFC 7638, 3; RFC 8037, 2). */
function thumbprintOf({ kty, crv, n, e, x, y }: PublicKey): string {
  const members = kty === 'RSA' ? { e, kty, n } : kty === 'EC' ? { crv, kty, x, y } : { crv, kty, x };
  return hash('sha256', JSON.stringify(members), 'base64url');
}
