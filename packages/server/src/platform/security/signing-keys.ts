// Creates the Ed25519 keys that sign tokens, and encrypts their private parts for the database.
// It must not store, choose or rotate keys. A readable private key leaves it only to be encrypted.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

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

const KEY_BYTES = 32; // AES-256
const NONCE_BYTES = 12; // NIST SP 800-38D, 5.2.1.1
const TAG_BYTES = 16; // the full length
const VERSION = 1; // identifies the algorithm and the layout: version, nonce, ciphertext, tag
const sealPurpose = 'seal signing keys';
const MIN_SECRET_BYTES = 32; // HKDF cannot add entropy to a short secret

/**
 * Derives 32 bytes for one purpose from SECRET_KEY, by HKDF-SHA-256 (RFC 5869). Different purposes give independent
 * keys. The same purpose gives the same key on every instance and after every restart. Throws RangeError for a short
 * secret.
 */
export function deriveKey(secret: Buffer, purpose: string): Buffer {
  if (secret.length < MIN_SECRET_BYTES)
    throw new RangeError(`the secret needs ${MIN_SECRET_BYTES} bytes or more`);
  return Buffer.from(hkdfSync('sha256', secret, '', `castellan ${purpose}`, KEY_BYTES));
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

const associatedData = (kid: string): Buffer => Buffer.from(`castellan signing key v${VERSION}\0${kid}`);

/** Encrypts a private key with AES-256-GCM, bound to its `kid`: it cannot be decrypted under another one. */
export function sealPrivateKey(secret: Buffer, kid: string, privateDer: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(secret, sealPurpose), nonce, {
    authTagLength: TAG_BYTES,
  });
  cipher.setAAD(associatedData(kid));
  const sealed = Buffer.concat([cipher.update(privateDer), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, sealed, cipher.getAuthTag()]);
}

/** Decrypts the private key of this `kid`. Throws SealedKeyError, whose message says what to do. */
export function openPrivateKey(secret: Buffer, kid: string, sealed: Buffer): KeyObject {
  if (sealed.length <= 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== VERSION) throw new SealedKeyError(kid);
  const key = deriveKey(secret, sealPurpose);
  try {
    const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(associatedData(kid));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const body = sealed.subarray(1 + NONCE_BYTES, -TAG_BYTES);
    const der = Buffer.concat([decipher.update(body), decipher.final()]);
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } catch (cause) {
    throw new SealedKeyError(kid, cause);
  }
}
