// The format of API keys: `castellan_<12 characters that name it>_<43 of secret>_<6 of checksum>`, all in base62.
// It must not decide whether a key is live: the database does.
import { createHash } from 'node:crypto';
import { CHECKSUM_LENGTH, checksumOf, createSecretText, randomText, SECRET_LENGTH } from './secret-text.ts';

const MARK = 'castellan_';
const NAME_LENGTH = 12;
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

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();

export function createApiKey(): NewApiKey {
  const prefix = `${MARK}${randomText(NAME_LENGTH)}`;
  const text = createSecretText(`${prefix}_`);
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
