// What every scheme of password hashes shares: how a stored text is read, decoded and compared.
// It must not compute a hash.
import { timingSafeEqual } from 'node:crypto';

/**
 * Why a hash cannot be used: its scheme is not known, its text does not follow the scheme, or one verification would take
 * more time or memory than `bounds` allow.
 */
type HashFault = 'unsupported' | 'malformed' | 'too_costly';

/** Whether this is the password, as typed. Works outside the event loop. */
type Verify = (password: string) => Promise<boolean>;

export type Reading = { verify: Verify } | { fault: HashFault };

export type Scheme = {
  /** What the texts of the scheme begin with. */
  prefix: RegExp;
  read(stored: string): Reading;
};

export const malformed: Reading = { fault: 'malformed' };
export const tooCostly: Reading = { fault: 'too_costly' };

/** Returns the bytes of base64 with or without padding; null if the text is anything else. */
export function fromBase64(text: string): Buffer | null {
  const unpadded = text.replace(/={1,2}$/, '');
  const bytes = Buffer.from(unpadded, 'base64');
  return bytes.toString('base64').replace(/=+$/, '') === unpadded ? bytes : null;
}

// In UTF-16 units. Normalizing takes quadratic time on a run of combining marks: measured 6 ms at this length, 4 to 7 s
// for 100,000 marks. A longer password is hashed in full, without normalizing it.
const MAX_NORMALIZED_LENGTH = 4_096;

/** Returns the normal form of a password; the same text if it is so long that the event loop would wait. */
export const normalized = (password: string, form: 'NFC' | 'NFKC'): string =>
  password.length > MAX_NORMALIZED_LENGTH ? password : password.normalize(form);

/**
 * Returns the password with plain spaces. Keyboards and word processors write other ones, which look the same: Option and
 * space is a no-break space on a Mac. RFC 8265, 4.2.2 maps them too.
 */
export const withPlainSpaces = (password: string): string => password.replace(/\p{Zs}/gu, ' ');

/** Compares in a time that depends on the length only. */
export const isEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other);

// Salts and outputs beyond these sizes are not those of a password, and make a verification longer than its cost says.
const MAX_SALT_BYTES = 128;
const MIN_OUTPUT_BYTES = 16;
const MAX_OUTPUT_BYTES = 64;

export type SaltAndOutput = { salt: Buffer; output: Buffer };

/** Returns the last two parts of a PHC string in bytes; null if one is not base64 or has an unusual length. */
export function readSaltAndOutput(saltText = '', outputText = ''): SaltAndOutput | null {
  const salt = fromBase64(saltText);
  const output = fromBase64(outputText);
  if (salt === null || output === null) return null;
  if (salt.length === 0 || salt.length > MAX_SALT_BYTES) return null;
  if (output.length < MIN_OUTPUT_BYTES || output.length > MAX_OUTPUT_BYTES) return null;
  return { salt, output };
}
