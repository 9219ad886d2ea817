// Orders the ways in which an account can prove a second factor. It has no side effects.
import type { FactorMethod } from '@castellan/contract/authentication';
import type { FactorFacts } from './store.ts';

/**
 * Returns the ways that work now: the one that was used last first, recovery codes last. After a reset, the mailed link alone.
 */
export function methodsOf(facts: FactorFacts): FactorMethod[] {
  if (facts.recovery_pending) return ['recovery_link'];
  const isAppOpen =
    facts.totp_created_at !== null && facts.totp_suspended_at === null && facts.codes_locked_until === null;
  return [
    ...(isAppOpen ? (['totp'] as const) : []),
    ...(facts.codes_left > 0 ? (['recovery_code'] as const) : []),
  ];
}
