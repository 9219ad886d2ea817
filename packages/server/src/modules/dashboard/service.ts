// Reads the dashboard, with the content that the caller may see.
import {
  type ActivityDay,
  type AttentionCode,
  type AttentionItem,
  attentionCodes,
  attentionFilters,
  type Dashboard,
} from '@castellan/contract/dashboard';
import { AppError } from '../../platform/errors.ts';
import type { Db } from '../../schema/database.ts';
import { isDemanding } from '../../schema/unmet-requirement.ts';
import type { Caller } from '../authz/caller.ts';
import { isAdministrator } from '../authz/effective.ts';
import { demandsOf, type PolicySettings, policyOf } from '../authz/requirements/account.ts';
import {
  countAllUsers,
  countAttention,
  countWithoutRequiredFactor,
  findNewestUsers,
  findRecentLogins,
  type KeptUnused,
  MOST_COUNTED_USERS,
  readActivity,
  readStats,
} from './store.ts';

export type { KeptUnused } from './store.ts';

/** Rows of each of the two lists (decisions: 10 latest logins, 10 newest users). */
const LIST_LENGTH = 10;

/** Returns the full dashboard for administrators, and only the number of users for everyone else. */
export async function readDashboard(deps: { db: Db }, caller: Caller): Promise<Dashboard> {
  if (isAdministrator(caller.graph, caller.principal.subject)) return readFullDashboard(deps);
  return {
    stats: { total_users: await countAllUsers(deps.db) },
    recent_logins: null,
    system_users_summary: null,
  };
}

/** Returns the full dashboard. Throws `admin_required` (403). */
export async function readStatistics(deps: { db: Db }, caller: Caller): Promise<Dashboard> {
  requireAdministrator(caller);
  return readFullDashboard(deps);
}

/** Returns what happened on each of the latest days, today last. Throws `admin_required` (403). */
export async function readActivityOf(deps: { db: Db }, caller: Caller, days: number): Promise<ActivityDay[]> {
  requireAdministrator(caller);
  return readActivity(deps.db, days);
}

export type AttentionDeps = {
  db: Db;
  keptUnused: KeptUnused;
  settings: PolicySettings & { unverifiedAccountHours: number };
};

/**
 * Returns what deserves attention, with the lists that show it. Users without a required factor are counted only where something
 * is required. Throws `admin_required` (403).
 */
export async function readAttention(deps: AttentionDeps, caller: Caller): Promise<AttentionItem[]> {
  requireAdministrator(caller);
  const within = Number(attentionFilters.unverified_users_near_removal.query.removal_within_hours);
  const removedAfterHours = deps.settings.unverifiedAccountHours - within;
  const demands = demandsOf({ graph: caller.graph, policy: policyOf(deps.settings) });
  const [counted, withoutFactor] = await Promise.all([
    countAttention(deps.db, deps.keptUnused, removedAfterHours),
    isDemanding(demands) ? countWithoutRequiredFactor(deps.db, demands) : null,
  ]);
  const counts: Partial<Record<AttentionCode, number>> = {
    ...counted,
    ...(withoutFactor === null ? {} : { users_without_required_factor: withoutFactor }),
  };
  return attentionCodes.flatMap((code) => {
    const count = counts[code];
    return count === undefined ? [] : [itemOf(code, count)];
  });
}

function itemOf(code: AttentionCode, count: number): AttentionItem {
  const { resource, query } = attentionFilters[code];
  const path = `/api/v1/${resource}`;
  const isEstimate = countedUpTo.has(code) && count > MOST_COUNTED_USERS;
  return {
    code,
    count: isEstimate ? MOST_COUNTED_USERS : count,
    ...(isEstimate ? { count_is_estimate: true } : {}),
    filter: { path: `${path}?${new URLSearchParams(query)}`, resource: path, query },
  };
}

const countedUpTo: ReadonlySet<AttentionCode> = new Set([
  'locked_users',
  'invitations_ended',
  'users_without_required_factor',
]);

function requireAdministrator(caller: Caller): void {
  if (!isAdministrator(caller.graph, caller.principal.subject)) throw new AppError('admin_required');
}

async function readFullDashboard({ db }: { db: Db }): Promise<Dashboard> {
  const [stats, recent_logins, system_users_summary] = await Promise.all([
    readStats(db),
    findRecentLogins(db, LIST_LENGTH),
    findNewestUsers(db, LIST_LENGTH),
  ]);
  return { stats, recent_logins, system_users_summary };
}
