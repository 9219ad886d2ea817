// Decides how the holder of an account must have signed in: the strongest of the setting and of its roles.
// It has no side effects. Service accounts are under no requirement: they have nothing to prove with.
import { type Acr, reaches } from '@castellan/contract/authentication';
import {
  type PasskeySettings,
  passkeySiteOf,
  usableRpIds,
} from '../../../platform/security/factors/passkey-site.ts';
import type { Demands } from '../../../schema/unmet-requirement.ts';
import type { Subject } from '../effective.ts';
import type { Graph } from '../graph/graph.ts';
import { strongerOf } from '../graph/needs.ts';

export type PolicySettings = PasskeySettings & {
  secondFactorRequiredFor: 'nobody' | 'superusers' | 'administrators' | 'everyone';
  secondFactorEnforcedFrom: Date | undefined;
};

export type Policy = {
  /** Whom the setting concerns. */
  requiredFor: PolicySettings['secondFactorRequiredFor'];
  /** Since when, in milliseconds since 1970. */
  from: number;
  /** The RP IDs whose passkeys meet a requirement: others cannot be used here. */
  rpIds: readonly string[];
};

/** The level that the setting asks for. */
const POLICY_ACR = 'aal2';

export const policyOf = (settings: PolicySettings): Policy => ({
  requiredFor: settings.secondFactorRequiredFor,
  from: settings.secondFactorEnforcedFrom?.getTime() ?? 0,
  rpIds: usableRpIds(passkeySiteOf(settings)),
});

/** What an account is under, in force or announced. `from`: in milliseconds since 1970. */
export type AccountNeed = { acr: Acr; from: number };

/** By what the service judges an account: its roles and permissions, the setting, and the time in milliseconds since 1970. */
export type Judging = { graph: Graph; policy: Policy; now: number };

type Account = Pick<Subject, 'is_superuser' | 'role_ids'>;

/** Returns whether anything is required of anybody, now. */
export function isAnythingRequired({ graph: { permissions, roles }, policy, now }: Judging): boolean {
  if (permissions.hasNeeds || (policy.requiredFor !== 'nobody' && policy.from <= now)) return true;
  if (roles.withNeed === 0) return false;
  for (const { need } of roles.values()) if (need && need.from <= now) return true;
  return false;
}

/** Returns every requirement of the account of a person. */
export function accountNeeds({ graph, policy }: Omit<Judging, 'now'>, account: Account): AccountNeed[] {
  if (policy.requiredFor === 'nobody' && graph.roles.withNeed === 0) return [];
  const needs: AccountNeed[] = account.role_ids.flatMap((id) => graph.roles.get(id)?.need ?? []);
  if (isUnderPolicy(graph, policy, account)) needs.push({ acr: POLICY_ACR, from: policy.from });
  return needs;
}

function isUnderPolicy(graph: Graph, { requiredFor }: Policy, { is_superuser, role_ids }: Account): boolean {
  if (requiredFor === 'everyone') return true;
  if (requiredFor === 'nobody') return false;
  if (is_superuser) return true;
  return (
    requiredFor === 'administrators' && role_ids.some((id) => graph.roles.get(id)?.isAdministrative ?? false)
  );
}

/** Returns the level that the setting asks for now, by what a statement found; null for none. */
export function requiredBySetting(
  { requiredFor, from }: Omit<Policy, 'rpIds'>,
  now: { is_superuser: boolean; is_administrator: boolean; judged_at: Date },
): Acr | null {
  const isConcerned = {
    nobody: false,
    superusers: now.is_superuser,
    administrators: now.is_superuser || now.is_administrator,
    everyone: true,
  }[requiredFor];
  return isConcerned && from <= now.judged_at.getTime() ? POLICY_ACR : null;
}

/** Returns the strongest level that is in force; null for none. */
export function accountLevel(judging: Judging, account: Account): Acr | null {
  let level: Acr | null = null;
  for (const { acr, from } of accountNeeds(judging, account))
    if (from <= judging.now) level = strongerOf(level, acr);
  return level;
}

/**
 * Returns the requirement that `acr` does not meet, for a notice: the strongest one in force, otherwise the next one to come.
 */
export function unmetNeed(judging: Judging, account: Account, acr: Acr | null): AccountNeed | null {
  const unmet = accountNeeds(judging, account).filter((need) => acr === null || !reaches(acr, need.acr));
  const [first] = unmet.toSorted((one, other) => rankOf(judging, one) - rankOf(judging, other));
  const inForce = unmet.filter(({ from }) => from <= judging.now);
  return inForce.find((need) => inForce.every((other) => reaches(need.acr, other.acr))) ?? first ?? null;
}

const rankOf = ({ now }: Judging, { from }: AccountNeed): number => Math.max(from, now);

/** Whose accounts are under a stronger requirement than `acr`, now. */
export type StrongerDemands = { roleIds: string[]; superusers: boolean; everyone: boolean };

/** Returns by what an account is under a requirement, in force or announced. `accountNeeds` says the same of one account. */
export function demandsOf({ graph, policy: { requiredFor, rpIds } }: Omit<Judging, 'now'>): Demands {
  const countsAdministrators = requiredFor === 'administrators';
  const aal2RoleIds: string[] = [];
  const phrRoleIds: string[] = [];
  for (const { id, need, isAdministrative } of demanding(graph, countsAdministrators)) {
    if (need?.acr === 'phr') phrRoleIds.push(id);
    else if (need || (countsAdministrators && isAdministrative)) aal2RoleIds.push(id);
  }
  return {
    aal2RoleIds,
    phrRoleIds,
    superusers: requiredFor !== 'nobody',
    everyone: requiredFor === 'everyone',
    rpIds,
  };
}

/** Returns by what an account would be under a stronger requirement than `acr`. `accountLevel` says the same of one account. */
export function demandsBeyond({ graph, policy, now }: Judging, acr: Acr): StrongerDemands {
  const isPolicyBeyond = policy.requiredFor !== 'nobody' && policy.from <= now && !reaches(acr, POLICY_ACR);
  const countsAdministrators = isPolicyBeyond && policy.requiredFor === 'administrators';
  const roleIds: string[] = [];
  for (const { id, need, isAdministrative } of demanding(graph, countsAdministrators))
    if ((need && need.from <= now && !reaches(acr, need.acr)) || (countsAdministrators && isAdministrative))
      roleIds.push(id);
  return {
    roleIds,
    superusers: isPolicyBeyond,
    everyone: isPolicyBeyond && policy.requiredFor === 'everyone',
  };
}

const demanding = ({ roles }: Graph, countsAdministrators: boolean) =>
  countsAdministrators || roles.withNeed > 0 ? roles.values() : [];
