// SQL of the lists of users. The total is exact; a page costs the same at both ends of the list, whatever its length.
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

// The expression of users_search_idx (migration 0004).
const searched = sql`lower(u.first_name || ' ' || u.last_name || E'\n' || u.email)`;

function conditionOf(filter: UserFilter): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  if (filter.email === null) conditions.push(sql`false`);
  else if (filter.email !== undefined) conditions.push(sql`u.email = ${filter.email}`);
  if (filter.search !== undefined)
    conditions.push(sql`${searched} like lower(${`%${escapeLike(filter.search)}%`})`);
  if (filter.roleId !== undefined)
    conditions.push(
      sql`exists (select from user_roles r where r.user_id = u.id and r.role_id = ${filter.roleId})`,
    );
  if (filter.isActive !== undefined) conditions.push(sql`u.is_active = ${filter.isActive}`);
  if (filter.verified !== undefined) conditions.push(sql`u.verified = ${filter.verified}`);
  return sql.join(conditions, sql` and `);
}

/**
 * One snapshot for total and page. Ids come first, from the order's index alone; the second half of the list is read
 * from its end. Of the two branches one has a limit of 0 and is not run.
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
  const offset = sql`${offsetOf(query)}::bigint`;
  const size = sql`${query.size}::bigint`;
  const { rows } = await sql<VersionedUser & { total: string; user_id: string | null }>`
    with matching as materialized (select count(*) as total from users u where ${condition}),
    page as (
      (select u.id from users u where ${condition} order by ${key} ${forwards}, u.id ${forwards}
       limit (select case when ${offset} * 2 <= total then ${size} else 0 end from matching) offset ${offset})
      union all
      (select u.id from users u where ${condition} order by ${key} ${backwards}, u.id ${backwards}
       limit (select case when ${offset} * 2 > total then greatest(least(${size}, total - ${offset}), 0) else 0 end from matching)
       offset (select greatest(total - ${offset} - ${size}, 0) from matching))
    )
    select m.total, ${userColumns}
    from matching m left join (page join users u on u.id = page.id) on true
    order by ${key} ${forwards}, u.id ${forwards}`.execute(db);
  return {
    total: Number(rows[0]?.total ?? 0),
    users: rows.filter((row) => row.user_id !== null),
  };
}
