// SQL of searches: pages of those who hold a permission, by id.
// Inactive users and service accounts are never in a page: a decision about them is a deny.
import { type RawBuilder, sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Db } from '../../schema/database.ts';

export type HolderSearch = {
  permissionId: string;
  /** Id of the last candidate of the page before; null for the first page. */
  after: string | null;
  /** Maximum results. */
  limit: number;
  /** Id of a user or of a service account that is left out; null for none. */
  without?: string | null;
};

/** Whose accounts must have proved more than the request says. */
type Demands = { roleIds: string[]; superusers: boolean; everyone: boolean };

/** `self` is not under the demands. Null: nobody is. */
export type UserSearch = HolderSearch & { self: string | null; demands: Demands | null };

export type HolderPage = {
  /** May have fewer than `limit` before the end: see `next`. */
  ids: string[];
  /** Where the next page begins (`after`); null if there is none. */
  next: string | null;
  /** Holders of all pages. Null after the first page, and if counting would take long. */
  total: number | null;
};

type PageRow = { ids: string[]; next: string | null; total: string | null };

const readPage = async (query: RawBuilder<PageRow>, db: Db): Promise<HolderPage> => {
  const { ids, next, total } = onlyRow(await query.execute(db));
  return { ids, next, total: total === null ? null : Number(total) };
};

// Smaller than every id of a record.
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

// Counting reads each role of each holder, 10,000 in about 40 ms.
const MAX_COUNTED = sql.lit(10_000);

// Where a permission is in this many roles, as with a role for each tenant, reading the first holders of each role costs
// most. Then nearly everybody holds it, and the next rows of held_user_roles contain a page. They are read first: an index
// scan of a few milliseconds. If they contain no page, few hold the permission, or they are far away.
const MANY_ROLES = sql.lit(16);
const NEAR_ROWS = sql.lit(5_000);

/** SQL condition on a user's id that ends a condition: the search does not leave the user out. Empty where it leaves out nobody. */
function admitted(
  id: RawBuilder<unknown>,
  { without = null, self, demands }: UserSearch,
): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [];
  if (without !== null) conditions.push(sql` and ${id} <> ${without}::uuid`);
  if (demands && (demands.superusers || demands.roleIds.length > 0))
    conditions.push(sql` and (${id} is not distinct from ${self}::uuid or not (
      ${demands.everyone}::boolean
      or ${demands.superusers}::boolean and (select u.is_superuser from users u where u.id = ${id})
      or exists (select from held_user_roles o where o.user_id = ${id} and o.role_id = any(${demands.roleIds}::uuid[]))))`);
  return sql.join(conditions, sql``);
}

// Subqueries, because a join may read whole tables where the planner expects more rows than there are.
const isActiveUser = sql`(select u.is_active from users u where u.id = held.user_id)`;
const isActiveAccount = sql`(select a.is_active from service_accounts a where a.id = held.service_account_id)`;

/**
 * SQL of the page from the first `limit` + 1 candidates (`candidates`: id, is_found), all sorted by id: the ids of
 * those found among the first `limit`, and the last of these if there is another one.
 */
const pageOfCandidates = (limit: number): RawBuilder<unknown> => sql`
  array(select id from (select * from candidates order by id limit ${limit}) shown where is_found order by id) as ids,
  (select coalesce(max(id::text), ${FIRST_ID}) from (select id from candidates order by id limit ${limit}) shown
   having (select count(*) from candidates) > ${limit}) as next`;

/**
 * Returns at most `limit` active users who hold the permission by a role or as superusers, sorted by id. Where many
 * roles hold it, inactive users are left out of a page last, so that it is shorter.
 */
