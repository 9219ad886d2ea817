// Tells people and administrators what an account requires of its sign-ins.
// It must not refuse a request for it: the guard does.
import { type Acr, reaches } from '@castellan/contract/authentication';
import type { AccountRequirement } from '@castellan/contract/factors';
import type { UnmetRequirement } from '@castellan/contract/requirements';
import type { Clock } from '../../../platform/clock.ts';
import type { Db } from '../../../schema/database.ts';
import type { UserRow } from '../../../schema/user-record.ts';
import { strongestFactor } from '../../factors/service.ts';
import type { GraphSource } from '../graph/graph.ts';
import {
  type AccountNeed,
  accountLevel,
  accountNeeds,
  type Judging,
  type PolicySettings,
  policyOf,
  unmetNeed,
} from './account.ts';

export type RequirementDeps = {
  db: Db;
  clock: Clock;
  graphSource: GraphSource;
  settings: PolicySettings;
};

type Account = Pick<UserRow, 'user_id' | 'is_superuser' | 'role_ids' | 'authz_stamp'>;

async function judgingOf(deps: RequirementDeps, { authz_stamp }: Account): Promise<Judging> {
  return {
    graph: await deps.graphSource.at(authz_stamp),
    policy: policyOf(deps.settings),
    now: deps.clock.now(),
  };
}

/** Null: at once, for good. */
const timeOf = ({ from }: AccountNeed): string | null => (from === 0 ? null : new Date(from).toISOString());

/** Returns what a sign-in with this level tells: nothing unless its account requires more, or will. */
export async function noticeOf(
  deps: RequirementDeps,
  account: Account,
  acr: Acr,
): Promise<{ secondFactor?: UnmetRequirement }> {
  const judging = await judgingOf(deps, account);
  const unmet = unmetNeed(judging, account, acr);
  if (!unmet) return {};
  const strongest = await strongestFactor(deps.db, account.user_id, judging.policy.rpIds);
  return {
    secondFactor: {
      required_acr: unmet.acr,
      enforced_from: timeOf(unmet),
      enrolled: strongest !== null && reaches(strongest, unmet.acr),
    },
  };
}

/** Returns the strongest level that the account requires now; null for none. */
export const levelOf = async (deps: RequirementDeps, account: Account): Promise<Acr | null> =>
  accountLevel(await judgingOf(deps, account), account);

/** Returns what the account requires: what its factors do not meet first, otherwise the strongest. Null for nothing. */
export async function requirementOf(
  deps: RequirementDeps,
  account: Account,
): Promise<AccountRequirement | null> {
  const judging = await judgingOf(deps, account);
  const needs = accountNeeds(judging, account);
  if (needs.length === 0) return null;
  const strongest = await strongestFactor(deps.db, account.user_id, judging.policy.rpIds);
  const unmet = unmetNeed(judging, account, strongest);
  const told = unmet ?? needs.find(({ acr }) => needs.every((other) => reaches(acr, other.acr)));
  return told ? { required_acr: told.acr, enforced_from: timeOf(told), met: unmet === null } : null;
}
