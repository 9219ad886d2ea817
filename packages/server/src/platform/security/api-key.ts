// The format of API keys, `castellan_<12 characters that name it>_<43 of secret>_<6 of checksum>`, and of personal access tokens,
// which begin with `castellan_pat_` instead. Everything else is in base62.
// It must not decide whether one is live: the database does.
import { createHash } from 'node:crypto';
import { CHECKSUM_LENGTH, checksumOf, createSecretText, randomText, SECRET_LENGTH } from './secret-text.ts';

const KEY_MARK = 'castellan_';
const TOKEN_MARK = 'castellan_pat_';
const NAME_LENGTH = 12;

const formatOf = (mark: string): RegExp =>
  new RegExp(
    `^(${mark}[0-9A-Za-z]{${NAME_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH}}_[0-9A-Za-z]{${CHECKSUM_LENGTH}}$`,
  );
const keyFormat = formatOf(KEY_MARK);
const tokenFormat = formatOf(TOKEN_MARK);

export type NewSecret = {
  /** The whole key or token: a secret. */
  text: string;
  /** What it begins with, and the 12 characters that name it. Not a secret. */
  prefix: string;
  /** SHA-256 of `text`. */
  hash: Buffer;
};

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

function create(mark: string): NewSecret {
  const prefix = `${mark}${randomText(NAME_LENGTH)}`;
  const text = createSecretText(`${prefix}_`);
  return { text, prefix, hash: sha256(text) };
}

function hashOf(format: RegExp, text: string): Buffer | undefined {
  if (!format.test(text)) return undefined;
  const end = text.length - CHECKSUM_LENGTH - 1;
  return checksumOf(text.slice(0, end)) === text.slice(end + 1) ? sha256(text) : undefined;
}

export const createApiKey = (): NewSecret => create(KEY_MARK);
export const createPersonalToken = (): NewSecret => create(TOKEN_MARK);

/** Returns whether the text claims to be an API key, well-formed or not. */
export const looksLikeApiKey = (text: string): boolean =>
  text.startsWith(KEY_MARK) && !looksLikePersonalToken(text);

/** Returns whether the text claims to be a personal access token, well-formed or not. */
export const looksLikePersonalToken = (text: string): boolean => text.startsWith(TOKEN_MARK);

/** Returns the hash by which the key is stored; undefined if its form or its checksum is wrong. */
export const apiKeyHash = (text: string): Buffer | undefined => hashOf(keyFormat, text);

/** As `apiKeyHash`, for a personal access token. */
export const personalTokenHash = (text: string): Buffer | undefined => hashOf(tokenFormat, text);
