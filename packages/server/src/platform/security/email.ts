// Converts an email that a person typed into the canonical form that is stored, looked up, counted and locked.
// It must not apply Unicode case folding or normalization that cannot be reversed: two emails could become equal.
import { asciiDomain, shownDomain } from '../domain-names.ts';
import { AppError } from '../errors.ts';

const MAX_LOCAL_LENGTH = 64; // RFC 5321, 4.5.3.1.1
const MAX_ADDRESS_LENGTH = 254; // RFC 5321, 4.5.3.1.3, less the two angle brackets of the path
const maxInputLength = 2 * MAX_ADDRESS_LENGTH; // room for surrounding white space; limits the work

const localPattern = /^[a-z\d!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z\d!#$%&'*+/=?^_`{|}~-]+)*$/i; // RFC 5322 dot-atom
const labelPattern = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i; // RFC 1123; 63 octets
const topLevelPattern = /^[a-z]/i; // every real one begins with a letter; an IPv4 address does not

// C0, DEL and C1 control characters, and the two characters that open and close a tag.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
const controlOrMarkup = /[\u0000-\u001f\u007f-\u009f<>]/;

/**
 * Whether the text contains a control character (including NUL, tab and line breaks), `<`, `>` or ill-formed Unicode (a
 * lone surrogate), at any position.
 *
 * Such a text comes from an attack or a broken client. Everything else that canonicalEmail refuses (no `@`, an IP
 * literal, quotes, non-ASCII letters, too long) is just not an email address.
 */
export function hasMarkupOrControl(text: string): boolean {
  return controlOrMarkup.test(text) || !text.isWellFormed();
}

function isDomain(domain: string): boolean {
  const labels = domain.split('.');
  return (
    labels.length >= 2 &&
    labels.every((label) => labelPattern.test(label)) &&
    topLevelPattern.test(labels.at(-1) ?? '')
  );
}

/**
 * Returns the trimmed, lower-case email; null when the text is none. Accepts a strict subset of RFC 5321: ASCII
 * dot-atom, `@`, host name with at least one dot; no quotes, comments, lists or IP literals; at most 64 characters
 * before the `@` and 254 in all. An internationalized domain is mapped to its ASCII form (`xn--…`), which is what counts
 * everywhere. Idempotent. The work is limited for any length.
 */
export function canonicalEmail(input: string): string | null {
  if (input.length > maxInputLength || hasMarkupOrControl(input)) return null;
  const typed = input.trim();
  const at = typed.indexOf('@');
  if (at < 1 || at > MAX_LOCAL_LENGTH || !localPattern.test(typed.slice(0, at))) return null;
  const domain = asciiDomain(typed.slice(at + 1));
  if (domain === null || !isDomain(domain)) return null;
  const address = `${typed.slice(0, at)}@${domain}`;
  if (address.length > MAX_ADDRESS_LENGTH) return null;
  return address.toLowerCase(); // only ASCII at this point, so it changes only A-Z
}

/** Returns the form that a domain of an email has in its canonical form; null when the text is none. */
export const canonicalDomain = (input: string): string | null =>
  canonicalEmail(`a@${input.trim()}`)?.slice(2) ?? null;

/** Returns a canonical email as people read it: see `shownDomain`. */
export function shownEmail(email: string): string {
  if (!email.includes('xn--') || canonicalEmail(email) !== email) return email;
  const at = email.indexOf('@') + 1;
  return email.slice(0, at) + shownDomain(email.slice(at));
}

/**
 * Returns the canonical form. Throws `invalid_email` (400), which names `field`, when the input is no email address.
 */
export function requireEmail(input: string, field = 'email'): string {
  const email = canonicalEmail(input);
  if (email !== null) return email;
  const message = 'must be an email address such as ada@example.com';
  throw new AppError('invalid_email', { errors: [{ field, code: 'invalid_email', message }] });
}
