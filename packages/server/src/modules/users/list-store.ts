// SQL of the lists of users, with exact totals.
import type { PageQuery } from '@castellan/contract/common';
import type { UserSortOrder, UserStatus } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';
import { offsetOf } from '../../platform/pages.ts';
import { isRemovedAfter, isWithoutRoles } from '../../schema/attention.ts';
import type { Db, Row } from '../../schema/database.ts';
import { userColumns } from '../../schema/user-record.ts';
import { hasStatus, userStatus } from '../../schema/user-status.ts';
import type { VersionedUser } from './presentation.ts';
import { searchCondition } from './search.ts';

export type UserFilter = {
  /** Canonical email; null matches no user. */
  email?: string | null;
  search?: string;
  status?: UserStatus;
  withoutRoles?: true;
  /** Only registered accounts that the clean-up removes once they are older than these hours. */
  removedAfterHours?: number;
  roleId?: string;
  /** Only users whose id is greater. */
  afterId?: string;
  isActive?: boolean;
  verified?: boolean;
};

// Each order is total and has an index: the index ends with the id, or the column is unique.
const orders: Record<string, RawBuilder<unknown>> = {
  created_at: sql`u.created_at`,
  email: sql`u.email`,
  last_name: sql`lower(u.last_name)`,
  id: sql`u.id`,
};

function conditionOf(filter: UserFilter): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  if (filter.email === null) conditions.push(sql`false`);
  else if (filter.email !== undefined) conditions.push(sql`u.email = ${filter.email}`);
  if (filter.search !== undefined) conditions.push(searchCondition(filter.search));
  if (filter.status !== undefined) conditions.push(hasStatus[filter.status]);
  if (filter.withoutRoles) conditions.push(isWithoutRoles);
  if (filter.removedAfterHours !== undefined) conditions.push(isRemovedAfter(filter.removedAfterHours));
  if (filter.roleId !== undefined)
    conditions.push(
      sql`exists (select from user_roles r where r.user_id = u.id and r.role_id = ${filter.roleId})`,
    );
  if (filter.afterId !== undefined) conditions.push(sql`u.id > ${filter.afterId}`);
  if (filter.isActive !== undefined) conditions.push(sql`u.is_active = ${filter.isActive}`);
  if (filter.verified !== undefined) conditions.push(sql`u.verified = ${filter.verified}`);
  return sql.join(conditions, sql` and `);
}

// Up to this many matches are collected and sorted, which takes about 20 ms. With more matches, a scan of the order's
// index soon finds a page; with few, it would read most of the index.
const FEW = 20_000;
// Tells the planner the maximum page size (contract: size, at most 100).
const LARGEST_PAGE = sql.lit(100);

/**
 * Returns one page of users and the exact total, from one snapshot. The page comes from one of three subqueries:
 * collected matches, a scan from the start of the order, or a scan from its end, so that last pages are as fast as
 * first ones. The other two have a limit of 0 or a false condition and do not run. The subqueries select ids only, so
 * that without a filter an index-only scan is enough.
 */
export async function findUserPage(
  db: Db,
  filter: UserFilter,
  sort: UserSortOrder,
  query: PageQuery,
): Promise<{ total: number; users: VersionedUser[] }> {
  const key = orders[sort.replace(/^-/, '')];
  if (!key) throw new Error(`unknown order: ${sort}`);
  const [forwards, backwards] = sort.startsWith('-') ? [sql`desc`, sql`asc`] : [sql`asc`, sql`desc`];
  const condition = conditionOf(filter);
  const few = sql.lit(Object.keys(filter).length > 0 ? FEW : 0);
  const offset = sql`${offsetOf(query)}::bigint`;
  const size = sql`${query.size}::bigint`;
  const { rows } = await sql<VersionedUser & { total: string; user_id: string | null }>`
    with matching as materialized (select count(*) as total from users u where ${condition}),
    collected as materialized (
      select u.id, ${key} as key from users u where ${condition} and (select total from matching) <= ${few}),
    page as (
      (select id from collected order by key ${forwards}, id ${forwards} limit ${size} offset ${offset})
      union all
      (select u.id from users u where ${condition} order by ${key} ${forwards}, u.id ${forwards}
       limit (select case when total > ${few} and ${offset} * 2 <= total then ${size} else 0 end from matching)
       offset ${offset})
      union all
      (select u.id from users u where ${condition} order by ${key} ${backwards}, u.id ${backwards}
       limit (select case when total > ${few} and ${offset} * 2 > total
                          then greatest(least(${size}, total - ${offset}), 0) else 0 end from matching)
       offset (select greatest(total - ${offset} - ${size}, 0) from matching)))
    select m.total, ${sql.raw(userColumns)}
    from matching m
    left join ((select id from page limit ${LARGEST_PAGE}) p join users u on u.id = p.id) on true
    order by ${key} ${forwards}, u.id ${forwards}`.execute(db);
  return {
    total: Number(rows[0]?.total ?? 0),
    users: rows.filter((row) => row.user_id !== null),
  };
}

export type ActivityRow = {
  user_id: Row<'users'>['id'];
  status: UserStatus;
  live_sessions: number;
  last_active_at: Date | null;
};

/** Returns the status, the live sessions and the last activity of these users, in no particular order. */
export async function findActivity(db: Db, ids: readonly string[]): Promise<ActivityRow[]> {
  const { rows } = await sql<ActivityRow>`
    select u.id as user_id, ${userStatus} as status, live.sessions as live_sessions,
           greatest(l.logged_in_at, live.last_used_at) as last_active_at
    from users u left join last_logins l on l.user_id = u.id
    cross join lateral (
      select count(*)::integer as sessions, max(s.last_used_at) as last_used_at from sessions s
      where s.user_id = u.id
        and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)) as live
    where u.id = any(${ids}::uuid[])`.execute(db);
  return rows;
}
