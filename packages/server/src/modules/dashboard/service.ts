// What the dashboard shows to whom. It only reads.
import type { Dashboard } from '@castellan/contract/dashboard';
import type { Db } from '../../database.ts';
import { AppError } from '../../platform/errors.ts';
import { isAdministrator } from '../authz/effective.ts';
import type { Actor } from '../authz/guard.ts';
import { countAllUsers, findNewestUsers, findRecentLogins, readStats } from './store.ts';

/** Rows of each of the two lists (decisions: 10 latest logins, 10 newest users). */
const LIST_LENGTH = 10;

/** Administrators see everything, everybody else how many users there are. */
export async function readDashboard(deps: { db: Db }, actor: Actor): Promise<Dashboard> {
  if (isAdministrator(actor.graph, actor)) return readFullDashboard(deps);
  return {
    stats: { total_users: await countAllUsers(deps.db) },
    recent_logins: null,
    system_users_summary: null,
  };
}

/** Throws `admin_required` (403). */
export async function readStatistics(deps: { db: Db }, actor: Actor): Promise<Dashboard> {
  if (!isAdministrator(actor.graph, actor)) throw new AppError('admin_required');
  return readFullDashboard(deps);
}

async function readFullDashboard({ db }: { db: Db }): Promise<Dashboard> {
  const [stats, recent_logins, system_users_summary] = await Promise.all([
    readStats(db),
    findRecentLogins(db, LIST_LENGTH),
    findNewestUsers(db, LIST_LENGTH),
  ]);
  return { stats, recent_logins, system_users_summary };
}
