// Makes the Ed25519 keys that tokens are signed with, and seals their private halves for rest in the database.
// It must not store, choose or rotate keys, and no private key leaves it in readable form except to be sealed.
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
export interface PublicJwk {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
  kid: string;
  use: 'sig';
  alg: 'EdDSA';
}

/** A sealed private key that cannot be opened: SECRET_KEY is another one than when it was sealed, or it is damaged. */
export class SealedKeyError extends Error {
  readonly code = 'sealed_key_unreadable';
  constructor(kid: string, cause?: unknown) {
    super(
      `The signing key ${kid} in the database cannot be opened with the present SECRET_KEY. Set SECRET_KEY (or restore ` +
        'DATA_DIR/secret.key) to the value under which the key was stored; all instances on one database need the same. ' +
        'If that value is lost, delete the stored signing keys: new ones are made at the next start, and everyone has to ' +
        'log in again.',
      { cause },
    );
    this.name = 'SealedKeyError';
  }
}

const keyBytes = 32; // AES-256
const nonceBytes = 12; // NIST SP 800-38D, 5.2.1.1
const tagBytes = 16; // the full length
const version = 1; // names the algorithm and the layout: version, nonce, ciphertext, tag
const sealPurpose = 'seal signing keys';
const minSecretBytes = 32; // HKDF cannot add entropy to a short secret

/**
 * 32 bytes for one purpose from SECRET_KEY, by HKDF-SHA-256 (RFC 5869). Different purposes give independent keys; one
 * purpose gives the same key in every instance and after every restart.
 */
export function deriveKey(secret: Buffer, purpose: string): Buffer {
  if (secret.length < minSecretBytes)
    throw new RangeError(`the secret needs ${minSecretBytes} bytes or more`);
  return Buffer.from(hkdfSync('sha256', secret, '', `castellan ${purpose}`, keyBytes));
}

/** The JWK of an Ed25519 key; `kid` is its RFC 7638 thumbprint. Throws TypeError for any other kind of key. */
export function publicJwkOf(publicKey: KeyObject): PublicJwk {
  if (publicKey.type !== 'public' || publicKey.asymmetricKeyType !== 'ed25519') {
    throw new TypeError('not an Ed25519 public key');
  }
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const kid = createHash('sha256').update(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`).digest('base64url');
  return { kty: 'OKP', crv: 'Ed25519', x, kid, use: 'sig', alg: 'EdDSA' };
}

/** The key to verify with. Throws when the JWK is no Ed25519 key or its `kid` is not its thumbprint. */
export function importPublicJwk(jwk: PublicJwk): KeyObject {
  const { kty, crv, x, kid } = jwk;
  const publicKey = createPublicKey({ key: { kty, crv, x }, format: 'jwk' });
  if (publicJwkOf(publicKey).kid !== kid) throw new TypeError('the kid is not the thumbprint of the key');
  return publicKey;
}

/** A new key. `privateDer` is PKCS #8 and only to be sealed. */
export function generateSigningKey(): { kid: string; publicJwk: PublicJwk; privateDer: Buffer } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const publicJwk = publicJwkOf(publicKey);
  return {
    kid: publicJwk.kid,
    publicJwk,
    privateDer: privateKey.export({ format: 'der', type: 'pkcs8' }),
  };
}

const associatedData = (kid: string): Buffer => Buffer.from(`castellan signing key v${version}\0${kid}`);

/** The private key encrypted with AES-256-GCM and bound to its `kid`: it opens under no other. */
export function sealPrivateKey(secret: Buffer, kid: string, privateDer: Buffer): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(secret, sealPurpose), nonce, {
    authTagLength: tagBytes,
  });
  cipher.setAAD(associatedData(kid));
  const sealed = Buffer.concat([cipher.update(privateDer), cipher.final()]);
  return Buffer.concat([Buffer.of(version), nonce, sealed, cipher.getAuthTag()]);
}

/** The private key that was sealed under this `kid`. Throws SealedKeyError, whose message says what to do. */
export function openPrivateKey(secret: Buffer, kid: string, sealed: Buffer): KeyObject {
  if (sealed.length <= 1 + nonceBytes + tagBytes || sealed[0] !== version) throw new SealedKeyError(kid);
  const key = deriveKey(secret, sealPurpose);
  try {
    const nonce = sealed.subarray(1, 1 + nonceBytes);
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
    decipher.setAAD(associatedData(kid));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    const body = sealed.subarray(1 + nonceBytes, -tagBytes);
    const der = Buffer.concat([decipher.update(body), decipher.final()]);
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } catch (cause) {
    throw new SealedKeyError(kid, cause);
  }
}
