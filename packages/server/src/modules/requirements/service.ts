// Lists what the settings, roles and permissions require of sign-ins.
import type { RequirementsEnvelope } from '@castellan/contract/requirements';
import type { Db } from '../../schema/database.ts';
import { type PolicySettings, policyOf } from '../authz/requirements/account.ts';
import { findRequiringPermissions, findRequiringRoles } from './store.ts';

export type RequirementsDeps = { db: Db; settings: PolicySettings };

export async function listRequirements({
  db,
  settings,
}: RequirementsDeps): Promise<RequirementsEnvelope['data']> {
  const [roles, permissions] = await Promise.all([
    findRequiringRoles(db, policyOf(settings).rpIds),
    findRequiringPermissions(db),
  ]);
  return {
    settings: {
      required_for: settings.secondFactorRequiredFor,
      enforced_from: settings.secondFactorEnforcedFrom?.toISOString() ?? null,
    },
    roles,
    permissions,
  };
}
