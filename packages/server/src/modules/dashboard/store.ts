// SQL of the dashboard. It reads other modules' tables and writes nothing.
import type { ActivityDay, AttentionCode, Dashboard } from '@castellan/contract/dashboard';
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { shownEmail } from '../../platform/security/email.ts';
import {
  isInNoRole,
  isInvitationEnded,
  isRemovedAfter,
  isWithoutPermissions,
} from '../../schema/attention.ts';
import type { Db } from '../../schema/database.ts';
import { liveSessionCount } from '../../schema/live/sessions.ts';
import { lockedUsers } from '../../schema/locked-users.ts';
import { roleHolderCount, unheldRoleCount } from '../../schema/role-holders.ts';
import {
  type Demands,
  lacksAsAnybody,
  lacksAsHolder,
  lacksAsSuperuser,
  lacksPasskey,
} from '../../schema/unmet-requirement.ts';
import { activeUserCount, userCount } from '../../schema/user-counts.ts';
import { userStatus } from '../../schema/user-status.ts';

export async function countAllUsers(db: Db): Promise<number> {
  return onlyRow(await sql<{ total: number }>`select ${userCount}::integer as total`.execute(db)).total;
}

export async function readStats(db: Db): Promise<Required<Dashboard['stats']>> {
  const { rows } = await sql<Required<Dashboard['stats']>>`
    select ${userCount}::integer as total_users,
           ${activeUserCount}::integer as active_users,
           (select count(*)::integer from roles) as total_roles,
           (select count(*)::integer from permissions) as total_permissions,
           ${liveSessionCount}::integer as active_sessions`.execute(db);
  const [stats] = rows;
  if (!stats) throw new Error('the statement returned no row');
  return stats;
}

/** Returns the events of the latest days, today last, a row for each day. */
export async function readActivity(db: Db, days: number): Promise<ActivityDay[]> {
  const { rows } = await sql<ActivityDay>`
    select to_char(today.day - ago.days, 'YYYY-MM-DD') as day, counted.*
    from (select (now() at time zone 'UTC')::date as day) today
    cross join generate_series(${days - 1}::integer, 0, -1) as ago (days)
    cross join lateral (
      select coalesce(sum(a.sign_ins), 0)::float8 as sign_ins, coalesce(sum(a.refusals), 0)::float8 as refusals,
             coalesce(sum(a.registrations), 0)::float8 as registrations
      from activity_days a where a.day = today.day - ago.days) counted
    order by ago.days desc`.execute(db);
  return rows;
}

type AlwaysCounted = Exclude<AttentionCode, 'users_without_required_factor'>;
type UnusedCount = 'permissions_without_roles' | 'roles_without_permissions';
type Unused = Record<UnusedCount, number> & { stamp: string };

/** Keeps the latest numbers: they cost most where there are many roles and permissions, and change only with these. */
export type KeptUnused = { latest: { stamp: string; unused: Promise<Unused> } | null };

/** Never repeats; changes with roles, permissions and their assignments to each other. */
const accessStamp = sql`(
  select a.stamp::text || ' ' || c.stamp::text from authz_version a, catalogue_version c)`;

/**
 * The most locked users, ended invitations and users without a required factor that are counted. Each lock costs a look-up of its user: 1,000 cost
 * 5 ms of processor time, 22,913 cost 129 (bench/README.md).
 */
export const MOST_COUNTED_USERS = 1_000;
const firstUsers = sql.lit(MOST_COUNTED_USERS + 1);

/**
 * Returns the number of records that the list with the same filters shows; of locked users and ended invitations, at most one more
 * than MOST_COUNTED_USERS. `removedAfterHours`: see the list of users.
 */
