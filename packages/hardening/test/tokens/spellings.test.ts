// Other spellings of a real token that a lenient parser would accept. The service accepts only one spelling.
// It must not try other contents: complete headers, claims and signatures are those of the issued token.
import { after } from 'node:test';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { hashOf } from '@castellan/testing/sessions/own-tokens';
import { type Base, encode, sealed, withMembers } from './forge.ts';
import { type Forgery, openForgeryTarget } from './forgery-target.ts';

const scenario = scenariosOf('tokens');
const target = await openForgeryTarget({ after });

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
type Parts = [header: string, payload: string, signature: string];
const partsOf = ({ token }: Base): Parts => token.split('.') as Parts;

/** Returns three forgeries; each changes one part of the token. */
const inEachPart = (name: string, change: (part: string) => string, only?: 'body'): Forgery[] =>
  (['header', 'payload', 'signature'] as const).map((part, index) => ({
    name: `${name} in the ${part}`,
    make: (base) =>
      partsOf(base)
        .map((text, position) => (position === index ? change(text) : text))
        .join('.'),
    ...(only === undefined ? {} : { only }),
  }));

const whole = (rows: [name: string, change: (token: string) => string, only?: 'body'][]): Forgery[] =>
  rows.map(([name, change, only]) => ({
    name,
    make: ({ token }) => change(token),
    ...(only === undefined ? {} : { only }),
  }));

/**
 * Flips a spare bit of the last character, which base64url ignores. Where there is none, appends a character that adds
 * nothing.
 */
function withSpareBits(part: string): string {
  const spare = [0, 0, 4, 2][part.length % 4] as number;
  if (spare === 0) return `${part}A`;
  return part.slice(0, -1) + ALPHABET[ALPHABET.indexOf(part.at(-1) as string) ^ (1 << (spare - 1))];
}

const base64: Forgery[] = [
  ...inEachPart('one =', (part) => `${part}=`),
  ...inEachPart('full padding', (part) => part.padEnd(Math.ceil((part.length + 1) / 4) * 4, '=')),
  ...inEachPart('spare bits', withSpareBits),
  ...inEachPart('a dangling character', (part) => `${part}${'A'.repeat((5 - (part.length % 4)) % 4 || 4)}`),
  ...inEachPart('+ for - or at the end', (part) =>
    part.includes('-') ? part.replaceAll('-', '+') : `${part}+`,
  ),
  ...inEachPart('/ for _ or at the end', (part) =>
    part.includes('_') ? part.replaceAll('_', '/') : `${part}/`,
  ),
  ...inEachPart('turned case', (part) => part.replace(/[a-z]/, (letter) => letter.toUpperCase())),
  ...inEachPart('upper case', (part) => part.toUpperCase()),
  ...inEachPart('hexadecimal', (part) => Buffer.from(part, 'base64url').toString('hex')),
  ...inEachPart('base64 twice', (part) => encode(part)),
  ...inEachPart(
    'an escaped character',
    (part) => `%${part.charCodeAt(0).toString(16)}${part.slice(1)}`,
    'body',
  ),
  ...inEachPart('nothing', () => ''),
];

scenario('a real token in another spelling of its base64 is refused', (tally) =>
  target.tryAll(tally, base64),
);

const inside: [string, string, 'body'?][] = [
  ['a space', ' '],
  ['a tab', '\t'],
  ['a line feed', '\n', 'body'],
  ['CR and LF', '\r\n', 'body'],
  ['a folded line', '\r\n ', 'body'],
  ['a form feed', '\f', 'body'],
  ['a delete character', '\x7f', 'body'],
  ['an escape sequence', '\x1b[0m', 'body'],
  ['a no-break space', '\u00a0'],
  ['a zero-width space', '\u200b'],
  ['a zero-width joiner', '\u200d'],
  ['a soft hyphen', '\u00ad'],
  ['a byte order mark', '\ufeff'],
  ['a right-to-left override', '\u202e'],
  ['a combining accent', '\u0301'],
  ['a key', '\u{1f511}'],
  ['a comma', ','],
  ['an asterisk', '*'],
  ['a hash', '#'],
  ['a quotation mark', '"'],
  ['a backslash', '\\'],
  ['a dot', '.'],
];
const inserted: Forgery[] = inside.flatMap(([name, text, only]) => [
  ...inEachPart(name, (part) => `${part.slice(0, 7)}${text}${part.slice(7)}`, only),
  ...whole([
    [
      `${name} before the first dot`,
      (token) => token.replace('.', `${text}.`),
      ...(only === undefined ? ([] as const) : ([only] as const)),
    ],
  ]),
]);

