// SQL of who holds a permission or a role, in pages by id.
import type { Holder } from '@castellan/contract/holders';
import { type RawBuilder, sql } from 'kysely';
import { isoTime, onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Db } from '../../schema/database.ts';
import { holdersOfRole } from '../../schema/role-holders.ts';

/** What is held. */
export type Held = {
  kind: 'permission' | 'role';
  /** UUID, lower case. */
  id: string;
  /** Whether superusers also count as holders if they have no role that grants it. */
  withSuperusers: boolean;
};

export type HolderRow = Omit<Holder, 'email'> & { email: string | null };

/** The last holder of a page. */
export type HolderKey = Pick<Holder, 'type' | 'id'>;

/** SQL that selects the ids of the roles that grant what is held. */
const rolesTo = ({ kind, id }: Held): RawBuilder<unknown> =>
  kind === 'permission'
    ? sql`select role_id from role_permissions where permission_id = ${id}`
    : sql`select ${id}::uuid as role_id`;

/** SQL condition on a row `h` with a role: the role grants what is held. */
const leadsTo = ({ kind, id }: Held): RawBuilder<unknown> =>
  kind === 'permission'
    ? sql`exists (select from role_permissions g where g.role_id = h.role_id and g.permission_id = ${id})`
    : sql`h.role_id = ${id}`;

const isKnown = ({ kind, id }: Held): RawBuilder<boolean> =>
  kind === 'permission'
    ? sql`exists (select from permissions where id = ${id})`
    : sql`exists (select from roles where id = ${id})`;

/** Returns whether the permission or the role exists. */
export async function exists(db: Db, held: Held): Promise<boolean> {
  return onlyRow(await sql<{ is_known: boolean }>`select ${isKnown(held)} as is_known`.execute(db)).is_known;
}

/**
 * Returns the number of holders; undefined if the permission or the role does not exist. For one role that users hold, it reads
 * the stored number. Several roles may share holders, so all their assignments are read.
 */
export async function countHolders(db: Db, held: Held): Promise<number | undefined> {
  const result = await sql<{ is_known: boolean; total: string }>`${plannedForValues}
    select ${isKnown(held)} as is_known,
      case when max(users) = sum(users) then max(users)
        else (select count(distinct user_id) from held_user_roles where role_id in (${rolesTo(held)})) end
      + (select count(distinct service_account_id) from held_account_roles where role_id in (${rolesTo(held)}))
      + (select count(*) from users u where ${held.withSuperusers} and u.is_superuser and not exists (
          select from held_user_roles h where h.user_id = u.id and ${leadsTo(held)})) as total
    from (${rolesTo(held)}) through
    cross join lateral (select ${holdersOfRole(sql`through.role_id`)} as users) counted`.execute(db);
  const { is_known, total } = onlyRow(result);
  return is_known ? Number(total) : undefined;
}

// Reading the first holders of each role costs most where thousands of roles grant one permission, as with a role for
// each tenant. Then nearly everybody holds it, and the next rows of held_user_roles contain a page. From so many roles on,
// these rows are read first.
const MANY_ROLES = sql.lit(16);
// An index-only scan of a few milliseconds. If these rows do not fill a page, the holders are few or far away.
const NEAR_ROWS = sql.lit(5_000);

const beforeAll = { id: '00000000-0000-0000-0000-000000000000', type: '' };

/**
 * SQL of the common table expression `page`: type and id of at most `limit` holders after this one. Takes at most `limit`
 * rows of each source, so that the cost does not depend on the number of holders.
 */
function pageOf(held: Held, { type, id }: { type: string; id: string }, limit: number): RawBuilder<unknown> {
  const isUserAfter = sql`user_id >= ${id} and (user_id > ${id} or 'user' > ${type})`;
  return sql`
    through as materialized (${rolesTo(held)}),
    width as materialized (select count(*) > ${MANY_ROLES} as is_wide from through),
    near as materialized (
      select user_id, role_id from held_user_roles where (select is_wide from width) and ${isUserAfter}
      order by user_id, role_id limit ${NEAR_ROWS}),
    near_holders as materialized (
      select distinct near.user_id as id from near join through on through.role_id = near.role_id),
    page as materialized (
      select distinct candidate.id, candidate.type from (
        (select id, 'user' as type from near_holders order by id limit ${limit})
        union all
        (select distinct holder.user_id, 'user' from through cross join lateral (
          select user_id from held_user_roles where role_id = through.role_id and ${isUserAfter}
          order by user_id limit ${limit}) holder
         where not (select is_wide from width)
           or (select count(*) from near_holders) < ${limit} and (select count(*) from near) = ${NEAR_ROWS}
         order by holder.user_id limit ${limit})
        union all
        (select distinct holder.service_account_id, 'service_account' from through cross join lateral (
          select service_account_id from held_account_roles
          where role_id = through.role_id and service_account_id >= ${id}
            and (service_account_id > ${id} or 'service_account' > ${type})
          order by service_account_id limit ${limit}) holder
         order by holder.service_account_id limit ${limit})
        union all
        (select id, 'user' from users
         where ${held.withSuperusers} and is_superuser and id >= ${id} and (id > ${id} or 'user' > ${type})
         order by id limit ${limit})
      ) candidate
      order by candidate.id, candidate.type limit ${limit})`;
}

/**
 * Returns at most `limit` holders after this one, each once, sorted by id. The id never changes, so a holder that
 * appears, disappears or is renamed between two pages moves no other one.
 */
export async function findHolders(
  db: Db,
  held: Held,
  after: HolderKey | null,
  limit: number,
): Promise<HolderRow[]> {
  const { rows } = await sql<HolderRow>`${plannedForValues}
    with ${pageOf(held, after ?? beforeAll, limit)}
    select page.type, page.id, s.name, s.email, s.is_active, s.is_superuser as superuser,
      coalesce((
        select json_agg(case when r.required_acr is null then json_build_object('id', r.id, 'name', r.name)
          else json_build_object('id', r.id, 'name', r.name, 'authentication', json_build_object(
            'required_acr', r.required_acr, 'enforced_from', ${isoTime('r.enforced_from')})) end
          order by lower(r.name), r.id)
        from held_roles h join roles r on r.id = h.role_id
        where h.subject_type = page.type and h.subject_id = page.id and ${leadsTo(held)}), '[]'::json) as roles
    from page cross join lateral (
      select rtrim(first_name || ' ' || last_name) as name, email, is_active, is_superuser from users
      where page.type = 'user' and users.id = page.id
      union all
      select name, null, is_active, false from service_accounts
      where page.type = 'service_account' and service_accounts.id = page.id
      limit 1) s
    order by page.id, page.type`.execute(db);
  return rows;
}
