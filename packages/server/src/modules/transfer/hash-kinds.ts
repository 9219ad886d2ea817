// Names the kinds of password hashes that cannot be verified, so that a refusal says truly why.
// It must not return a part of the hash: what is taken for one may be a password.

type Kind = { form: RegExp; name: string };

const kinds: readonly Kind[] = [
  { form: /^\{(?:noop|plain|clear|cleartext|plain-trunc)\}/i, name: 'a password in plain text' },
  { form: /^\{(?:sha|sha1)(?:\.\w+)?\}/i, name: '{SHA}, a digest without a salt' },
  { form: /^\{sha-?(?:1|224|256|384|512)(?:\.\w+)?\}/i, name: 'a single digest of the SHA family' },
  { form: /^\{smd5(?:\.\w+)?\}/i, name: '{SMD5}, a digest with MD5' },
  { form: /^\{(?:plain-|ldap-)?md[45](?:\.\w+)?\}/i, name: 'a single digest of the MD family' },
  { form: /^\{(?:cram-md5|digest-md5|scram-sha-\d+)\}/i, name: 'a key of a challenge-response method' },
  { form: /^\$scram|^SCRAM-SHA-/, name: 'a key of SCRAM' },
  { form: /^\$1\$|^\$apr1\$|^\{md5-crypt\}/i, name: 'md5crypt ($1$, $apr1$)' },
  { form: /^\$5\$|^\{sha256-crypt\}/i, name: 'sha256crypt ($5$)' },
  { form: /^\$6\$|^\{sha512-crypt\}/i, name: 'sha512crypt ($6$)' },
  { form: /^\$g?y\$/, name: 'yescrypt ($y$)' },
  { form: /^\$7\$/, name: "scrypt in the spelling of Unix's crypt ($7$)" },
  { form: /^\{(?:des-)?crypt\}|^crypt\$/i, name: 'crypt with DES' },
  { form: /^\$2\$/, name: 'bcrypt $2$, whose first version hashed passwords in another way' },
  { form: /^\$2x\$/, name: 'bcrypt $2x$, of a faulty implementation (CVE-2011-2483)' },
  { form: /^\$?bcrypt[_-]sha256\$/, name: 'bcrypt_sha256, which hashes a digest of the password' },
  { form: /^\$wp\$/, name: '$wp$ of WordPress, which hashes a digest of the password' },
  {
    form: /^\$argon2[^$]*\$.*[$,](?:keyid|data)=[^$,]/,
    name: 'argon2 with a secret key or associated data (keyid, data)',
  },
  { form: /^\{pbkdf2_sha256\}/i, name: '{PBKDF2_SHA256} of 389 Directory Server' },
  { form: /^(?:unsalted_)?(?:md5|sha1)\$/, name: "Django's digest with MD5 or SHA-1" },
  { form: /^\*[0-9A-F]{40}$/, name: 'a password hash of MySQL' },
  { form: /^(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$/i, name: 'a bare digest' },
];

/** Returns why a hash in its stored spelling cannot be verified; undefined if its kind is not known here. */
export function unverifiableKind(stored: string): string | undefined {
  const kind = kinds.find(({ form }) => form.test(stored));
  return kind && `is ${kind.name}, which cannot be verified`;
}
