// Other spellings of an email address, and a simple rule that decides which of them name it.
// It must not use the service's rule: this one is written a second time on purpose.
import { domainToASCII, domainToUnicode } from 'node:url';
import fc, { type Arbitrary } from 'fast-check';

const upper = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const printable = /^[!-~]+$/;

/**
 * Returns the email that this text names: trimmed, with A to Z in lower case, and a domain with other letters in its ASCII
 * form. Returns null for a text with control characters, and for other letters that do not come back from that form.
 */
export function plainly(text: string): string | null {
  if (/\p{Cc}/u.test(text)) return null;
  const bare = text.trim();
  const small = [...bare].map((one) => (upper.includes(one) ? one.toLowerCase() : one)).join('');
  if (printable.test(bare)) return small;
  const [local = '', domain = '', ...more] = small.split('@');
  if (more.length > 0 || !printable.test(local)) return null;
  const labels = domain.split('.').map(plainLabel);
  return labels.includes(null) ? null : `${local}@${labels.join('.')}`;
}

function plainLabel(label: string): string | null {
  if (printable.test(label)) return label;
  const whole = label.normalize('NFC');
  if (whole !== label && whole.normalize('NFD') !== label) return null;
  if (!/^[\p{L}\p{M}\p{N}-]+$/u.test(whole) || /^-|-$|^..--/u.test(whole)) return null;
  const letters = [...whole].map((one) =>
    one.toLowerCase().toUpperCase() === one ? one.toLowerCase() : one,
  );
  const mapped = domainToASCII(whole);
  return mapped.startsWith('xn--') && domainToUnicode(mapped) === letters.join('') ? mapped : null;
}

// Each looks like, folds to, or decomposes to its letter in some system.
const lookAlikes: Readonly<Record<string, readonly string[]>> = {
  a: ['\u0430', '\uff41', '\u00e0', 'a\u0300', '\u1d43', '\u{1d41a}'],
  d: ['\uff44', '\u217e'],
  e: ['\u0435', '\u212f', '\u00e9', 'e\u0301'],
  i: ['\u0131', '\u0130', 'i\u0307', '\u0456', '\u2170', '\uff49'],
  k: ['\u212a', '\u043a', '\uff4b'],
  l: ['\u217c', '\uff4c', '1'],
  m: ['\uff4d', '\u217f'],
  o: ['\u043e', '\u03bf', '0', '\uff4f'],
  s: ['\u017f', '\u0455', '\uff53', '\u00df'],
  x: ['\u0445', '\u2179'],
  '.': ['\uff0e', '\u3002', '\uff61', '\u2024', '..'],
  '@': ['\uff20', '\ufe6b', '@@', '%40', ' @ '],
  '-': ['\u2010', '\u2212', '\uff0d'],
};

/** Returns known tricky spellings of a canonical email. */
export function knownSpellings(address: string): string[] {
  const [local = '', domain = ''] = address.split('@');
  const replaced = Object.entries(lookAlikes).flatMap(([letter, others]) =>
    others.flatMap((other) =>
      address.includes(letter) ? [address.replace(letter, other), address.replaceAll(letter, other)] : [],
    ),
  );
  return [
    address,
    address.toUpperCase(),
    ` ${address} `,
    `\u3000${address}\ufeff`,
    `${local.toUpperCase()}@${domain}`,
    ...replaced,
    ...['+tag', '+', '.', '"', '\u200b', '\u00ad', '\0', '%00', '/', '\\'].map(
      (more) => `${local}${more}@${domain}`,
    ),
    ...['.', '..', '\0', '\u200b', ':25', '/', '#', '%00', '.evil.example'].map(
      (more) => `${address}${more}`,
    ),
    `"${local}"@${domain}`,
    `${local}(comment)@${domain}`,
    `(comment)${address}`,
    `<${address}>`,
    `Ada <${address}>`,
    `mailto:${address}`,
    `${local}@[127.0.0.1]`,
    `${address},eve@evil.example`,
    `${address};eve@evil.example`,
    `eve@evil.example,${address}`,
    `${address}@evil.example`,
    `eve@evil.example@${domain}`,
    `${local}%${domain}@evil.example`,
    `${domain}!${local}@evil.example`,
    `${address}\r\nBcc: eve@evil.example`,
    `${address}\nTo: eve@evil.example\n\n`,
    `${address}%0d%0aBcc:eve@evil.example`,
    `${local}\r\n@${domain}`,
    `=?utf-8?q?${local}?=@${domain}`,
    `xn--${local}-abc@${domain}`,
    // exämple.com, and a look-alike of apple.com.
    `${local}@xn--exmple-cua.com`,
    `${local}@xn--80ak6aa92e.com`,
    `${'a'.repeat(64)}@${domain}`,
    `${'a'.repeat(65)}@${domain}`,
    `a@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(58)}.fg`,
    `a@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.${'e'.repeat(60)}.fg`,
    `${' '.repeat(200)}${address}`,
    '@',
    `@${domain}`,
    `${local}@`,
    '',
    '%',
    '%@%',
    "' or 1=1 --@example.com",
  ];
}

/** Returns the email with one or two changes; about a third of the results still name it. */
export const spellingOf = (address: string): Arbitrary<string> => {
  const place = fc.nat(address.length);
  const letter = fc.constantFrom(
    ...Object.values(lookAlikes).flat(),
    '\u200b',
    '\u0301',
    '\0',
    '\t',
    '\r\n',
    '"',
    '\ud800',
  );
  const change = fc.oneof(
    fc
      .nat(2 ** 20)
      .map(
        (bits) => (text: string) =>
          [...text].map((one, index) => ((bits >> (index % 20)) & 1 ? one.toUpperCase() : one)).join(''),
      ),
    fc
      .constantFrom(' ', '\t', '\n', '\u00a0', '\u3000', '')
      .map((space) => (text: string) => `${space}${text}${space}`),
    fc.tuple(place, letter).map(
      ([at, one]) =>
        (text: string) =>
          `${text.slice(0, at)}${one}${text.slice(at)}`,
    ),
    fc.tuple(place, letter).map(
      ([at, one]) =>
        (text: string) =>
          `${text.slice(0, at)}${one}${text.slice(at + 1)}`,
    ),
    fc.constantFrom('NFC', 'NFD', 'NFKC', 'NFKD').map((form) => (text: string) => text.normalize(form)),
  );
  return fc
    .array(change, { minLength: 1, maxLength: 2 })
    .map((changes) => changes.reduce((text, one) => one(text), address));
};
