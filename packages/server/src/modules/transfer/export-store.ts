// SQL that reads users, roles and role groups for an export, in pages by id within one snapshot.
import type { AttributeValues } from '@castellan/contract/user-attributes';
import { userFields } from '@castellan/contract/users';
import { sql } from 'kysely';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Row, Tx } from '../../schema/database.ts';
import type { KeptColumn, RoleColumn, RoleGroupColumn, UserColumn } from '../../schema/record-columns.ts';

/** Every field of the record but `permissions`, which the roles grant. `roles` are names: another service has other ids. */
export type ExportedUser = Pick<Row<'users'>, UserColumn | 'id' | 'language' | 'password_hash'> & {
  roles: string[];
  attributes: AttributeValues;
};

const userColumns = Object.keys(userFields)
  .map((name) => `u.${name}`)
  .join(', ');

/** Returns the users whose id is greater than `after`, at most `limit`, by id. */
export async function readUsers(tx: Tx, after: string, limit: number): Promise<ExportedUser[]> {
  const { rows } = await sql<ExportedUser>`${plannedForValues}
    select u.id, ${sql.raw(userColumns)}, u.language, u.password_hash,
      array(select r.name from held_user_roles ur join roles r on r.id = ur.role_id where ur.user_id = u.id
        order by r.name) as roles,
      coalesce((select jsonb_object_agg(a.name, v.value order by a.name)
        from user_attribute_values v join user_attributes a on a.id = v.attribute_id where v.user_id = u.id), '{}') as attributes
    from users u where u.id > ${after} order by u.id limit ${limit}`.execute(tx);
  return rows;
}

/** A role without what an import makes anew. Groups and permissions are names. */
type ExportedRoleColumn = Exclude<RoleColumn, 'role_group_id' | 'created_by_id' | KeptColumn>;
export type ExportedRole = Pick<Row<'roles'>, ExportedRoleColumn> & {
  group: string | null;
  groups: string[];
  permissions: string[];
};

export const exportedRole = { id: true, name: true, description: true, is_system: true } satisfies Record<
  ExportedRoleColumn,
  true
>;
const roleColumns = Object.keys(exportedRole)
  .map((name) => `r.${name}`)
  .join(', ');

export async function readRoles(tx: Tx): Promise<ExportedRole[]> {
  const { rows } = await sql<ExportedRole>`
    select ${sql.raw(roleColumns)}, g.name as "group",
      array(select rg.name from role_group_roles l join role_groups rg on rg.id = l.role_group_id
        where l.role_id = r.id order by rg.name) as groups,
      array(select p.name from role_permissions rp join permissions p on p.id = rp.permission_id
        where rp.role_id = r.id order by p.name) as permissions
    from roles r left join role_groups g on g.id = r.role_group_id order by lower(r.name), r.id`.execute(tx);
  return rows;
}

/** A role group without what an import makes anew. The parent is a name. */
type ExportedGroupColumn = Exclude<RoleGroupColumn, 'parent_id' | 'created_by_id' | KeptColumn>;
export type ExportedGroup = Pick<Row<'role_groups'>, ExportedGroupColumn> & { parent: string | null };

export const exportedGroup = { id: true, name: true, description: true } satisfies Record<
  ExportedGroupColumn,
  true
>;
const groupColumns = Object.keys(exportedGroup)
  .map((name) => `g.${name}`)
  .join(', ');

export async function readRoleGroups(tx: Tx): Promise<ExportedGroup[]> {
  const { rows } = await sql<ExportedGroup>`
    select ${sql.raw(groupColumns)}, p.name as parent
    from role_groups g left join role_groups p on p.id = g.parent_id order by lower(g.name), g.id`.execute(
    tx,
  );
  return rows;
}
