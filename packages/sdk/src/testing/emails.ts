// Emails of the stand-in: one account in every spelling of an internationalized domain, shown with its letters, as the service
// does in packages/server/src/platform/domain-names.ts. It must need nothing that only Node.js has, nor refuse an email.

// The rules of the service, letter by letter: a test compares both.
const internationalLabel = /^[\p{L}\p{M}\p{N}\-\u00b7\u30fb\u200c\u200d]+$/u;
const beyondAscii = /\P{ASCII}/u;
const latin = /\p{Script=Latin}/u;
const lookAlike =
  /[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u;
const latinInCyrillic = /^(?=.*[^\d-])[асԁеһіјӏорԛѕԝхуъьҽпгѵѡ\d-]+$/u;

const PREFIX = 'xn--';

/** Returns the email by which an account is found: trimmed, in lower case, the domain in ASCII if the service would take it. */
export function canonicalEmail(typed: string): string {
  const [local, domain] = partsOf(typed.trim());
  return (local + (asciiDomain(domain) ?? domain)).toLowerCase();
}

/** Returns a canonical email as the service shows it. */
export function shownEmail(email: string): string {
  const [local, domain] = partsOf(email);
  return local + shownDomain(domain);
}

/** Splits after the `@`. Without one, all of the text is the domain. */
function partsOf(email: string): [local: string, domain: string] {
  const at = email.indexOf('@') + 1;
  return [email.slice(0, at), email.slice(at)];
}

function shownDomain(domain: string): string {
  if (!domain.includes(PREFIX)) return domain;
  const letters = domain
    .split('.')
    .map((label) => lettersOf(label) ?? label)
    .join('.');
  return asciiDomain(letters) === domain && !looksLikeAnother(letters) ? letters : domain;
}

function asciiDomain(domain: string): string | null {
  const labels = domain.split('.').map((label) => (beyondAscii.test(label) ? asciiLabel(label) : label));
  return labels.includes(null) ? null : labels.join('.');
}

function asciiLabel(label: string): string | null {
  const composed = label.normalize('NFC');
  if (label !== composed && label !== composed.normalize('NFD')) return null;
  const lower = reversiblyLower(composed);
  if (lower === null || !internationalLabel.test(lower)) return null;
  if (lower.startsWith('-') || lower.endsWith('-') || lower.slice(2, 4) === '--') return null;
  // A parser of URLs maps a host as the service does.
  const mapped = URL.canParse(`ws://${lower}`) ? new URL(`ws://${lower}`).hostname : '';
  return lettersOf(mapped) === lower ? mapped : null;
}

function reversiblyLower(text: string): string | null {
  let lower = '';
  for (const one of text) {
    const small = one.toLowerCase();
    if (small !== one && small.toUpperCase() !== one) return null;
    lower += small;
  }
  return lower;
}

function looksLikeAnother(domain: string): boolean {
  const labels = domain.split('.');
  const isLatinAtTop = latin.test(labels.at(-1) ?? '');
  return labels.some(
    (label) => (latin.test(label) && lookAlike.test(label)) || (isLatinAtTop && latinInCyrillic.test(label)),
  );
}

/** Returns what a label in ASCII stands for; null unless it is valid Punycode (RFC 3492, section 6.2, with its names). */
function lettersOf(label: string): string | null {
  if (!label.startsWith(PREFIX)) return null;
  const code = label.slice(PREFIX.length);
  const delimiter = Math.max(code.lastIndexOf('-'), 0);
  const output = [...code.slice(0, delimiter)];
  let at = delimiter > 0 ? delimiter + 1 : 0;
  let n = 128;
  let i = 0;
  let bias = 72;
  while (at < code.length) {
    const oldi = i;
    for (let w = 1, k = 36; ; k += 36) {
      // Letters are 0 to 25, digits 26 to 35; parseInt has the digits first.
      const digit = (Number.parseInt(code[at] ?? '', 36) + 26) % 36;
      at += 1;
      i += digit * w;
      if (Number.isNaN(digit) || i > 0x7fffffff) return null;
      const t = Math.min(Math.max(k - bias, 1), 26);
      if (digit < t) break;
      w *= 36 - t;
    }
    const length = output.length + 1;
    bias = adapted(i - oldi, length, oldi === 0);
    n += Math.floor(i / length);
    i %= length;
    if (n > 0x10ffff) return null;
    output.splice(i, 0, String.fromCodePoint(n));
    i += 1;
  }
  return output.join('');
}

function adapted(distance: number, length: number, isFirst: boolean): number {
  let delta = Math.floor(distance / (isFirst ? 700 : 2));
  delta += Math.floor(delta / length);
  let k = 0;
  for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
  return k + Math.floor((36 * delta) / (delta + 38));
}
