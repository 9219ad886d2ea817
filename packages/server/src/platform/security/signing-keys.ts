// Creates the keys that sign tokens, and seals their private parts for the database.
// It must not store, choose or rotate keys. A readable private key leaves it only to be encrypted.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';
import { seal, UnsealError, unseal } from './sealing.ts';

/** A member of the JWKS (RFC 7517, RFC 8037). */
export type PublicJwk = { kid: string; use: 'sig' } & (
  | { kty: 'OKP'; crv: 'Ed25519'; x: string; alg: 'EdDSA' }
  | { kty: 'RSA'; n: string; e: string; alg: 'RS256' }
  | { kty: 'EC'; crv: 'P-256'; x: string; y: string; alg: 'ES256' }
);
/** As JWS names it (RFC 7518, RFC 8037). */
export type KeyAlgorithm = PublicJwk['alg'];

/** A private key cannot be decrypted: it was encrypted with another SECRET_KEY, or it is damaged. */
export class SealedKeyError extends Error {
  readonly code = 'sealed_key_unreadable';
  constructor(kid: string, cause?: unknown) {
    super(
      `The signing key ${kid} in the database cannot be decrypted with this SECRET_KEY. Set SECRET_KEY (or restore ` +
        'DATA_DIR/secret.key) to the value that encrypted the key; all instances on one database need the same value. ' +
        'If that value is lost, run `castellan reset-keys`: it creates a new signing key and ends every session.',
      { cause },
    );
    this.name = 'SealedKeyError';
  }
}

const RSA_BITS = 2_048; // RFC 7518, 3.3: the least that RS256 allows

const generators: Readonly<
  Record<KeyAlgorithm, () => Promise<{ publicKey: KeyObject; privateKey: KeyObject }>>
> = {
  EdDSA: () => promisify(generateKeyPair)('ed25519', {}),
  RS256: () => promisify(generateKeyPair)('rsa', { modulusLength: RSA_BITS }),
  ES256: () => promisify(generateKeyPair)('ec', { namedCurve: 'P-256' }),
};

/** Returns the RFC 7638 thumbprint: of the required members, in the order of their names. */
const thumbprintOf = (members: JsonWebKey): string =>
  createHash('sha256')
    .update(JSON.stringify(members, Object.keys(members).sort()))
    .digest('base64url');

/** Returns the JWK of a public key; `kid` is its thumbprint. Throws TypeError for a key of a kind that signs nothing here. */
export function publicJwkOf(publicKey: KeyObject): PublicJwk {
  if (publicKey.type !== 'public') throw new TypeError('not a public key');
  const { kty, crv, x = '', y = '', n = '', e = '' } = publicKey.export({ format: 'jwk' });
  if (kty === 'OKP' && crv === 'Ed25519')
    return { kty, crv, x, kid: thumbprintOf({ crv, kty, x }), use: 'sig', alg: 'EdDSA' };
  if (kty === 'RSA') return { kty, n, e, kid: thumbprintOf({ e, kty, n }), use: 'sig', alg: 'RS256' };
  if (kty === 'EC' && crv === 'P-256')
    return { kty, crv, x, y, kid: thumbprintOf({ crv, kty, x, y }), use: 'sig', alg: 'ES256' };
  throw new TypeError('not a key that signs tokens');
}

/** Returns the key to verify with. Throws when the JWK is no key of its `alg` or its `kid` is not its thumbprint. */
export function importPublicJwk({ kid, use, alg, ...members }: PublicJwk): KeyObject {
  const publicKey = createPublicKey({ key: members, format: 'jwk' });
  const own = publicJwkOf(publicKey);
  if (own.alg !== alg) throw new TypeError(`not a key for ${alg}`);
  if (own.kid !== kid) throw new TypeError('the kid is not the thumbprint of the key');
  return publicKey;
}

/** Returns a new key. `privateDer` is PKCS #8; it must only be encrypted. */
export async function generateSigningKey(
  alg: KeyAlgorithm,
): Promise<{ kid: string; publicJwk: PublicJwk; privateDer: Buffer }> {
  const { publicKey, privateKey } = await generators[alg]();
  const publicJwk = publicJwkOf(publicKey);
  return {
    kid: publicJwk.kid,
    publicJwk,
    privateDer: privateKey.export({ format: 'der', type: 'pkcs8' }),
  };
}

/** Encrypts a private key, bound to its `kid`: it cannot be decrypted under another one. */
export const sealPrivateKey = (secret: Buffer, kid: string, privateDer: Buffer): Buffer =>
  seal(secret, { kind: 'signing key', id: kid }, privateDer);

/** Decrypts the private key of this `kid`. Throws SealedKeyError, whose message says what to do. */
export function openPrivateKey(secret: Buffer, kid: string, sealed: Buffer): KeyObject {
  try {
    const der = unseal(secret, { kind: 'signing key', id: kid }, sealed);
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } catch (cause) {
    throw cause instanceof UnsealError ? new SealedKeyError(kid, cause) : cause;
  }
}
