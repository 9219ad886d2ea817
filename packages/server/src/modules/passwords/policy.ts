// The rules a new password must keep, the same on every path that sets one; pure, in time bounded by a constant.
// Must not compute the strength score (see strength.ts), read settings, or put any part of the password in a message.

import { dictionary } from '@zxcvbn-ts/language-common';

// spec: Limits, password length. In Unicode code points after NFC.
export const maxPasswordLength = 128;

// In UTF-16 units. A code point takes up to 2 of them and decomposes canonically into up to 4 code points
// (UAX #15, table of expansion factors), so that whatever is longer than this has over 128 code points after NFC.
const maxReadLength = maxPasswordLength * 4 * 2;

// 49,233 leaked passwords, lower-case ASCII, most frequent first.
const commonPasswords: ReadonlySet<string> = new Set(dictionary['passwords-common']);
const longestCommon = dictionary['passwords-common'].reduce((most, entry) => Math.max(most, entry.length), 0);

export type PasswordRuleCode =
  | 'too_short'
  | 'too_long'
  | 'missing_uppercase'
  | 'missing_lowercase'
  | 'missing_digit'
  | 'missing_special'
  | 'too_common'
  | 'sequential_run'
  | 'repeated_run'
  | 'too_weak';

export interface BrokenRule {
  code: PasswordRuleCode;
  message: string;
}

export interface PasswordDemands {
  /** PASSWORD_MIN_LENGTH, in Unicode code points after NFC. */
  minLength: number;
  /** PASSWORD_MIN_STRENGTH, 0 to 4. */
  minStrength: number;
  /** The password's score, 0 to 4, from the strength meter. */
  score: number;
}

/**
 * Every rule that the password breaks, in a fixed order; empty when it may be used. Never throws.
 * Of a password over 1,024 UTF-16 units (always `too_long`) the rules judge the first 1,024.
 */
export function brokenRules(password: string, demands: PasswordDemands): BrokenRule[] {
  const text = password.slice(0, maxReadLength).normalize('NFC');
  const characters = Array.from(text);
  const folded = Array.from(text.toLowerCase());
  const isTooLong = password.length > maxReadLength || characters.length > maxPasswordLength;

  const verdicts: [broken: boolean, code: PasswordRuleCode, message: string][] = [
    [characters.length < demands.minLength, 'too_short', `Use at least ${demands.minLength} characters.`],
    [isTooLong, 'too_long', `Use at most ${maxPasswordLength} characters.`],
    [!/\p{Lu}/u.test(text), 'missing_uppercase', 'Add an upper-case letter.'],
    [!/\p{Ll}/u.test(text), 'missing_lowercase', 'Add a lower-case letter.'],
    [!/\p{Nd}/u.test(text), 'missing_digit', 'Add a digit.'],
    [!hasSpecial(text), 'missing_special', 'Add a special character, such as ! # or ?.'],
    [
      isCommon(folded),
      'too_common',
      'Choose a less common password: this is a well-known one, or a well-known one with digits or symbols at its end.',
    ],
    [
      hasSequentialRun(folded),
      'sequential_run',
      'Avoid three or more letters or digits in sequence, such as abc or 321.',
    ],
    [hasRepeatedRun(characters), 'repeated_run', 'Avoid the same character three or more times in a row.'],
    [
      !(demands.score >= demands.minStrength),
      'too_weak',
      'Make the password harder to guess: add unrelated words, and leave out your name and e-mail address.',
    ],
  ];
  return verdicts.filter(([broken]) => broken).map(([, code, message]) => ({ code, message }));
}

// Printable and no letter, digit or space: punctuation, symbols (emoji too), and numbers that are no digits.
// Combining marks belong to their letter, controls and unassigned code points are not printable.
function hasSpecial(text: string): boolean {
  return /[\p{P}\p{S}\p{Nl}\p{No}]/u.test(text);
}

/**
 * Whether it is on the list, whole or with any part of its trailing digits and symbols taken off ("trustno1!" by
 * "trustno1", "password2031!" by "password"). What is taken off ends at the last letter; without a letter
 * only symbols are taken off, so that not every number that begins like a listed one counts as common.
 */
function isCommon(folded: readonly string[]): boolean {
  const lastOf = (pattern: RegExp) => folded.findLastIndex((character) => pattern.test(character));
  const lastLetter = lastOf(/[\p{L}\p{M}]/u);
  const shortest = Math.max(1, (lastLetter >= 0 ? lastLetter : lastOf(/\p{Nd}/u)) + 1);
  for (let end = Math.min(folded.length, longestCommon); end >= shortest; end -= 1) {
    if (commonPasswords.has(folded.slice(0, end).join(''))) return true;
  }
  return false;
}

/** Three or more of a to z, or of 0 to 9, each next to the one before in the same direction; z and a do not meet. */
function hasSequentialRun(folded: readonly string[]): boolean {
  let steps = 0;
  for (let i = 1; i < folded.length; i += 1) {
    const step = stepBetween(folded[i - 1]!, folded[i]!);
    if (step === 0) steps = 0;
    else steps = Math.sign(steps) === step ? steps + step : step;
    if (Math.abs(steps) === 2) return true;
  }
  return false;
}

function stepBetween(one: string, next: string): -1 | 0 | 1 {
  const sameKind = /^([a-z]{2}|[0-9]{2})$/.test(one + next);
  const distance = next.codePointAt(0)! - one.codePointAt(0)!;
  return sameKind && (distance === 1 || distance === -1) ? distance : 0;
}

function hasRepeatedRun(characters: readonly string[]): boolean {
  return characters.some(
    (character, i) => character === characters[i + 1] && character === characters[i + 2],
  );
}
