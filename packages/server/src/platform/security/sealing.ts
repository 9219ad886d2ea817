// Encrypts secrets for the database with keys derived from SECRET_KEY.
// It must not know what a secret is for: the caller names its kind and its record.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const KEY_BYTES = 32; // AES-256
const NONCE_BYTES = 12; // NIST SP 800-38D, 5.2.1.1
const TAG_BYTES = 16; // the full length
const VERSION = 1; // identifies the algorithm and the layout: version, nonce, ciphertext, tag
const MIN_SECRET_BYTES = 32; // HKDF cannot add entropy to a short secret

/** The contents were sealed with another SECRET_KEY or for another record, or they are damaged. */
export class UnsealError extends Error {
  override name = 'UnsealError';
}

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

/** What a sealed secret belongs to. It cannot be unsealed as another kind, or for another record. */
export type SealOwner = {
  /** In the singular: each kind has its own key. */
  kind:
    | 'signing key'
    | 'audit key'
    | 'totp secret'
    | 'provider secret'
    | 'provider sign-in'
    | 'provider ID token'
    | 'webhook secret';
  id: string;
};

const keyOf = (secret: Buffer, { kind }: SealOwner): Buffer => deriveKey(secret, `seal ${kind}s`);
const associatedData = ({ kind, id }: SealOwner): Buffer =>
  Buffer.from(`castellan ${kind} v${VERSION}\0${id}`);

/** Encrypts with AES-256-GCM, bound to the kind and the record. Throws RangeError for a short secret. */
export function seal(secret: Buffer, owner: SealOwner, content: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret, owner), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(associatedData(owner));
  const sealed = Buffer.concat([cipher.update(content), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, sealed, cipher.getAuthTag()]);
}

/** Decrypts what `seal` returned for the same owner. Throws UnsealError, and RangeError for a short secret. */
export function unseal(secret: Buffer, owner: SealOwner, sealed: Buffer): Buffer {
  const key = keyOf(secret, owner);
  if (sealed.length <= 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== VERSION)
    throw new UnsealError('no sealed contents of this version');
  try {
    const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(associatedData(owner));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const body = sealed.subarray(1 + NONCE_BYTES, -TAG_BYTES);
    return Buffer.concat([decipher.update(body), decipher.final()]);
  } catch (cause) {
    throw new UnsealError('sealed with another key, for another record, or damaged', { cause });
  }
}
