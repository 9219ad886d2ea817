// The rules for a new password, the same for every operation that sets one. They run in bounded time.
// They must not compute the strength score (see strength.ts), read settings, or put the password in a message.

import { createRequire } from 'node:module';
import type { PasswordPolicyName, PasswordRule, PasswordRuleCode } from '@castellan/contract/auth';
import { withPlainSpaces } from '../../platform/security/password-hashes/scheme.ts';
import { type BannedWords, isOnlyBannedWords } from './banned-words.ts';

// spec: Limits, password length. In Unicode code points after NFC.
const MAX_PASSWORD_LENGTH = 128;

// In UTF-16 units. A code point has up to 2 units and decomposes canonically into up to 4 code points (UAX #15, table
// of expansion factors), so a longer text has more than 128 code points after NFC.
const maxReadLength = MAX_PASSWORD_LENGTH * 4 * 2;

type Common = { passwords: ReadonlySet<string>; longest: number };
let common: Common | undefined;

/**
 * Returns 49,233 leaked passwords in lower-case ASCII. They are read at their first use, which takes about 30 ms: many processes
 * never need them, and they take several MiB.
 */
function commonPasswords(): Common {
  if (common === undefined) {
    const load = createRequire(import.meta.url);
    const { dictionary }: typeof import('@zxcvbn-ts/language-common') = load('@zxcvbn-ts/language-common');
    const list = dictionary['passwords-common'];
    const longest = list.reduce((most, entry) => Math.max(most, entry.length), 0);
    common = { passwords: new Set(list), longest };
  }
  return common;
}

// A run of this many letters, digits or equal characters is refused.
const RUN_LENGTH = 3;

const upperCase = /\p{Lu}/u;
const lowerCase = /\p{Ll}/u;
const digit = /\p{Nd}/u;
// Special characters are punctuation, symbols including emoji, and numbers that are not digits.
// Combining marks belong to their letter. Control characters and unassigned code points are not printable.
const special = /[\p{P}\p{S}\p{Nl}\p{No}]/u;

export type BrokenRule = Pick<PasswordRule, 'code' | 'message'>;

export type PolicyLimits = {
  /** PASSWORD_POLICY: `nist` has no rules about kinds of characters and runs. */
  policy: PasswordPolicyName;
  /** PASSWORD_BANNED_WORDS. */
  bannedWords: BannedWords;
  /** Whether PASSWORD_BREACH_FILE is set. */
  hasBreachFile: boolean;
  /** PASSWORD_MIN_LENGTH, in Unicode code points after NFC. */
  minLength: number;
  /** PASSWORD_MIN_STRENGTH, 0 to 4. */
  minStrength: number;
};

export type PasswordDemands = PolicyLimits & {
  /** The password's score, 0 to 4, from the strength meter. */
  score: number;
  /** Whether the breach file has the password. */
  isBreached: boolean;
};

/** A password in NFC, of which at most `maxReadLength` units are read. */
type Examined = {
  text: string;
  characters: readonly string[];
  /** The characters in lower case. */
  folded: readonly string[];
  isTooLong: boolean;
};

/** What others have found out about a password. */
type Findings = Pick<PasswordDemands, 'score' | 'isBreached'>;

type Rule = PasswordRule & { isBroken: (password: Examined, findings: Findings) => boolean };

const missing = (code: PasswordRuleCode, pattern: RegExp, message: string): Rule => ({
  code,
  message,
  parameters: { pattern: pattern.source },
  isBroken: ({ text }) => !pattern.test(text),
});

const longRule: Rule = {
  code: 'too_long',
  message: `Use at most ${MAX_PASSWORD_LENGTH} characters.`,
  parameters: { max_length: MAX_PASSWORD_LENGTH },
  isBroken: ({ isTooLong }) => isTooLong,
};

/** The kinds of characters of which a password needs one each. */
const compositionRules: readonly Rule[] = [
  missing('missing_uppercase', upperCase, 'Add an upper-case letter.'),
  missing('missing_lowercase', lowerCase, 'Add a lower-case letter.'),
  missing('missing_digit', digit, 'Add a digit.'),
  missing('missing_special', special, 'Add a special character, such as ! # or ?.'),
];

const listRule: Rule = {
  code: 'too_common',
  message:
    'Choose a less common password: this one is well known, or a well-known one with digits or symbols at its end.',
  get parameters() {
    return { list_size: commonPasswords().passwords.size };
  },
  isBroken: ({ folded }) => isCommon(folded),
};

const bannedRule = (words: BannedWords): Rule => ({
  code: 'common',
  message:
    'Choose a less common password: this one is a word of this service with digits, symbols or look-alikes of letters.',
  parameters: {},
  isBroken: ({ text }) => isOnlyBannedWords(words, text),
});

