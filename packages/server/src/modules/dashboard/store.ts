// SQL of the dashboard. It reads other modules' tables and writes nothing.
import type { Dashboard } from '@castellan/contract/dashboard';
import { sql } from 'kysely';
import type { Db } from '../../database.ts';

export async function countAllUsers(db: Db): Promise<number> {
  const { rows } = await sql<{ total: number }>`select sum(total)::integer as total from user_counts`.execute(
    db,
  );
  return rows[0]?.total ?? 0;
}

export async function readStats(db: Db): Promise<Required<Dashboard['stats']>> {
  const { rows } = await sql<Required<Dashboard['stats']>>`
    select (select sum(total)::integer from user_counts) as total_users,
           (select sum(active)::integer from user_counts) as active_users,
           (select count(*)::integer from roles) as total_roles,
           (select count(*)::integer from permissions) as total_permissions,
           (select count(*)::integer from sessions where revoked_at is null and expires_at > now()) as active_sessions`.execute(
    db,
  );
  return rows[0] as Required<Dashboard['stats']>;
}

const lastActive = sql`coalesce(to_char(l.logged_in_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'), 'N/A') as last_active`;
const fullName = sql`u.first_name || ' ' || u.last_name as name`;

/** The users who signed in last, each once. */
export async function findRecentLogins(
  db: Db,
  limit: number,
): Promise<NonNullable<Dashboard['recent_logins']>> {
  const { rows } = await sql<NonNullable<Dashboard['recent_logins']>[number]>`
    select u.id, ${fullName}, u.email, ${lastActive}
    from last_logins l join users u on u.id = l.user_id order by l.logged_in_at desc, u.id limit ${limit}`.execute(
    db,
  );
  return rows;
}

export async function findNewestUsers(
  db: Db,
  limit: number,
): Promise<NonNullable<Dashboard['system_users_summary']>> {
  const { rows } = await sql<NonNullable<Dashboard['system_users_summary']>[number]>`
    select u.id, ${fullName}, u.email, ${lastActive},
      coalesce((
        select string_agg(r.name, ', ' order by lower(r.name)) from user_roles ur join roles r on r.id = ur.role_id
        where ur.user_id = u.id), 'N/A') as role,
      case when not u.is_active then 'inactive' when a.locked_until > now() then 'locked'
           when not u.verified then 'unverified' else 'active' end as status
    from (select * from users order by created_at desc, id desc limit ${limit}) u
    left join last_logins l on l.user_id = u.id left join login_attempts a on a.email = u.email
    order by u.created_at desc, u.id desc`.execute(db);
  return rows;
}
