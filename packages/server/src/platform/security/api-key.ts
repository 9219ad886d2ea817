// The format of API keys: `castellan_<12 characters that name it>_<43 of secret>_<6 of checksum>`, all in base62.
// It must not decide whether a key is live: the database does.
import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const MARK = 'castellan_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const NAME_LENGTH = 12;
const SECRET_LENGTH = 43; // 256 bits
const CHECKSUM_LENGTH = 6; // 32 bits
const format = new RegExp(
  `^(${MARK}[0-9A-Za-z]{${NAME_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH}}_[0-9A-Za-z]{${CHECKSUM_LENGTH}}$`,
);

export type NewApiKey = {
  /** The whole key: a secret. */
  text: string;
  /** `castellan_` and the 12 characters that name the key. Not a secret. */
  prefix: string;
  /** SHA-256 of `text`. */
  hash: Buffer;
};

/** Returns `length` random characters. Every character is equally likely. */
function randomText(length: number): string {
  let text = '';
  while (text.length < length)
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 in a byte: larger values would make some characters likelier.
      if (byte < 248 && text.length < length) text += alphabet[byte % 62];
    }
  return text;
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let position = 0; position < CHECKSUM_LENGTH; position += 1) {
    digits = `${alphabet[rest % 62]}${digits}`;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();

export function createApiKey(): NewApiKey {
  const prefix = `${MARK}${randomText(NAME_LENGTH)}`;
  const unchecked = `${prefix}_${randomText(SECRET_LENGTH)}`;
  const text = `${unchecked}_${checksumOf(unchecked)}`;
  return { text, prefix, hash: hashOf(text) };
}

/** Returns whether the text claims to be an API key, well-formed or not. */
export const looksLikeApiKey = (text: string): boolean => text.startsWith(MARK);

/** Returns the hash by which the key is stored; undefined if its form or its checksum is wrong. */
export function apiKeyHash(text: string): Buffer | undefined {
  if (!format.test(text)) return undefined;
  const end = text.length - CHECKSUM_LENGTH - 1;
  return checksumOf(text.slice(0, end)) === text.slice(end + 1) ? hashOf(text) : undefined;
}
