// Presents a person's own factors. It must not show a secret, a hash or a counter.
import type { Factors } from '@castellan/contract/factors';
import { AppError } from '../../../platform/errors.ts';
import type { Db } from '../../../schema/database.ts';
import { type FactorFacts, findFactorFacts } from '../../factors/service.ts';
import type { Context } from '../../sessions/service.ts';
import type { SecondFactorDeps } from './deps.ts';

const timeOf = (at: Date | null): string | null => at?.toISOString() ?? null;

/** Throws `token_revoked` if the account is gone. `context`: of the token that will read it. */
export async function readFactors(
  db: Db,
  { settings }: Pick<SecondFactorDeps, 'settings'>,
  userId: string,
  context: Context,
): Promise<Factors> {
  const facts = await findFactorFacts(db, userId);
  if (!facts) throw new AppError('token_revoked');
  return {
    totp: totpOf(facts),
    recovery_codes:
      facts.codes_created_at === null
        ? null
        : { left: facts.codes_left, created_at: facts.codes_created_at.toISOString() },
    available: { totp: settings.secondFactors.includes('totp') },
    context: { acr: context.acr, auth_time: context.authTime.toISOString() },
  };
}

const totpOf = (facts: FactorFacts): Factors['totp'] =>
  facts.totp_created_at === null
    ? null
    : {
        created_at: facts.totp_created_at.toISOString(),
        last_used_at: timeOf(facts.totp_last_used_at),
        suspended: facts.totp_suspended_at !== null,
      };
