// Internationalized domain names: their ASCII form (`xn--…`), and their letters where these lead back to it and to nothing else.
// It must not map a letter to another one that people could mean: two domains would become equal.
import { domainToASCII, domainToUnicode } from 'node:url';

// Letters, marks and digits of any script, the middle dots of Catalan and Japanese, and the joiners that Persian and the
// scripts of India need, as in IDNA2008. Node checks where the last four may stand (RFC 5892, appendix A).
const internationalLabel = /^[\p{L}\p{M}\p{N}\-\u00b7\u30fb\u200c\u200d]+$/u;
const beyondAscii = /\P{ASCII}/u;

/** Returns the text in lower case; null if a letter is not the upper case of exactly one letter, such as the Kelvin sign. */
function reversiblyLower(text: string): string | null {
  let lower = '';
  for (const one of text) {
    const small = one.toLowerCase();
    if (small !== one && small.toUpperCase() !== one) return null;
    lower += small;
  }
  return lower;
}

/**
 * Returns the ASCII form (RFC 5891) of a label with other letters; null unless exactly these letters come back from it.
 * macOS decomposes letters with accents, so both normal forms of them are taken.
 */
function asciiLabel(label: string): string | null {
  const composed = label.normalize('NFC');
  if (label !== composed && label !== composed.normalize('NFD')) return null;
  const lower = reversiblyLower(composed);
  if (lower === null || !internationalLabel.test(lower)) return null;
  // Hyphens that no label may have, although the ASCII form could.
  if (lower.startsWith('-') || lower.endsWith('-') || lower.slice(2, 4) === '--') return null;
  const mapped = domainToASCII(lower);
  return mapped.startsWith('xn--') && domainToUnicode(mapped) === lower ? mapped : null;
}

/** Returns the domain with its international labels in their ASCII form; null if one has none. */
export function asciiDomain(domain: string): string | null {
  if (!beyondAscii.test(domain)) return domain;
  const labels = domain.split('.').map((label) => (beyondAscii.test(label) ? asciiLabel(label) : label));
  return labels.includes(null) ? null : labels.join('.');
}

// Scripts that share no look-alikes with Latin, and that Japanese, Korean and Chinese domains mix with it.
const latin = /\p{Script=Latin}/u;
const lookAlike =
  /[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u;
// Cyrillic letters that look like Latin ones: the list by which Chromium decides the same.
const latinInCyrillic = /^(?=.*[^\d-])[асԁеһіјӏорԛѕԝхуъьҽпгѵѡ\d-]+$/u;

/** Whether a domain could be read as another one: a label mixes scripts that look alike, or imitates Latin letters. */
function looksLikeAnother(domain: string): boolean {
  const labels = domain.split('.');
  const isLatinAtTop = latin.test(labels.at(-1) ?? '');
  return labels.some(
    (label) => (latin.test(label) && lookAlike.test(label)) || (isLatinAtTop && latinInCyrillic.test(label)),
  );
}

/**
 * Returns a domain in ASCII as people read it: with its letters. It stays in ASCII if these would not lead back to it, or if it
 * could be read as another one.
 */
export function shownDomain(domain: string): string {
  const decoded = domainToUnicode(domain);
  return asciiDomain(decoded) === domain && !looksLikeAnother(decoded) ? decoded : domain;
}
