// SQL that imports role groups, roles and permissions by their names. Apart from the modules that own these tables, the
// seed and the demo, it is the only code that inserts into them. Triggers renew the stamp of the graph.
// It must not change or delete a record.
import { sql } from 'kysely';
import { lockUntilCommit } from '../../platform/db/sql.ts';
import { MAX_TREE_DEPTH } from '../../platform/db/trees.ts';
import type { Row, Tx } from '../../schema/database.ts';
import type { KeptColumn, RoleColumn, RoleGroupColumn } from '../../schema/record-columns.ts';

export type Named = { id: string; name: string };

/** Locks the tree of role groups, as every move in it does. */
export async function lockRoleGroupTree(tx: Tx): Promise<void> {
  await lockUntilCommit('role_groups').execute(tx);
}

type NamedTable = 'roles' | 'role_groups' | 'permissions' | 'permission_groups';

/** Returns the records of these names, in any case, locked against deletion until the transaction ends. */
export async function lockByName(tx: Tx, table: NamedTable, names: readonly string[]): Promise<Named[]> {
  const { rows } = await sql<Named>`
    select id, name from ${sql.table(table)}
    where lower(name) = any(array(select lower(n) from unnest(${names}::text[]) n))
    order by id for key share`.execute(tx);
  return rows;
}

export async function isIdTaken(tx: Tx, table: NamedTable, id: string): Promise<boolean> {
  const { rows } = await sql`select from ${sql.table(table)} where id = ${id}`.execute(tx);
  return rows.length > 0;
}

type NewRoleGroup = Pick<Row<'role_groups'>, Exclude<RoleGroupColumn, 'created_by_id' | KeptColumn>>;

export async function insertRoleGroup(tx: Tx, group: NewRoleGroup): Promise<void> {
  await tx.insertInto('role_groups').values(group).execute();
}

/** Returns the names of a group and of an ancestor of it, if both are among these. */
export async function findRelatives(
  tx: Tx,
  ids: readonly string[],
): Promise<{ group: string; ancestor: string } | undefined> {
  const { rows } = await sql<{ group: string; ancestor: string }>`
    with recursive up as (
      select id as start, parent_id, 1 as depth from role_groups where id = any(${ids}::uuid[])
      union all
      select up.start, g.parent_id, up.depth + 1 from role_groups g join up on g.id = up.parent_id
      where up.depth <= ${MAX_TREE_DEPTH}
    )
    select g.name as "group", a.name as ancestor
    from up join role_groups g on g.id = up.start join role_groups a on a.id = up.parent_id
    where up.parent_id = any(${ids}::uuid[]) limit 1`.execute(tx);
  return rows[0];
}

type NewRole = Pick<Row<'roles'>, Exclude<RoleColumn, 'is_system' | 'created_by_id' | KeptColumn>>;

/** Inserts a role, links it to its groups and gives it permissions. */
export async function insertRole(
  tx: Tx,
  role: NewRole,
  groupIds: readonly string[],
  permissionIds: readonly string[],
): Promise<void> {
  await tx.insertInto('roles').values(role).execute();
  await sql`
    insert into role_group_roles (role_group_id, role_id) select unnest(${groupIds}::uuid[]), ${role.id}`.execute(
    tx,
  );
  await sql`
    insert into role_permissions (role_id, permission_id) select ${role.id}, unnest(${permissionIds}::uuid[])`.execute(
    tx,
  );
}

export async function insertPermissionGroup(tx: Tx, group: Named): Promise<void> {
  await sql`insert into permission_groups (id, name) values (${group.id}, ${group.name})`.execute(tx);
}

/** Inserts a permission and gives it to the system roles, which hold every permission. */
export async function insertPermission(tx: Tx, permission: Named & { group_id: string }): Promise<void> {
  await sql`
    insert into permissions (id, name, group_id)
    values (${permission.id}, ${permission.name}, ${permission.group_id})`.execute(tx);
  await sql`
    insert into role_permissions (role_id, permission_id)
    select id, ${permission.id} from roles where is_system`.execute(tx);
}
