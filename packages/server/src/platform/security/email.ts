// Turns what a person typed into the one form of an e-mail address that is stored, looked up, counted and locked.
// It must not apply any Unicode case folding or normalisation: two spellings never become one by accident.

const maxLocalLength = 64; // RFC 5321, 4.5.3.1.1
const maxAddressLength = 254; // RFC 5321, 4.5.3.1.3, less the two angle brackets of the path
const maxInputLength = 2 * maxAddressLength; // room for white space around it, and no more work than that

const localPattern = /^[a-z\d!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z\d!#$%&'*+/=?^_`{|}~-]+)*$/i; // RFC 5322 dot-atom
const labelPattern = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/i; // RFC 1123; 63 octets
const topLevelPattern = /^[a-z]/i; // every real one begins with a letter, and no dotted number does

// C0, DEL and C1 controls, and the two characters that open and close a tag.
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
const controlOrMarkup = /[\u0000-\u001f\u007f-\u009f<>]/;

/**
 * True for a text that fails sanitisation: a control character (NUL, tab and line breaks included), `<` or `>`,
 * or ill-formed Unicode (a lone surrogate), anywhere in it, also at its ends.
 *
 * Such a text is an attack or a broken client. What this function lets pass and canonicalEmail still refuses
 * (no `@`, an IP literal, quotes, letters outside ASCII, too long) is merely no e-mail address.
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
 * The trimmed, lower-case address, or null when the text is none. Accepted is a strict subset of RFC 5321:
 * ASCII dot-atom `@` host name with at least one dot; no quotes, comments, lists or IP literals; 64 characters
 * before the `@`, 254 in all. Idempotent. The work is bounded whatever the length.
 */
export function canonicalEmail(input: string): string | null {
  if (input.length > maxInputLength || hasMarkupOrControl(input)) return null;
  const address = input.trim();
  if (address.length > maxAddressLength) return null;
  const at = address.indexOf('@');
  if (at < 1 || at > maxLocalLength) return null;
  if (!localPattern.test(address.slice(0, at)) || !isDomain(address.slice(at + 1))) return null;
  return address.toLowerCase(); // ASCII only by now, so this maps A-Z and nothing else
}