scenario('a real token with any character inserted is refused', (tally) => target.tryAll(tally, inserted));

const around: Forgery[] = whole([
  // HTTP trims fields and cookies, and cookies are unquoted and decoded: there these would be the real token.
  ['a space before', (token) => ` ${token}`, 'body'],
  ['a space after', (token) => `${token} `, 'body'],
  ['a line end after', (token) => `${token}\n`, 'body'],
  ['a tab before', (token) => `\t${token}`, 'body'],
  ['quotation marks around', (token) => `"${token}"`, 'body'],
  ['percent-encoded dots', (token) => token.replaceAll('.', '%2e'), 'body'],
  ['twice percent-encoded dots', (token) => token.replaceAll('.', '%252e')],
  ['HTML entities for dots', (token) => token.replaceAll('.', '&#46')],
  ['one-dot leaders for dots', (token) => token.replaceAll('.', '\u2024')],
  ['full-width dots', (token) => token.replaceAll('.', '\uff0e')],
  ['ideographic full stops', (token) => token.replaceAll('.', '\u3002')],
  ['colons for dots', (token) => token.replaceAll('.', ':')],
  ['a Cyrillic letter', (token) => token.replace('e', '\u0435')],
  ['full-width letters', (token) => token.replace('e', '\uff45')],
  ['the long s', (token) => token.replace(/[sS]/, '\u017f')],
  ['the Kelvin sign', (token) => token.replace(/[kK]/, '\u212a')],
  ['a dot before', (token) => `.${token}`],
  ['a dot after', (token) => `${token}.`],
  ['three dots', (token) => token.replace('.', '...')],
  ['dots alone', () => '..'],
  ['one dot', () => '.'],
  ['four dots', () => '....'],
  ['a letter', () => 'x'],
  ['three letters', () => 'a.b.c'],
  ['the word null', () => 'null'],
  ['the word undefined', () => 'undefined'],
  ['the word Bearer', () => 'Bearer'],
  ['a scheme before', (token) => `Bearer.${token}`],
  ['angle brackets around', (token) => `<${token}>`],
  ['apostrophes around', (token) => `'${token}'`],
  ['upper case', (token) => token.toUpperCase()],
  ['lower case', (token) => token.toLowerCase()],
  ['backwards', (token) => [...token].reverse().join('')],
  ['base64 around it all', (token) => encode(token)],
  ['itself behind', (token) => `${token}.${token}`],
  ['itself behind a comma', (token) => `${token},${token}`],
  ['SQL', () => "' or true --"],
  ['its hash, as the allowlist keeps it', (token) => encode(hashOf(token))],
  ['its hash in hexadecimal', (token) => hashOf(token).toString('hex')],
  ['its hash as SQL writes it', (token) => `\\x${hashOf(token).toString('hex')}`],
]);

scenario('a real token with anything around it is refused', (tally) => target.tryAll(tally, around));

