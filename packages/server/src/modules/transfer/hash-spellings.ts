// Turns the spellings in which other systems store password hashes into those of platform/security/password-hashes.
// It must not verify or compute a hash.

import { fromBase64 } from '../../platform/security/password-hashes/scheme.ts';

/** Returns base64 without padding, as PHC strings have it. */
const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

/** Returns base64 as PHC strings have it: of base64url, of passlib's base64 with `.` for `+`, with or without padding. */
const asPhc = (text: string): string =>
  text
    .replaceAll(/[-.]/g, '+')
    .replaceAll('_', '/')
    .replace(/={1,2}$/, '');

// scrypt of better-auth and Lucia: N is 2^14. The salt is hashed as the text of its digits.
const BETTER_AUTH = '$scrypt-nfkc$ln=14,r=16,p=1';

/** `rewrite` gets the groups of `form`. Null: the text is of no such spelling after all. */
type Spelling = { form: RegExp; rewrite: (parts: readonly string[]) => string | null };

const base64Form = '[A-Za-z0-9+/._-]+={0,2}';
const digestForm = 'sha1|sha256|sha512';

/** What stands around a hash. They are removed first, one after the other, so they may be nested. */
const wrappings: readonly Spelling[] = [
  // LDIF and what is made of it: base64 of the whole value.
  {
    form: /^(e[A-Za-z0-9+/]{15,}={0,2})$/,
    rewrite: ([text = '']) => {
      const value = fromBase64(text)?.toString('latin1') ?? '';
      return /^\{[A-Za-z0-9.@_-]+\}[!-~]+$/.test(value) ? value : null;
    },
  },
  // Dovecot and OpenLDAP; the ids of Spring Security; Django. What is inside says its scheme itself.
  {
    form: /^\{(?:crypt|blf-crypt|bcrypt|argon2(?:id|i|d)?|argon2@springsecurity_v5_8|ldap|scrypt|scrypt@springsecurity_v5_8|pbkdf2-sha(?:1|256|512))\}([${!*].*)$/i,
    rewrite: ([hash = '']) => hash,
  },
  { form: /^argon2(\$argon2(?:id|i|d)\$.+)$/, rewrite: ([hash = '']) => hash },
  { form: /^bcrypt\$(\$2[abxy]?\$.+)$/, rewrite: ([hash = '']) => hash },
];

const spellings: readonly Spelling[] = [
  // Django: pbkdf2_sha256$<iterations>$<salt>$<base64>
  {
    form: new RegExp(`^pbkdf2_(${digestForm})\\$(\\d+)\\$([^$]+)\\$(${base64Form})$`),
    rewrite: ([digest = '', iterations = '', salt = '', output = '']) =>
      pbkdf2Hash({
        digest,
        iterations,
        salt: Buffer.from(salt),
        output: Buffer.from(asPhc(output), 'base64'),
      }),
  },
  // Werkzeug: pbkdf2:sha256:<iterations>$<salt>$<hexadecimal digits>
  {
    form: new RegExp(`^pbkdf2:(${digestForm}):(\\d+)\\$([^$]+)\\$([0-9a-f]+)$`),
    rewrite: ([digest = '', iterations = '', salt = '', output = '']) =>
      pbkdf2Hash({ digest, iterations, salt: Buffer.from(salt), output: Buffer.from(output, 'hex') }),
  },
  // Dovecot: {PBKDF2}$1$<salt>$<iterations>$<hexadecimal digits> with SHA-1
  {
    form: /^\{PBKDF2\}\$1\$([^$]+)\$(\d+)\$([0-9a-f]{40})$/i,
    rewrite: ([salt = '', iterations = '', output = '']) =>
      pbkdf2Hash({ digest: 'sha1', iterations, salt: Buffer.from(salt), output: Buffer.from(output, 'hex') }),
  },
  // OpenLDAP, 389 Directory Server, passlib: {PBKDF2-SHA256}<iterations>$<salt>$<output>, and {PBKDF2} with SHA-1
  {
    form: new RegExp(`^\\{PBKDF2(?:-(${digestForm}))?\\}(\\d+)\\$(${base64Form})\\$(${base64Form})$`, 'i'),
    rewrite: ([digest = 'sha1', iterations = '', salt = '', output = '']) =>
      `$pbkdf2-${digest.toLowerCase()}$i=${iterations}$${asPhc(salt)}$${asPhc(output)}`,
  },
  // passlib: $pbkdf2-sha256$<iterations>$<salt>$<output>, and $pbkdf2$ with SHA-1
  {
    form: new RegExp(`^\\$pbkdf2(?:-(${digestForm}))?\\$(\\d+)\\$(${base64Form})\\$(${base64Form})$`),
    rewrite: ([digest = 'sha1', iterations = '', salt = '', output = '']) =>
      `$pbkdf2-${digest}$i=${iterations}$${asPhc(salt)}$${asPhc(output)}`,
  },
  // Spring Security before 5.8 and since, with their defaults: hexadecimal digits of salt and output
  {
    form: /^\{pbkdf2\}([0-9a-f]{16})([0-9a-f]{64})$/i,
    rewrite: ([salt = '', output = '']) =>
      pbkdf2Hash({ digest: 'sha1', iterations: 185_000, ...fromHex(salt, output) }),
  },
  {
    form: /^\{pbkdf2@SpringSecurity_v5_8\}([0-9a-f]{32})([0-9a-f]{64})$/i,
    rewrite: ([salt = '', output = '']) =>
      pbkdf2Hash({ digest: 'sha256', iterations: 310_000, ...fromHex(salt, output) }),
  },
  // Atlassian: {PKCS5S2} and base64 of a salt of 16 bytes and the output; 10,000 iterations of SHA-1
  {
    form: /^\{PKCS5S2\}([A-Za-z0-9+/]{64})$/i,
    rewrite: ([text = '']) => {
      const bytes = Buffer.from(text, 'base64');
      return pbkdf2Hash({
        digest: 'sha1',
        iterations: 10_000,
        salt: bytes.subarray(0, 16),
        output: bytes.subarray(16),
      });
    },
  },
  // ASP.NET Identity: base64 of bytes that say their version themselves
  { form: /^(A[A-Za-z0-9+/]{40,}={0,2})$/, rewrite: ([text = '']) => aspNetHash(fromBase64(text)) },
  // Django: scrypt$<salt>$<N>$<r>$<p>$<base64>
  {
    form: new RegExp(`^scrypt\\$([^$]+)\\$(\\d+)\\$(\\d+)\\$(\\d+)\\$(${base64Form})$`),
    rewrite: ([salt = '', N = '', r = '', p = '', output = '']) =>
      scryptHash({ log2N: Math.log2(Number(N)), r, p, salt: Buffer.from(salt), output: asPhc(output) }),
  },
  // Werkzeug: scrypt:<N>:<r>:<p>$<salt>$<hexadecimal digits>
  {
    form: /^scrypt:(\d+):(\d+):(\d+)\$([^$]+)\$([0-9a-f]+)$/,
    rewrite: ([N = '', r = '', p = '', salt = '', output = '']) =>
      scryptHash({
        log2N: Math.log2(Number(N)),
        r,
        p,
        salt: Buffer.from(salt),
        output: base64(Buffer.from(output, 'hex')),
      }),
  },
  // Spring Security: $<log2 N, then r and p in two digits each, hexadecimal>$<salt>$<output>
  {
    form: new RegExp(`^\\$([0-9a-f]{1,2})([0-9a-f]{2})([0-9a-f]{2})\\$(${base64Form})\\$(${base64Form})$`),
    rewrite: ([log2N = '', r = '', p = '', salt = '', output = '']) =>
      scryptHash({
        log2N: Number.parseInt(log2N, 16),
        r: Number.parseInt(r, 16),
        p: Number.parseInt(p, 16),
        salt: Buffer.from(asPhc(salt), 'base64'),
        output: asPhc(output),
      }),
  },
  // better-auth, Lucia: <salt>:<output> in hexadecimal digits
  {
    form: /^([0-9a-f]{32}):([0-9a-f]{128})$/,
    rewrite: ([salt = '', output = '']) =>
      `${BETTER_AUTH}$${base64(Buffer.from(salt))}$${base64(Buffer.from(output, 'hex'))}`,
  },
  // Supabase leaves out an empty salt separator.
  {
    form: /^(\$fbscrypt\$v=1,n=\d+,r=\d+,p=\d+)(,sk=.+)$/,
    rewrite: ([start = '', rest = '']) => `${start},ss=${rest}`,
  },
  // LDAP: the name in any case; Dovecot may add the encoding, OpenLDAP may leave out the padding.
  {
    form: new RegExp(`^\\{(SSHA(?:256|512)?)(?:\\.(?:b64|base64))?\\}(${base64Form})$`, 'i'),
    rewrite: ([kind = '', text = '']) => {
      const unpadded = asPhc(text);
      return `{${kind.toUpperCase()}}${unpadded.padEnd(Math.ceil(unpadded.length / 4) * 4, '=')}`;
    },
  },
  {
    form: /^\{(SSHA(?:256|512)?)\.hex\}((?:[0-9a-f]{2})+)$/i,
    rewrite: ([kind = '', digits = '']) =>
      `{${kind.toUpperCase()}}${Buffer.from(digits, 'hex').toString('base64')}`,
  },
  // PHC strings with their parameters in any order
  {
    form: new RegExp(
      `^\\$(argon2(?:id|i|d)|scrypt(?:-nfkc)?|pbkdf2-(?:${digestForm}))\\$([a-z]+=[^$]*(?:\\$[a-z]+=[^$]*)*)\\$(${base64Form})\\$(${base64Form})$`,
    ),
    rewrite: ([id = '', parameters = '', salt = '', output = '']) => {
      const values = new Map(parameters.split(/[$,]/).map((pair) => pair.split('=', 2) as [string, string]));
      const written = phcParameters(id, values);
      return written === null ? null : `$${id}$${written}$${asPhc(salt)}$${asPhc(output)}`;
    },
  },
];

/** Returns the parameters in the stored order; null if one is missing, or if one says that more than the password was hashed. */
function phcParameters(id: string, values: ReadonlyMap<string, string>): string | null {
  const all = (...names: string[]) => names.map((name) => `${name}=${values.get(name) ?? ''}`).join(',');
  if (id.startsWith('pbkdf2')) return all('i');
  if (id.startsWith('argon2')) {
    if (values.get('keyid') || values.get('data')) return null;
    const version = values.get('v');
    return `${version === undefined ? '' : `v=${version}$`}${all('m', 't', 'p')}`;
  }
  // Adonis calls N itself `n`, and Kratos calls it `ln`. No cost that can be computed has a logarithm of 64.
  const N = values.get('n') ?? values.get('ln') ?? '';
  const log2N = values.has('n') || Number(N) >= 64 ? Math.log2(Number(N)) : N;
  return `ln=${log2N},${all('r', 'p')}`;
}

const fromHex = (salt: string, output: string) => ({
  salt: Buffer.from(salt, 'hex'),
  output: Buffer.from(output, 'hex'),
});

/** The pseudo-random functions of ASP.NET Core (KeyDerivationPrf), by their number. */
const aspNetDigests = ['sha1', 'sha256', 'sha512'] as const;

/**
 * Returns the stored spelling of ASP.NET Core Identity's bytes; null if they are none.
 * Version 3: 1, then PRF, iterations and length of the salt as 32 bits each, big-endian, then salt and output.
 * Version 2: 0, then 16 bytes of salt and 32 of output; 1,000 iterations of SHA-1.
 */
function aspNetHash(bytes: Buffer | null): string | null {
  if (bytes?.[0] === 0 && bytes.length === 49)
    return pbkdf2Hash({
      digest: 'sha1',
      iterations: 1_000,
      salt: bytes.subarray(1, 17),
      output: bytes.subarray(17),
    });
  if (bytes?.[0] !== 1 || bytes.length < 13) return null;
  const digest = aspNetDigests[bytes.readUInt32BE(1)];
  const end = 13 + bytes.readUInt32BE(9);
  if (digest === undefined || end >= bytes.length) return null;
  const iterations = bytes.readUInt32BE(5);
  return pbkdf2Hash({ digest, iterations, salt: bytes.subarray(13, end), output: bytes.subarray(end) });
}

const scryptHash = (parts: {
  log2N: number;
  r: string | number;
  p: string | number;
  salt: Buffer;
  output: string;
}): string => `$scrypt$ln=${parts.log2N},r=${parts.r},p=${parts.p}$${base64(parts.salt)}$${parts.output}`;

/** Returns the stored spelling of PBKDF2. */
export const pbkdf2Hash = (parts: {
  digest: string;
  iterations: string | number;
  salt: Buffer;
  output: Buffer;
}): string => `$pbkdf2-${parts.digest}$i=${parts.iterations}$${base64(parts.salt)}$${base64(parts.output)}`;

/** Returns what the first spelling that fits makes of the text; null if none does. */
function rewritten(text: string, known: readonly Spelling[]): string | null {
  for (const { form, rewrite } of known) {
    const match = form.exec(text);
    const result = match && rewrite(match.slice(1));
    if (result) return result;
  }
  return null;
}

// UTF-16 units. No hash that can be verified is as long, and a text that is all wrappings takes quadratic time: measured
// 40 s for 700,000.
const MAX_HASH_LENGTH = 2_000;

/**
 * Returns the stored spelling of a hash; the text without what stands around it if no other spelling is known, and a text
 * that is too long for a hash as it is.
 */
export function storedSpelling(hash: string): string {
  let bare = hash.trim();
  if (bare.length > MAX_HASH_LENGTH) return bare;
  // Each removal shortens the text.
  for (let inside = rewritten(bare, wrappings); inside !== null; inside = rewritten(bare, wrappings))
    bare = inside.trim();
  return rewritten(bare, spellings) ?? bare;
}

/** Whether the text says that the account has no password: Django's `!…`, the `*` of Unix and an empty text. */
export const isNoPassword = (hash: string): boolean => /^(?:!.*|\*[01]?)?$/s.test(hash);
