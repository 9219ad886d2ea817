// Creates the Ed25519 keys that sign tokens, and seals their private parts for the database.
// It must not store, choose or rotate keys. A readable private key leaves it only to be encrypted.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto';
import { seal, UnsealError, unseal } from './sealing.ts';

/** A member of the JWKS (RFC 7517, RFC 8037). */
export type PublicJwk = {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
  kid: string;
  use: 'sig';
  alg: 'EdDSA';
};

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

/** Returns the JWK of an Ed25519 key; `kid` is its RFC 7638 thumbprint. Throws TypeError for any other kind of key. */
export function publicJwkOf(publicKey: KeyObject): PublicJwk {
  if (publicKey.type !== 'public' || publicKey.asymmetricKeyType !== 'ed25519') {
    throw new TypeError('not an Ed25519 public key');
  }
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const kid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' };
}

/** Returns the key to verify with. Throws when the JWK is no Ed25519 key or its `kid` is not its thumbprint. */
export function importPublicJwk(jwk: PublicJwk): KeyObject {
  const { kty, crv, x, kid } = jwk;
  const publicKey = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
  if (publicJwkOf(publicKey).kid !== kid) throw new TypeError('the kid is not the thumbprint of the key');
  return publicKey;
}

/** Returns a new key. `privateDer` is PKCS #8; it must only be encrypted. */
export function generateSigningKey(): { kid: string; publicJwk: PublicJwk; privateDer: Buffer } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
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
