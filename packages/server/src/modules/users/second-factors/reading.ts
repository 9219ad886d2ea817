// Reads the second factors of another user, for administrators.
import type { UserFactors } from '@castellan/contract/user-factors';
import { AppError } from '../../../platform/errors.ts';
import { levelOf, type RequirementDeps, requirementOf } from '../../authz/requirements/told.ts';
import { countTrustedDevices, type DeviceSettings, mayTrustDevice } from '../../devices/service.ts';
import { findShownFactors, type PresentationDeps } from '../../factors/service.ts';
import { findUserById } from '../store.ts';

export type ReadFactorsDeps = PresentationDeps &
  RequirementDeps & { settings: Pick<DeviceSettings, 'trustedDeviceDays'> };

/** Throws `user_not_found`. */
export async function readUserFactors(deps: ReadFactorsDeps, id: string): Promise<UserFactors> {
  const [user, found] = await Promise.all([findUserById(deps.db, id), findShownFactors(deps, id)]);
  if (!user || !found) throw new AppError('user_not_found');
  const { facts, shown } = found;
  const isTrustOn = mayTrustDevice(deps.settings, await levelOf(deps, user));
  return {
    ...shown,
    requirement: await requirementOf(deps, user),
    failures: {
      locked_until: facts.codes_locked_until?.toISOString() ?? null,
      suspended: facts.totp_suspended_at !== null,
    },
    trusted_devices: isTrustOn ? await countTrustedDevices(deps.db, id) : 0,
    recovery_pending: facts.recovery_pending,
  };
}