export function findHoldingUsers(db: Db, search: UserSearch): Promise<HolderPage> {
  const { permissionId, after, limit } = search;
  const isFound = sql`(${isActiveUser}${admitted(sql`held.user_id`, search)})`;
  const isFoundSuperuser = sql`is_superuser and is_active${admitted(sql`users.id`, search)}`;
  const start = after ?? FIRST_ID;
  const reach = limit + 1;
  return readPage(
    sql<PageRow>`${plannedForValues}
      with through as materialized (select role_id from role_permissions where permission_id = ${permissionId}),
      width as materialized (select count(*) > ${MANY_ROLES} as is_wide from through),
      near as materialized (
        select user_id, role_id from held_user_roles where (select is_wide from width) and user_id > ${start}
        order by user_id, role_id limit ${NEAR_ROWS}),
      near_holders as materialized (
        select distinct near.user_id from near join through on through.role_id = near.role_id),
      reached as materialized (
        select distinct user_id from (
          (select user_id from near_holders order by user_id limit ${reach})
          union all
          (select holder.user_id from through cross join lateral (
            select held.user_id from held_user_roles held
            where held.role_id = through.role_id and held.user_id > ${start}
              and ((select is_wide from width) or ${isFound})
            order by held.user_id limit ${reach}) holder
           where not (select is_wide from width)
             or (select count(*) from near_holders) < ${reach} and (select count(*) from near) = ${NEAR_ROWS})
          union all
          (select id from users where ${isFoundSuperuser} and id > ${start} order by id limit ${reach})
        ) holder
        order by user_id limit ${reach}),
      candidates as materialized (
        select held.user_id as id, ${isFound} as is_found from reached held)
      select ${pageOfCandidates(limit)},
        case when ${after === null} then (
          select case when count(*) <= ${MAX_COUNTED} then count(distinct user_id) filter (where is_found) end
          from (
            (select holder.* from through cross join lateral (
              select held.user_id, ${isFound} as is_found from held_user_roles held
              where held.role_id = through.role_id limit ${MAX_COUNTED} + 1) holder
             limit ${MAX_COUNTED} + 1)
            union all
            (select id, true from users where ${isFoundSuperuser} limit ${MAX_COUNTED} + 1)
          ) counted) end as total`,
    db,
  );
}

/** Returns at most `limit` active service accounts that hold the permission, sorted by id. */
export function findHoldingAccounts(
  db: Db,
  { permissionId, after, limit, without = null }: HolderSearch,
): Promise<HolderPage> {
  const isFound = sql`held.service_account_id is distinct from ${without}::uuid and ${isActiveAccount}`;
  return readPage(
    sql<PageRow>`${plannedForValues}
      with through as materialized (select role_id from role_permissions where permission_id = ${permissionId}),
      candidates as materialized (
        select distinct holder.service_account_id as id, true as is_found from through cross join lateral (
          select held.service_account_id from held_account_roles held
          where held.role_id = through.role_id and held.service_account_id > ${after ?? FIRST_ID} and ${isFound}
          order by held.service_account_id limit ${limit + 1}) holder
        order by id limit ${limit + 1})
      select ${pageOfCandidates(limit)},
        case when ${after === null} then (
          select case when count(*) <= ${MAX_COUNTED}
            then count(distinct service_account_id) filter (where is_found) end
          from (
            select holder.* from through cross join lateral (
              select held.service_account_id, ${isFound} as is_found from held_account_roles held
              where held.role_id = through.role_id limit ${MAX_COUNTED} + 1) holder
            limit ${MAX_COUNTED} + 1
          ) counted) end as total`,
    db,
  );
}

/** Returns at most `limit` roles with the permission, sorted by id. */
export function findHoldingRoles(db: Db, { permissionId, after, limit }: HolderSearch): Promise<HolderPage> {
  return readPage(
    sql<PageRow>`${plannedForValues}
      with candidates as materialized (
        select role_id as id, true as is_found from role_permissions
        where permission_id = ${permissionId} and role_id > ${after ?? FIRST_ID}
        order by role_id limit ${limit + 1})
      select ${pageOfCandidates(limit)},
        case when ${after === null} then (
          select count(*) from role_permissions where permission_id = ${permissionId}) end as total`,
    db,
  );
}
