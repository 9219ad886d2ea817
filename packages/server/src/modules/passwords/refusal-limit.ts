// Limits rejected passwords, because a rejection may reveal that a user has, or had, this password.
// It must count a password before it is checked.
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { overLimit } from '../../platform/http/plugins/rate-limits.ts';
import type { RateLimiter } from '../../platform/limits/rate-limit.ts';
import type { Logger } from '../../platform/logging/log.ts';
import { type Actor, type Audited, recordBounded } from '../audit/service.ts';

const refusedPasswords = { limit: 10, windowSeconds: 3_600 };

type RefusalDeps = Pick<Audited, 'auditLog'> & { log: Logger; limiter: RateLimiter };

export type Refusals = {
  /** Name of the limit, as in the audit log. */
  limit: 'admin-password' | 'link-password';
  /** Ids whose combination has one count. */
  by: readonly string[];
  actor: Actor;
  /** Id of the user whose password is set. */
  userId: string;
};

/**
 * Runs `setPassword`. Counts it if it fails for another reason than `overloaded`. Throws `rate_limited` without running
 * it after 10 counted failures in an hour.
 */
export async function countingRefusals<T>(
  deps: RefusalDeps,
  client: Client,
  { limit, by, actor, userId }: Refusals,
  setPassword: () => Promise<T>,
): Promise<T> {
  const key = [limit, ...by].join('|');
  // Counted before the result is known, so that parallel requests cannot check more passwords than the limit.
  const counted = await deps.limiter.hit(key, refusedPasswords);
  if (!counted.allowed) {
    await recordBounded(deps, client, {
      ...actor,
      action: 'rate_limited',
      resourceId: userId,
      details: { limit },
    });
    throw overLimit(counted);
  }
  const giveBack = (): Promise<void> =>
    deps.limiter.giveBack(key).catch((error: unknown) => {
      deps.log.warn({ err: error }, 'an accepted password is counted as rejected for an hour');
    });
  try {
    const result = await setPassword();
    await giveBack();
    return result;
  } catch (error) {
    // Any other error may come after the comparison with former passwords, and so reveal its result.
    if (error instanceof AppError && error.code === 'overloaded') await giveBack();
    throw error;
  }
}