const shapes: Forgery[] = [
  { name: 'header alone', make: (base) => partsOf(base)[0] },
  { name: 'two parts', make: (base) => partsOf(base).slice(0, 2).join('.') },
  { name: 'two parts and a dot', make: (base) => `${partsOf(base).slice(0, 2).join('.')}.` },
  { name: 'no header', make: (base) => partsOf(base).slice(1).join('.') },
  { name: 'four parts', make: (base) => `${base.token}.${partsOf(base)[2]}` },
  { name: 'five parts, as a JWE', make: (base) => `${base.token}.${partsOf(base)[1]}.${partsOf(base)[2]}` },
  {
    name: 'five parts with an encrypting header',
    make: (base) => {
      const header = encode(withMembers(base.header, { alg: 'dir', enc: 'A256GCM' }));
      return `${header}..AAAAAAAAAAAAAAAA.${partsOf(base)[1]}.AAAAAAAAAAAAAAAAAAAAAA`;
    },
  },
  { name: 'parts in another order', make: (base) => partsOf(base).reverse().join('.') },
  { name: 'a detached payload', make: (base) => `${partsOf(base)[0]}..${partsOf(base)[2]}` },
  {
    name: 'an unencoded payload',
    make: (base) => `${partsOf(base)[0]}.${base.payload}.${partsOf(base)[2]}`,
  },
  {
    name: 'the flattened JSON serialization',
    make: (base) => {
      const [header, payload, signature] = partsOf(base);
      return JSON.stringify({ protected: header, payload, signature });
    },
  },
  {
    name: 'the general JSON serialization',
    make: (base) => {
      const [header, payload, signature] = partsOf(base);
      return JSON.stringify({ payload, signatures: [{ protected: header, signature }] });
    },
  },
  {
    name: 'a token within a token, signed by our key',
    make: (base) => sealed(base, base.header, base.token),
  },
  {
    name: 'a token within a token as a JSON string, signed by our key',
    make: (base) => sealed(base, withMembers(base.header, { cty: 'JWT' }), JSON.stringify(base.token)),
  },
  ...(
    [
      ['a byte order mark', (header) => `\ufeff${header}`],
      ['a space', (header) => header.replace(',', ', ')],
      ['a line end', (header) => `${header}\n`],
      ['a NUL', (header) => `${header}\u0000`],
      ['an escape', (header) => header.replace('alg', '\\u0061lg')],
      ['alg twice, none first', (header) => header.replace('{', '{"alg":"none",')],
      ['alg twice, none last', (header) => header.replace(/}$/, ',"alg":"none"}')],
      ['kid twice', (header) => header.replace(/}$/, ',"kid":"other"}')],
      ['names in upper case', (header) => header.replace('alg', 'ALG')],
      ['members in another order', (header) => withMembers('{}', { typ: '', ...JSON.parse(header) })],
      ['an array around', (header) => `[${header}]`],
      ['no object', () => 'null'],
      ['no JSON', () => 'alg=EdDSA'],
      ['an array of ten', () => '[[[[[[[[[[]]]]]]]]]]'],
    ] satisfies [string, (header: string) => string][]
  ).map(([name, change]) => ({
    name: `a header with ${name}, signed by our key`,
    make: (base: Base) => sealed(base, change(base.header)),
  })),
];

scenario('a token in any other form of JOSE is refused', (tally) => target.tryAll(tally, shapes));

scenario('a real token cut at any place is refused', async (tally) => {
  const shortest = Math.min(target.bases.access.token.length, target.bases.refresh.token.length);
  const step = rounds(6, 1);
  const cuts = Array.from({ length: Math.floor((shortest - 1) / step) }, (_, index) => 1 + index * step);
  await target.tryAll(
    tally,
    cuts.flatMap((cut) =>
      whole([
        [`cut after ${cut}`, (token) => token.slice(0, cut)],
        [`cut before ${cut}`, (token) => token.slice(cut)],
      ]),
    ),
    { byTurns: true },
  );
});

scenario('a real token with any one character replaced is refused', async (tally) => {
  const shortest = Math.min(target.bases.access.token.length, target.bases.refresh.token.length);
  const step = rounds(7, 1);
  const places = Array.from({ length: Math.floor(shortest / step) }, (_, index) => index * step);
  await target.tryAll(
    tally,
    places.map((place) => ({
      name: `another character at ${place}`,
      make: ({ token }) => {
        const next = ALPHABET[(ALPHABET.indexOf(token[place] as string) + 1) % ALPHABET.length] as string;
        return `${token.slice(0, place)}${next}${token.slice(place + 1)}`;
      },
    })),
    { byTurns: true },
  );
});
