// SQL that reads users, roles and role groups for an export, in pages by id within one snapshot.
import { sql } from 'kysely';
import { isoTime } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Tx } from '../../schema/database.ts';

export type ExportedUser = {
  id: string;
  email: string;
  first_name: string;
  last_name: string;
  is_active: boolean;
  is_superuser: boolean;
  verified: boolean;
  must_change_password: boolean;
  language: string | null;
  roles: string[];
  created_at: string;
  updated_at: string;
  password_hash: string | null;
};

/** Returns the users whose id is greater than `after`, at most `limit`, by id. */
export async function readUsers(tx: Tx, after: string, limit: number): Promise<ExportedUser[]> {
  const { rows } = await sql<ExportedUser>`${plannedForValues}
    select u.id, u.email, u.first_name, u.last_name, u.is_active, u.is_superuser, u.verified, u.must_change_password,
      u.language,
      array(select r.name from held_user_roles ur join roles r on r.id = ur.role_id where ur.user_id = u.id
        order by r.name) as roles,
      ${isoTime('u.created_at')} as created_at, ${isoTime('u.updated_at')} as updated_at, u.password_hash
    from users u where u.id > ${after} order by u.id limit ${limit}`.execute(tx);
  return rows;
}

export type ExportedRole = {
  id: string;
  name: string;
  description: string;
  is_system: boolean;
  group: string | null;
  groups: string[];
  permissions: string[];
};

export async function readRoles(tx: Tx): Promise<ExportedRole[]> {
  const { rows } = await sql<ExportedRole>`
    select r.id, r.name, r.description, r.is_system, g.name as "group",
      array(select rg.name from role_group_roles l join role_groups rg on rg.id = l.role_group_id
        where l.role_id = r.id order by rg.name) as groups,
      array(select p.name from role_permissions rp join permissions p on p.id = rp.permission_id
        where rp.role_id = r.id order by p.name) as permissions
    from roles r left join role_groups g on g.id = r.role_group_id order by lower(r.name), r.id`.execute(tx);
  return rows;
}

export type ExportedGroup = { id: string; name: string; description: string; parent: string | null };

export async function readRoleGroups(tx: Tx): Promise<ExportedGroup[]> {
  const { rows } = await sql<ExportedGroup>`
    select g.id, g.name, g.description, p.name as parent
    from role_groups g left join role_groups p on p.id = g.parent_id order by lower(g.name), g.id`.execute(
    tx,
  );
  return rows;
}
