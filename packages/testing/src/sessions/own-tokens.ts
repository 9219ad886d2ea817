// Reads tokens, and signs tokens that the service never issued with the service's own key.
// It must not use the service's own verification: it reads tokens with node:crypto.
import { createHash, createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import { createSigner, type SessionClaims } from '@castellan/server/platform/security/jwt';
import { openPrivateKey } from '@castellan/server/platform/security/signing-keys';
import { TEST_SECRET_KEY, type TestService } from '../harness.ts';

export type ReadToken = { header: Record<string, unknown>; claims: SessionClaims };

const parse = (part: string | undefined) => JSON.parse(Buffer.from(part ?? '', 'base64url').toString());

export function readToken(token: string): ReadToken {
  const [header, claims] = token.split('.');
  return { header: parse(header), claims: parse(claims) };
}

export type PublishedKey = JsonWebKey & { kid: string };

/** Verifies the token with the published key that its header names, as another service would. */
export function isSignedBy(token: string, keys: PublishedKey[]): boolean {
  const [header, claims, signature = ''] = token.split('.');
  const jwk = keys.find((key) => key.kid === parse(header).kid);
  if (!jwk) return false;
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  return verify(null, Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'));
}

/** Returns the deployment's signing key; of several keys the oldest, which signs until a rotation. */
export async function openSigningKey(service: TestService): Promise<{ kid: string; privateKey: KeyObject }> {
  const [row] = await service.sql<{ key_id: string; private_key_sealed: Buffer }>(
    'select key_id, private_key_sealed from signing_keys order by signs_from limit 1',
  );
  if (!row) throw new Error('the database holds no signing key');
  const privateKey = openPrivateKey(Buffer.from(TEST_SECRET_KEY), row.key_id, row.private_key_sealed);
  return { kid: row.key_id, privateKey };
}

/** Returns a signer with the deployment's own key. Its tokens differ from issued ones only by the allowlist. */
export async function openSigner(service: TestService): Promise<(claims: SessionClaims) => string> {
  const signer = createSigner(await openSigningKey(service));
  return (claims) => signer.sign(claims);
}

/** Returns the hash of a token as the allowlist stores it. */
export const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();
