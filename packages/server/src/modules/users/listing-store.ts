// SQL of the lists of users, with exact totals.
import type { PageQuery } from '@castellan/contract/common';
import type { UserSortOrder } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../database.ts';
import { escapeLike } from '../../platform/db/sql.ts';
import { offsetOf } from '../../platform/http/pages.ts';
import { userColumns, type VersionedUser } from './presentation.ts';

export type UserFilter = {
  /** Canonical; null matches nobody. */
  email?: string | null;
  search?: string;
  roleId?: string;
  isActive?: boolean;
  verified?: boolean;
};

// Each has an index that ends with the id, or is unique by itself: a total order, read without the table.
const orders: Record<string, RawBuilder<unknown>> = {
  created_at: sql`u.created_at`,
  email: sql`u.email`,
  last_name: sql`lower(u.last_name)`,
};

// Shorter texts hold no trigram: the index would be read as a whole, and then every row.
const SHORTEST_INDEXED = 3;

function searchCondition(text: string): RawBuilder<unknown> {
  // It parts name and address in `search_text`, and stands in neither.
  if (text.includes('\n')) return sql`false`;
  return text.length < SHORTEST_INDEXED
    ? sql`strpos(u.search_text, lower(${text})) > 0`
    : sql`u.search_text like lower(${`%${escapeLike(text)}%`})`;
}

function conditionOf(filter: UserFilter): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  if (filter.email === null) conditions.push(sql`false`);
  else if (filter.email !== undefined) conditions.push(sql`u.email = ${filter.email}`);
  if (filter.search !== undefined) conditions.push(searchCondition(filter.search));
  if (filter.roleId !== undefined)
    conditions.push(
      sql`exists (select from user_roles r where r.user_id = u.id and r.role_id = ${filter.roleId})`,
    );
  if (filter.isActive !== undefined) conditions.push(sql`u.is_active = ${filter.isActive}`);
  if (filter.verified !== undefined) conditions.push(sql`u.verified = ${filter.verified}`);
  return sql.join(conditions, sql` and `);
}

// Up to so many users that match a filter are collected and sorted: some 20 ms. Where more match, walking an order's
// index finds a page of them soon; where few do, it would walk in vain.
const FEW = 20_000;
// Keeps the planner from preparing for more than a page can hold (contract: size, at most 100).
const LARGEST_PAGE = sql.lit(100);

/**
 * Total and page are of one snapshot. Of the three ways to a page two have a limit of 0 or a false condition, and do
 * not run: collected; walked from the start of the order; walked from its end, so that last pages cost as little as
 * first ones. Ids come first, without a filter from the index alone.
 */
export async function findUserPage(
  db: Db,
  filter: UserFilter,
  sort: UserSortOrder,
  query: PageQuery,
): Promise<{ total: number; users: VersionedUser[] }> {
  const key = orders[sort.replace(/^-/, '')] as RawBuilder<unknown>;
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
    select m.total, ${userColumns}
    from matching m
    left join ((select id from page limit ${LARGEST_PAGE}) p join users u on u.id = p.id) on true
    order by ${key} ${forwards}, u.id ${forwards}`.execute(db);
  return {
    total: Number(rows[0]?.total ?? 0),
    users: rows.filter((row) => row.user_id !== null),
  };
}