export async function countAttention(
  db: Db,
  keptUnused: KeptUnused,
  removedAfterHours: number,
): Promise<Record<AlwaysCounted, number>> {
  const result = await sql<Record<Exclude<AlwaysCounted, UnusedCount>, number> & { stamp: string }>`
    select (select count(*)::integer from (select from ${lockedUsers} limit ${firstUsers}) first) as locked_users,
      (select count(*)::integer from users u where ${isRemovedAfter(removedAfterHours)}) as unverified_users_near_removal,
      (select count(*)::integer from (select from users u where ${isInvitationEnded} limit ${firstUsers}) first) as invitations_ended,
      (${userCount} - ${roleHolderCount})::integer as users_without_roles,
      ${unheldRoleCount}::integer as roles_without_holders,
      ${accessStamp} as stamp`.execute(db);
  const { stamp, ...counts } = onlyRow(result);
  const { permissions_without_roles, roles_without_permissions } = await findUnused(db, keptUnused, stamp);
  return { ...counts, permissions_without_roles, roles_without_permissions };
}

/** Returns how many active users lack a demanded factor: see MOST_COUNTED_USERS. */
export async function countWithoutRequiredFactor(db: Db, demands: Demands): Promise<number> {
  // Each condition has its own limit, so that an index finds its users: together, they would be asked of every user.
  const result = await sql<{ count: number }>`${plannedForValues}
    select count(*)::integer as count from (
      (select u.id from users u where u.is_active and ${lacksAsAnybody(demands)} limit ${firstUsers})
      union (select u.id from users u where u.is_active and ${lacksAsSuperuser(demands)} limit ${firstUsers})
      union (select u.id from users u where u.is_active and ${lacksAsHolder(demands)} limit ${firstUsers})
      union (select u.id from users u where u.is_active and ${lacksPasskey(demands)} limit ${firstUsers})) lacking`.execute(
    db,
  );
  return onlyRow(result).count;
}

/** Returns numbers that are at least as new as the stamp. Requests at the same time share one count. */
function findUnused(db: Db, kept: KeptUnused, stamp: string): Promise<Unused> {
  if (kept.latest?.stamp === stamp) return kept.latest.unused.catch(() => countUnused(db));
  const unused = countUnused(db);
  const counting = { stamp, unused };
  kept.latest = counting;
  const replaceBy = (counted: Unused | null): void => {
    if (kept.latest !== counting) return;
    // After a failover without a change that was counted, the stamp would be that of the request again.
    kept.latest = counted && { stamp: counted.stamp, unused };
  };
  unused.then(replaceBy, () => replaceBy(null));
  return unused;
}

/** The stamp is that of the counted records, because both belong to one snapshot. */
async function countUnused(db: Db): Promise<Unused> {
  return onlyRow(
    await sql<Unused>`
      select (select count(*)::integer from permissions p where ${isInNoRole} and not p.is_builtin) as permissions_without_roles,
        (select count(*)::integer from roles r where ${isWithoutPermissions}) as roles_without_permissions,
        ${accessStamp} as stamp`.execute(db),
  );
}

const lastActive = sql`coalesce(to_char(l.logged_in_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'), 'N/A') as last_active`;
const fullName = sql`rtrim(u.first_name || ' ' || u.last_name) as name`;

const withShownEmail = <T extends { email: string }>(user: T): T => ({
  ...user,
  email: shownEmail(user.email),
});

/** Returns the users with the most recent sign-ins, newest first, each once. */
export async function findRecentLogins(
  db: Db,
  limit: number,
): Promise<NonNullable<Dashboard['recent_logins']>> {
  const { rows } = await sql<NonNullable<Dashboard['recent_logins']>[number]>`
    select u.id, ${fullName}, u.email, ${lastActive}
    from last_logins l join users u on u.id = l.user_id order by l.logged_in_at desc, u.id limit ${limit}`.execute(
    db,
  );
  return rows.map(withShownEmail);
}

export async function findNewestUsers(
  db: Db,
  limit: number,
): Promise<NonNullable<Dashboard['system_users_summary']>> {
  const { rows } = await sql<NonNullable<Dashboard['system_users_summary']>[number]>`
    select u.id, ${fullName}, u.email, ${lastActive},
      coalesce((
        select string_agg(r.name, ', ' order by lower(r.name)) from held_user_roles ur join roles r on r.id = ur.role_id
        where ur.user_id = u.id), 'N/A') as role,
      ${userStatus} as status
    from (select * from users order by created_at desc, id desc limit ${limit}) u
    left join last_logins l on l.user_id = u.id
    order by u.created_at desc, u.id desc`.execute(db);
  return rows.map(withShownEmail);
}
