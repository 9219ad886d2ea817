// Creates password hashes at a cost that a suite of thousands of sign-ins can afford.
// It must not be used where hashing itself, equal work or overload is tested.
import {
  createPasswordHasher,
  type PasswordHasher,
} from '@castellan/server/platform/security/password-hasher';

/** Argon2's minimum: 8 KiB, one pass. Queue, limits and counts are those of the real hasher. */
export const createCheapHasher = (): PasswordHasher =>
  createPasswordHasher({ work: { memoryCost: 8, timeCost: 1, parallelism: 1 } });

const hashes = new WeakMap<PasswordHasher, Map<string, Promise<string>>>();

/** Returns a hash at the cost of this hasher, so that a sign-in does not renew it. Each password is hashed once. */
export function hashOnce(hasher: PasswordHasher, password: string): Promise<string> {
  const known = hashes.get(hasher) ?? new Map<string, Promise<string>>();
  hashes.set(hasher, known);
  const hash = known.get(password) ?? hasher.hash(password);
  known.set(password, hash);
  return hash;
}
