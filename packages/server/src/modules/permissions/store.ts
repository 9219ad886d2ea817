// SQL of permissions.
import type { PageQuery } from '@castellan/contract/common';
import type { Permission } from '@castellan/contract/permission-records';
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';
import { offsetOf } from '../../platform/http/pages.ts';
import { permissionJson } from './presentation.ts';

const source = sql`permissions p join permission_groups pg on pg.id = p.group_id`;

export async function findPermission(db: Db, id: string): Promise<Permission | undefined> {
  const { rows } = await sql<{ permission: Permission }>`
    select ${permissionJson} as permission from ${source} where p.id = ${id}`.execute(db);
  return rows[0]?.permission;
}

const inGroup = (groupId: string | null) => (groupId === null ? sql`true` : sql`p.group_id = ${groupId}`);

export async function countPermissions(db: Db, groupId: string | null): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from permissions p where ${inGroup(groupId)}`.execute(db);
  return rows[0]?.total ?? 0;
}

export async function listPermissions(
  db: Db,
  groupId: string | null,
  page: PageQuery,
): Promise<Permission[]> {
  const { rows } = await sql<{ permission: Permission }>`
    select ${permissionJson} as permission from ${source} where ${inGroup(groupId)}
    order by lower(p.name), p.id limit ${page.size} offset ${offsetOf(page)}`.execute(db);
  return rows.map((row) => row.permission);
}

/** The group keeps its name until the transaction ends. */
export async function lockGroupName(tx: Tx, groupId: string): Promise<string | undefined> {
  const { rows } = await sql<{
    name: string;
  }>`select name from permission_groups where id = ${groupId} for no key update`.execute(tx);
  return rows[0]?.name;
}

/** System roles hold every permission, so they get the new one at once: they are locked before the first write. */
export async function insertPermission(
  tx: Tx,
  permission: { id: string; name: string; description: string; group_id: string; created_by_id: string },
): Promise<void> {
  await sql`select from roles where is_system order by id for key share`.execute(tx);
  await tx.insertInto('permissions').values(permission).execute();
  await sql`
    insert into role_permissions (role_id, permission_id)
    select id, ${permission.id} from roles where is_system`.execute(tx);
  await touchGroup(tx, permission.group_id);
}

// A group counts as changed when its permissions change.
async function touchGroup(tx: Tx, groupId: string): Promise<void> {
  await sql`update permission_groups set updated_at = now() where id = ${groupId}`.execute(tx);
}

/** The row stays locked until the transaction ends; no role can take the permission meanwhile. */
export async function lockPermission(tx: Tx, id: string): Promise<boolean> {
  // The group first, as where a group is renamed; a permission never changes its group.
  await sql`
    select from permission_groups where id = (select group_id from permissions where id = ${id})
    for no key update`.execute(tx);
  const { rows } = await sql`select from permissions where id = ${id} for update`.execute(tx);
  return rows.length === 1;
}

/** Names of the roles that hold it, system roles left out: they hold every permission by themselves. */
export async function findHolders(tx: Tx, id: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select r.name from role_permissions rp join roles r on r.id = rp.role_id
    where rp.permission_id = ${id} and not r.is_system order by lower(r.name)`.execute(tx);
  return rows.map((row) => row.name);
}

/** With the links of system roles. */
export async function deletePermissionRow(tx: Tx, id: string, groupId: string): Promise<void> {
  await touchGroup(tx, groupId);
  await sql`delete from role_permissions where permission_id = ${id}`.execute(tx);
  await sql`delete from permissions where id = ${id}`.execute(tx);
}
