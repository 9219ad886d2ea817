// Orders the ways in which an account can prove a second factor. It has no side effects.
import type { FactorMethod } from '@castellan/contract/authentication';
import { type AskablePasskeys, lastUseOf } from './passkeys/requests.ts';
import type { FactorFacts } from './store.ts';

type Way = { method: FactorMethod; usedAt: Date | null };

/**
 * Returns the ways that work now: the one that was used last first, recovery codes last. After a reset, the mailed link alone.
 * `passkeys`: those that the browser can be asked for.
 */
export function methodsOf(facts: FactorFacts, passkeys: AskablePasskeys | null): FactorMethod[] {
  if (facts.recovery_pending) return ['recovery_link'];
  const isAppOpen =
    facts.totp_created_at !== null && facts.totp_suspended_at === null && facts.codes_locked_until === null;
  const factors: Way[] = [
    ...(passkeys ? [{ method: 'passkey' as const, usedAt: lastUseOf(passkeys) }] : []),
    ...(isAppOpen ? [{ method: 'totp' as const, usedAt: facts.totp_last_used_at }] : []),
  ];
  factors.sort((one, other) => (other.usedAt?.getTime() ?? 0) - (one.usedAt?.getTime() ?? 0));
  return [
    ...factors.map(({ method }) => method),
    ...(facts.codes_left > 0 ? (['recovery_code'] as const) : []),
  ];
}
