// Turns the spellings in which other systems store password hashes into those of platform/security/password-hashes.
// It must not verify or compute a hash.

/** Returns base64 without padding, as PHC strings have it. */
const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

/** passlib's base64: `.` for `+`, no padding. */
const fromPasslib = (text: string): string => text.replaceAll('.', '+');

// scrypt of better-auth and Lucia: N is 2^14. The salt is hashed as the text of its digits.
const BETTER_AUTH = '$scrypt-nfkc$ln=14,r=16,p=1';

type Spelling = { form: RegExp; rewrite: (parts: readonly string[]) => string };

const spellings: readonly Spelling[] = [
  // Django: pbkdf2_sha256$<iterations>$<salt>$<base64>
  {
    form: /^pbkdf2_(sha1|sha256)\$(\d+)\$([^$]+)\$([A-Za-z0-9+/]+=*)$/,
    rewrite: ([digest = '', iterations = '', salt = '', output = '']) =>
      pbkdf2Hash({ digest, iterations, salt: Buffer.from(salt), output: Buffer.from(output, 'base64') }),
  },
  // passlib: $pbkdf2-sha256$<iterations>$<salt>$<output>, and $pbkdf2$ with SHA-1
  {
    form: /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(\d+)\$([A-Za-z0-9./]+)\$([A-Za-z0-9./]+)$/,
    rewrite: ([digest, iterations = '', salt = '', output = '']) =>
      `$pbkdf2-${digest ?? 'sha1'}$i=${iterations}$${fromPasslib(salt)}$${fromPasslib(output)}`,
  },
  // PHC string that names the length of its output.
  {
    form: /^\$pbkdf2-(sha1|sha256|sha512)\$i=(\d+),l=\d+\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/,
    rewrite: ([digest = '', iterations = '', salt = '', output = '']) =>
      `$pbkdf2-${digest}$i=${iterations}$${salt}$${output}`,
  },
  // Django: argon2$argon2id$v=19$… and bcrypt$$2b$…
  { form: /^argon2(\$argon2(?:id|i|d)\$.+)$/, rewrite: ([hash = '']) => hash },
  { form: /^bcrypt\$(\$2[aby]\$.+)$/, rewrite: ([hash = '']) => hash },
  // Django: scrypt$<salt>$<N>$<r>$<p>$<base64>
  {
    form: /^scrypt\$([^$]+)\$(\d+)\$(\d+)\$(\d+)\$([A-Za-z0-9+/]+=*)$/,
    rewrite: ([salt = '', N = '', r = '', p = '', output = '']) =>
      `$scrypt$ln=${Math.log2(Number(N))},r=${r},p=${p}$${base64(Buffer.from(salt))}$${base64(Buffer.from(output, 'base64'))}`,
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
];

/** Returns the stored spelling of PBKDF2. */
export const pbkdf2Hash = (parts: {
  digest: string;
  iterations: string | number;
  salt: Buffer;
  output: Buffer;
}): string => `$pbkdf2-${parts.digest}$i=${parts.iterations}$${base64(parts.salt)}$${base64(parts.output)}`;

/** Returns the stored spelling of a hash; the same text if no other spelling is known. */
export function storedSpelling(hash: string): string {
  for (const { form, rewrite } of spellings) {
    const match = form.exec(hash);
    if (match) return rewrite(match.slice(1));
  }
  return hash;
}

/** Whether the text says that the account has no password: Django's `!…`, the `*` of Unix and an empty text. */
export const isNoPassword = (hash: string): boolean => /^(?:!.*|\*[01]?)?$/s.test(hash);
