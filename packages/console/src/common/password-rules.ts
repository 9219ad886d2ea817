// Checks a password while it is typed, by the rules that the service publishes. The service decides.
// It must not send the password anywhere.
import type { PasswordRule } from '@castellan/sdk';

/**
 * - `met` and `open`: checked here.
 * - `broken`: the service refused this very password because of the rule.
 * - `later`: only the service can check the rule.
 */
export type RuleState = 'met' | 'open' | 'broken' | 'later';

/** Returns the state of a rule. `refused` holds the sentences with which the service refused this very password. */
export function stateOf(rule: PasswordRule, password: string, refused: readonly string[] = []): RuleState {
  if (refused.includes(rule.message)) return 'broken';
  // The service hashes every kind of space as a plain one.
  const isMet = checkHere(rule, password.replace(/\p{Zs}/gu, ' ').normalize('NFC'));
  if (isMet === undefined) return 'later';
  return isMet && password !== '' ? 'met' : 'open';
}

/** Returns undefined for a rule that cannot be checked without the service. */
function checkHere({ code, parameters }: PasswordRule, password: string): boolean | undefined {
  const characters = Array.from(password);
  const { min_length: min, max_length: max, pattern, run_length: run } = parameters;
  if (min !== undefined) return characters.length >= min;
  if (max !== undefined) return characters.length <= max;
  if (pattern !== undefined) return matches(pattern, password);
  if (run === undefined) return undefined;
  if (code === 'repeated_run') return longestRun(characters, (one, next) => (one === next ? 1 : 0)) < run;
  return longestRun(Array.from(password.toLowerCase()), stepBetween) < run;
}

/** Returns undefined if this browser does not know the pattern. */
function matches(pattern: string, password: string): boolean | undefined {
  try {
    return new RegExp(pattern, 'u').test(password);
  } catch {
    return undefined;
  }
}

/** Returns 1 or -1 for neighbours such as `ab` and `21`, 0 for others. */
function stepBetween(one: string, next: string): number {
  const distance = (next.codePointAt(0) ?? 0) - (one.codePointAt(0) ?? 0);
  return /^([a-z]{2}|[0-9]{2})$/.test(one + next) && Math.abs(distance) === 1 ? distance : 0;
}

/** Returns the number of characters in the longest run in which all steps are the same and not 0. */
function longestRun(characters: readonly string[], step: (one: string, next: string) => number): number {
  let longest = Math.min(1, characters.length);
  let length = 1;
  let last = 0;
  characters.slice(1).forEach((next, index) => {
    const current = step(characters[index] ?? '', next);
    if (current === 0) length = 1;
    else length = current === last ? length + 1 : 2;
    last = current;
    longest = Math.max(longest, length);
  });
  return longest;
}
