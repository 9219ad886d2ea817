// Salted digests of LDAP directories: {SSHA}, {SSHA256} or {SSHA512} and base64 of the digest with the salt behind it.
// They cost nothing to guess: an attacker with the database tries billions a second, until the owner has signed in.
import { createHash } from 'node:crypto';
import { fromBase64, isEqual, malformed, type Scheme } from './scheme.ts';

const digests: Readonly<Record<string, { name: string; bytes: number }>> = {
  SSHA: { name: 'sha1', bytes: 20 },
  SSHA256: { name: 'sha256', bytes: 32 },
  SSHA512: { name: 'sha512', bytes: 64 },
};
const MAX_SALT_BYTES = 64;

const form = /^\{(SSHA|SSHA256|SSHA512)\}([A-Za-z0-9+/]+={0,2})$/;

export const saltedDigest: Scheme = {
  prefix: /^\{SSHA(?:256|512)?\}/,
  read(stored) {
    const [, kind = '', text = ''] = form.exec(stored) ?? [];
    const digest = digests[kind];
    const bytes = fromBase64(text);
    if (digest === undefined || bytes === null) return malformed;
    const salt = bytes.subarray(digest.bytes);
    if (salt.length === 0 || salt.length > MAX_SALT_BYTES) return malformed;
    const output = bytes.subarray(0, digest.bytes);
    return {
      verify: async (password) =>
        isEqual(createHash(digest.name).update(password).update(salt).digest(), output),
    };
  },
};
