// English texts that the app and the pages of people who are not signed in share.
import type { PasswordRule } from '@castellan/sdk';

const items: Readonly<Record<string, (parameters: PasswordRule['parameters']) => string>> = {
  too_short: ({ min_length: length }) => `${length} characters or more`,
  too_long: ({ max_length: length }) => `at most ${length} characters`,
  missing_uppercase: () => 'an upper-case letter',
  missing_lowercase: () => 'a lower-case letter',
  missing_digit: () => 'a digit',
  missing_special: () => 'a special character, such as ! # or ?',
  too_common: () => 'no well-known password',
  common: () => 'more than a word of this service',
  breached: () => 'in no collection of leaked passwords',
  sequential_run: () => 'no sequence such as abc or 321',
  repeated_run: () => 'no character three times in a row',
  too_weak: () => 'hard to guess',
  reused: () => 'not used here before',
};

export const passwordTexts = {
  rules: 'The password',
  met: 'met',
  open: 'not met yet',
  broken: 'not met',
  later: 'checked when you send it',
  show: 'Show the password',
  hide: 'Hide the password',
  /** In the list that is shown while one types. */
  item: (rule: PasswordRule): string => items[rule.code]?.(rule.parameters) ?? rule.message,
  /** What the service says of a password that breaks the rule. */
  rule: (rule: PasswordRule): string => rule.message,
};
