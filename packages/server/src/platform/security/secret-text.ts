// Makes the texts of secrets that secret scanners recognize: a mark, random base62, and a checksum over both.
// It must not store or compare a secret.
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
export const SECRET_LENGTH = 43; // 256 bits
export const CHECKSUM_LENGTH = 6; // 32 bits

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
