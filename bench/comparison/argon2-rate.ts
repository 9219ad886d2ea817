// Measures the hash function alone on this machine, which limits every sign-in rate.
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';

/** The parameters of the service: packages/server/src/platform/security/password-hasher.ts. */
export const argon2Parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const;
/** As many hashes at once as the service's hasher computes: all cores but one. */
export const argon2Concurrency = Math.max(1, availableParallelism() - 1);

/** Returns verifications per second. */
export async function measureArgon2(seconds: number): Promise<number> {
  const phc = await hash('QaRegisterPass!47', argon2Parameters);
  const begin = performance.now();
  const end = begin + seconds * 1_000;
  let done = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < end) {
      await verify(phc, 'QaRegisterPass!47');
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: argon2Concurrency }, lane));
  return (done * 1_000) / (performance.now() - begin);
}
