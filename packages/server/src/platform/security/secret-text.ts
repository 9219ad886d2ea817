// Makes the texts of secrets that secret scanners recognize: a mark, base62, and a checksum over both.
// It must not store or compare a secret.
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Of the secrets by which applications authenticate themselves. */
export const APPLICATION_SECRET_MARK = 'cas_cs_';

export const SECRET_LENGTH = 43; // 256 bits
export const CHECKSUM_LENGTH = 6; // 32 bits
/** Longer texts are not looked at. The longest that are made have 74 characters. */
const MAX_LENGTH = 100;

/** Returns `length` random characters. Every character is equally likely. */
export function randomText(length: number): string {
  let text = '';
  while (text.length < length)
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 in a byte: larger values would make some characters likelier.
      if (byte < 248 && text.length < length) text += alphabet[byte % 62];
    }
  return text;
}

export function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let position = 0; position < CHECKSUM_LENGTH; position += 1) {
    digits = `${alphabet[rest % 62]}${digits}`;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Returns `<mark><43 of secret>_<6 of checksum>`. The mark ends with `_`. */
export function createSecretText(mark: string): string {
  const unchecked = `${mark}${randomText(SECRET_LENGTH)}`;
  return `${unchecked}_${checksumOf(unchecked)}`;
}

const BASE = 62n;

/** Returns `<mark><base62 of the bytes>_<6 of checksum>`, for a secret whose bytes mean something. */
export function secretTextOf(mark: string, bytes: Buffer): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let digits = '';
  for (let left = digitsOf(bytes.length); left > 0; left -= 1) {
    digits = `${alphabet[Number(rest % BASE)]}${digits}`;
    rest /= BASE;
  }
  const unchecked = `${mark}${digits}`;
  return `${unchecked}_${checksumOf(unchecked)}`;
}

/** Returns the bytes of a text that `secretTextOf` made of so many; undefined for every other text. */
export function secretBytesIn(mark: string, text: string, length: number): Buffer | undefined {
  const digits = checkedPart(mark, text);
  if (digits?.length !== digitsOf(length)) return undefined;
  let value = 0n;
  for (const digit of digits) value = value * BASE + BigInt(alphabet.indexOf(digit));
  const hex = value.toString(16).padStart(2 * length, '0');
  return hex.length > 2 * length ? undefined : Buffer.from(hex, 'hex');
}

/** Returns the SHA-256 of a text that `createSecretText` made with this mark; undefined if its form or its checksum is wrong. */
export const secretTextHash = (mark: string, text: string): Buffer | undefined =>
  checkedPart(mark, text)?.length === SECRET_LENGTH ? hash('sha256', text, 'buffer') : undefined;

/** How many digits of base62 hold every value of so many bytes. */
const digitsOf = (bytes: number): number => Math.ceil((bytes * 8) / Math.log2(62));

const BASE62 = /^[0-9A-Za-z]+$/;

/** Returns what stands between mark and checksum. */
function checkedPart(mark: string, text: string): string | undefined {
  const end = text.length - CHECKSUM_LENGTH - 1;
  if (!text.startsWith(mark) || text.length > MAX_LENGTH || text[end] !== '_') return undefined;
  const digits = text.slice(mark.length, end);
  return BASE62.test(digits) && checksumOf(text.slice(0, end)) === text.slice(end + 1) ? digits : undefined;
}
