// Reads the second factors of another user, for administrators.
import type { UserFactors } from '@castellan/contract/user-factors';
import { AppError } from '../../../platform/errors.ts';
import { type RequirementDeps, requirementOf } from '../../authz/requirements/told.ts';
import { findShownFactors, type PresentationDeps } from '../../factors/service.ts';
import { findUserById } from '../store.ts';
import { countTrustedDevices } from './store.ts';

export type ReadFactorsDeps = PresentationDeps & RequirementDeps;

/** Throws `user_not_found`. */
export async function readUserFactors(deps: ReadFactorsDeps, id: string): Promise<UserFactors> {
  const [user, found] = await Promise.all([findUserById(deps.db, id), findShownFactors(deps, id)]);
  if (!user || !found) throw new AppError('user_not_found');
  const { facts, shown } = found;
  return {
    ...shown,
    requirement: await requirementOf(deps, user),
    failures: {
      locked_until: facts.codes_locked_until?.toISOString() ?? null,
      suspended: facts.totp_suspended_at !== null,
    },
    trusted_devices: await countTrustedDevices(deps.db, id),
    recovery_pending: facts.recovery_pending,
  };
}