const breachRule: Rule = {
  code: 'breached',
  message: 'Choose another password: this one is in a collection of breached passwords.',
  parameters: {},
  isBroken: (_password, { isBreached }) => isBreached,
};

const runRules: readonly Rule[] = [
  {
    code: 'sequential_run',
    message: 'Avoid three or more letters or digits in sequence, such as abc or 321.',
    parameters: { run_length: RUN_LENGTH },
    isBroken: ({ folded }) => hasSequentialRun(folded),
  },
  {
    code: 'repeated_run',
    message: 'Avoid the same character three or more times in a row.',
    parameters: { run_length: RUN_LENGTH },
    isBroken: ({ characters }) => hasRepeatedRun(characters),
  },
];

const shortRule = (minLength: number): Rule => ({
  code: 'too_short',
  message: `Use at least ${minLength} characters.`,
  parameters: { min_length: minLength },
  isBroken: ({ characters }) => characters.length < minLength,
});

const weakRule = (minStrength: number): Rule => ({
  code: 'too_weak',
  message:
    'Make the password harder to guess: add unrelated words, and leave out your name and email address.',
  parameters: { min_strength: minStrength },
  isBroken: (_password, { score }) => !(score >= minStrength),
});

/** The message for a password that its user has had before. The history decides, so the service checks it. */
export const REUSED_MESSAGE = 'Choose a password that you have not used here before.';

/** Every score is at least 0, so a minimum of 0 turns the strength rule off. */
const rulesOf = ({ policy, bannedWords, hasBreachFile, minLength, minStrength }: PolicyLimits): Rule[] => [
  shortRule(minLength),
  longRule,
  ...(policy === 'spec' ? compositionRules : []),
  listRule,
  ...(bannedWords.size > 0 ? [bannedRule(bannedWords)] : []),
  ...(hasBreachFile ? [breachRule] : []),
  ...(policy === 'spec' ? runRules : []),
  ...(minStrength > 0 ? [weakRule(minStrength)] : []),
];

/**
 * Returns every rule in force, in the order in which refusals report them. `historyCount`: PASSWORD_HISTORY_COUNT; the
 * current password can never be used again.
 */
export const passwordRules = (limits: PolicyLimits & { historyCount: number }): PasswordRule[] => [
  ...rulesOf(limits).map(({ code, message, parameters }) => ({ code, message, parameters })),
  { code: 'reused', message: REUSED_MESSAGE, parameters: { history_count: limits.historyCount } },
];

/**
 * Returns every rule that the password breaks, in a fixed order; empty if the password is allowed. Never throws. Of a
 * password with more than 1,024 UTF-16 units, which is always `too_long`, it checks the first 1,024.
 */
export function brokenRules(
  password: string,
  { score, isBreached, ...limits }: PasswordDemands,
): BrokenRule[] {
  const text = withPlainSpaces(password.slice(0, maxReadLength)).normalize('NFC');
  const characters = Array.from(text);
  const examined: Examined = {
    text,
    characters,
    folded: Array.from(text.toLowerCase()),
    isTooLong: password.length > maxReadLength || characters.length > MAX_PASSWORD_LENGTH,
  };
  return rulesOf(limits)
    .filter(({ isBroken }) => isBroken(examined, { score, isBreached }))
    .map(({ code, message }) => ({ code, message }));
}

/**
 * Returns whether the list contains the password, whole or without some of its trailing digits and symbols: "trustno1!"
 * is found as "trustno1", "password2031!" as "password". Removes nothing before the last letter. If there is no letter,
 * removes only symbols, so that a number is not common because it begins with a listed one.
 */
function isCommon(folded: readonly string[]): boolean {
  const lastOf = (pattern: RegExp) => folded.findLastIndex((character) => pattern.test(character));
  const lastLetter = lastOf(/[\p{L}\p{M}]/u);
  const shortest = Math.max(1, (lastLetter >= 0 ? lastLetter : lastOf(/\p{Nd}/u)) + 1);
  const { passwords, longest } = commonPasswords();
  for (let end = Math.min(folded.length, longest); end >= shortest; end -= 1) {
    if (passwords.has(folded.slice(0, end).join(''))) return true;
  }
  return false;
}

/** Returns whether `RUN_LENGTH` letters (a to z) or digits are in sequence, up or down. "za" is not a sequence. */
function hasSequentialRun(folded: readonly string[]): boolean {
  let steps = 0;
  for (let i = 1; i < folded.length; i += 1) {
    const step = stepBetween(folded[i - 1]!, folded[i]!);
    if (step === 0) steps = 0;
    else steps = Math.sign(steps) === step ? steps + step : step;
    if (Math.abs(steps) === RUN_LENGTH - 1) return true;
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
    (character, start) =>
      start + RUN_LENGTH <= characters.length &&
      characters.slice(start, start + RUN_LENGTH).every((other) => other === character),
  );
}
