// Recovery codes: 16 characters of Crockford's base32. The first three find a stored code, the other 13 are its secret.
// It must not hash or store codes: its callers do.
import { randomInt } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'; // without I, L, O and U
const SELECTOR_LENGTH = 3; // 15 bits
const LENGTH = 16; // leaves 65 secret bits: no limit of attempts is needed from 64 on (NIST SP 800-63B-4, 3.1.2.2)
const canonicalCode = new RegExp(`^[${alphabet}]{${LENGTH}}$`);

export type RecoveryCode = {
  /** Not a secret. */
  selector: string;
  /** The whole code as people see it, such as `7K3Q-0W9D-X2MB-R5TZ`: a secret. */
  text: string;
};

export function newRecoveryCode(): RecoveryCode {
  const canonical = Array.from({ length: LENGTH }, () => alphabet.charAt(randomInt(alphabet.length))).join(
    '',
  );
  return {
    selector: canonical.slice(0, SELECTOR_LENGTH),
    text: canonical.replaceAll(/.{4}(?!$)/g, '$&-'),
  };
}

/** Returns codes of which no two have the same selector. */
export function newRecoveryCodes(count: number): RecoveryCode[] {
  const codes = new Map<string, RecoveryCode>();
  while (codes.size < count) {
    const code = newRecoveryCode();
    codes.set(code.selector, code);
  }
  return [...codes.values()];
}

/**
 * Returns the 16 upper-case characters, which are what is hashed, and the first three of them. Case, blanks and hyphens do
 * not matter; O counts as 0, I and L as 1. Null for anything else.
 */
export function readRecoveryCode(input: string): { selector: string; canonical: string } | null {
  const canonical = input
    .replaceAll(/[\s-]/g, '')
    .replaceAll(/[a-z]/g, (letter) => letter.toUpperCase())
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1');
  if (!canonicalCode.test(canonical)) return null;
  return { selector: canonical.slice(0, SELECTOR_LENGTH), canonical };
}
