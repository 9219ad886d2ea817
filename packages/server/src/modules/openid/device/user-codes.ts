// The codes that devices show and people type (RFC 8628, 6.1). It must not decide whether one counts.
import { randomInt } from 'node:crypto';

/** Without vowels, so that no code is a word. 20^8 codes are 34 bits; wrong ones are counted. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const LENGTH = 8;
const CODE = new RegExp(`^[${LETTERS}]{${LENGTH}}$`);

/** Returns a new code, as the database has it. Every letter is equally likely. */
export const createUserCode = (): string =>
  Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');

/** Returns a code as devices show it, such as `BCDF-GHJK`. */
export const shownUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/** Longer texts are not looked at. */
const MAX_LENGTH = 40;

/** Returns the code that a person typed, in any case, with or without the hyphen; undefined for what cannot be one. */
export function userCodeIn(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const code = text.replaceAll(/[\s-]/g, '').toUpperCase();
  return CODE.test(code) ? code : undefined;
}
