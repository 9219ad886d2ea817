// Limits the decisions, searches and introspections of one caller (RATE_LIMIT_ACCESS), counted in this process.
// It must not know the operations: routes declare `accessLimited`.
import type { Client } from '../../../platform/http/client.ts';
import { overLimit } from '../../../platform/http/plugins/rate-limits.ts';
import { createLocalLimit } from '../../../platform/limits/local-limit.ts';
import type { RateLimitRule } from '../../../platform/limits/rate-limit.ts';
import { type Audited, recordBounded } from '../../audit/service.ts';
import { actorOf, type Principal } from '../caller.ts';

export type AccessLimit = {
  /**
   * Counts one request of the caller, whichever of their tokens and keys it presents. Throws `rate_limited`; the first
   * refusal of a window is an audit event.
   */
  count(client: Client, principal: Principal): Promise<void>;
  /** Throws as `count` if the caller has used up the limit. Counts nothing otherwise. */
  requireLeft(client: Client, principal: Principal): Promise<void>;
};

/** Returns null if `rule` is null, which turns the limit off. */
export function createAccessLimit(
  deps: Pick<Audited, 'auditLog'>,
  rule: RateLimitRule | null,
): AccessLimit | null {
  if (rule === null) return null;
  const callers = createLocalLimit(rule);
  const count = async (client: Client, principal: Principal): Promise<void> => {
    const result = callers.hit(principal.id);
    if (result.allowed) return;
    if (result.firstRefusal)
      await recordBounded(deps, client, {
        action: 'rate_limited',
        ...actorOf(principal),
        resourceId: principal.id,
        details: { ...(principal.type === 'user' ? { email: principal.email } : {}), limit: 'access' },
      });
    throw overLimit(result);
  };
  return {
    count,
    async requireLeft(client, principal) {
      if (callers.usedUp(principal.id)) await count(client, principal);
    },
  };
}
