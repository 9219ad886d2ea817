// Reads a stored password hash of any known scheme: docs/decisions/0015-imported-passwords.md.
// It must not accept a hash whose verification would hold up the sign-ins of others.
import { argon2 } from './argon2.ts';
import { bcrypt } from './bcrypt.ts';
import { pbkdf2 } from './pbkdf2.ts';
import { phpass } from './phpass.ts';
import { saltedDigest } from './salted-digest.ts';
import { malformed, type Reading } from './scheme.ts';
import { firebaseScrypt, scrypt } from './scrypt.ts';

const schemes = [argon2, bcrypt, pbkdf2, scrypt, firebaseScrypt, saltedDigest, phpass];

// Twice the longest, a Firebase hash with a signer key of 64 bytes.
const MAX_LENGTH = 1_000;

/** Returns how to verify the stored hash, or why it cannot be used. */
export function readHash(stored: string): Reading {
  if (stored.length > MAX_LENGTH) return malformed;
  return schemes.find(({ prefix }) => prefix.test(stored))?.read(stored) ?? { fault: 'unsupported' };
}
