// Limits how many warnings an account gets. They have counts of their own, so that nobody can use up their room by
// requesting other mails.
// It must not be called inside a transaction: the composer of mails counts, after the commit that queued the mail.
import type { RateLimiter, RateLimitRule } from '../../../platform/limits/rate-limit.ts';
import type { WarningKind } from './payloads.ts';

export type WarningLimitDeps = { limiter: Pick<RateLimiter, 'hit'> };

// Enough for everything that a person does to their factors in an hour, and no flood.
const perAccount: RateLimitRule = { limit: 10, windowSeconds: 3_600 };

// What happens again and again while somebody attacks; one mail tells the owner what to do.
const perKind: Partial<Record<WarningKind, RateLimitRule>> = {
  new_sign_in: { limit: 1, windowSeconds: 600 },
  second_factor_attack: { limit: 1, windowSeconds: 3_600 },
};

// Only administrators and the service itself cause these, and must not use up the room of the others. The account cannot be used without
// the link of the first.
const countedApart: Partial<Record<WarningKind, string>> = {
  second_factor_reset: 'recovery',
  acted_as: 'acting',
  webhook_paused: 'webhook',
};

/** Counts one warning to this account. Returns false if it exceeds a limit. */
export async function mayWarn(deps: WarningLimitDeps, userId: string, kind: WarningKind): Promise<boolean> {
  const rule = perKind[kind];
  if (rule && !(await deps.limiter.hit(`${kind}-mail|${userId}`, rule)).allowed) return false;
  const count = countedApart[kind] ?? 'warning';
  return (await deps.limiter.hit(`${count}-mail|${userId}`, perAccount)).allowed;
}
