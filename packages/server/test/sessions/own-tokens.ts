// Reads tokens, and signs ones that the service never gave out with the key that it signs with.
// It must not use the service's own verification: what it reads it reads with node:crypto.
import { createHash, createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import { createSigner, type TokenClaims } from '../../src/platform/security/jwt.ts';
import { openPrivateKey } from '../../src/platform/security/signing-keys.ts';
import { TEST_SECRET_KEY, type TestService } from '../harness.ts';

export type ReadToken = { header: Record<string, unknown>; claims: TokenClaims };

const parse = (part: string | undefined) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString());

export function readToken(token: string): ReadToken {
  const [header, claims] = token.split('.');
  return { header: parse(header), claims: parse(claims) };
}

export type PublishedKey = JsonWebKey & { kid: string };

/** By the published key that the header names, as another service would. */
export function isSignedBy(token: string, keys: PublishedKey[]): boolean {
  const [header, claims, signature = ''] = token.split('.');
  const jwk = keys.find((key) => key.kid === parse(header).kid);
  if (!jwk) return false;
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  return verify(null, Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'));
}

/** The deployment's own key, of those that sign the oldest: the one that signs until a rotation. */
export async function openSigningKey(service: TestService): Promise<{ kid: string; privateKey: KeyObject }> {
  const [row] = await service.sql<{ key_id: string; private_key_sealed: Buffer }>(
    'select key_id, private_key_sealed from signing_keys order by signs_from limit 1',
  );
  if (!row) throw new Error('the database holds no signing key');
  const privateKey = openPrivateKey(Buffer.from(TEST_SECRET_KEY), row.key_id, row.private_key_sealed);
  return { kid: row.key_id, privateKey };
}

/** A signer with the deployment's own key: what it signs differs from a given-out token only by the allowlist. */
export async function openSigner(service: TestService): Promise<(claims: TokenClaims) => string> {
  const signer = createSigner(await openSigningKey(service));
  return (claims) => signer.sign(claims);
}

/** As the allowlist keeps it. */
export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
