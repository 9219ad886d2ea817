// Orders the ways to sign in by what the account requires, and keeps people from removing the factor that it requires.
import { type Acr, type FactorMethod, reaches } from '@castellan/contract/authentication';
import { AppError } from '../../../platform/errors.ts';
import type { Tx } from '../../../schema/database.ts';
import { type PolicySettings, policyOf } from '../../authz/requirements/account.ts';
import { findAccountLevel } from '../../authz/requirements/standing.ts';
import { strongestFactor } from '../../factors/service.ts';

export { noticeOf, type RequirementDeps, requirementOf } from '../../authz/requirements/told.ts';

const reached: Readonly<Record<FactorMethod, Acr>> = {
  passkey: 'phr',
  totp: 'aal2',
  recovery_code: 'aal2',
  recovery_link: 'aal1',
};

/** Returns the methods with those first that reach the level. Recovery codes stay last. */
export function preferring(methods: readonly FactorMethod[], required: Acr | null): FactorMethod[] {
  if (required === null) return [...methods];
  const rankOf = (method: FactorMethod): number =>
    method === 'recovery_code' ? 2 : Number(!reaches(reached[method], required));
  return methods.toSorted((one, other) => rankOf(one) - rankOf(other));
}

/** Call it after the removal of a factor, in its transaction. Throws `last_factor` (409) if the account requires one of the level. */
export async function requireFactorsLeft(tx: Tx, settings: PolicySettings, userId: string): Promise<void> {
  const policy = policyOf(settings);
  const required = await findAccountLevel(tx, policy, userId);
  if (required === null) return;
  const strongest = await strongestFactor(tx, userId, policy.rpIds);
  if (strongest === null || !reaches(strongest, required)) throw new AppError('last_factor');
}
