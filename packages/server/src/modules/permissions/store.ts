// SQL of permissions.
import type { PageQuery } from '@castellan/contract/common';
import type { Permission } from '@castellan/contract/permission-records';
import { type RawBuilder, sql } from 'kysely';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { offsetOf } from '../../platform/pages.ts';
import { isInNoRole } from '../../schema/attention.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';
import { permissionJson } from './presentation.ts';

const source = sql`permissions p join permission_groups pg on pg.id = p.group_id`;

export async function findPermission(db: Db, id: string): Promise<Permission | undefined> {
  const { rows } = await sql<{ permission: Permission }>`
    select ${permissionJson} as permission from ${source} where p.id = ${id}`.execute(db);
  return rows[0]?.permission;
}

/** Returns a permission that the transaction has locked or created. */
export async function readPermission(tx: Tx, id: string): Promise<Permission> {
  const permission = await findPermission(tx, id);
  if (!permission) throw new Error('a permission that this transaction has locked is missing');
  return permission;
}

/** A missing condition is not applied. */
export type PermissionFilter = { groupId?: string; inNoRole?: true; isBuiltin?: boolean };

function matching({ groupId, inNoRole, isBuiltin }: PermissionFilter): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  if (groupId !== undefined) conditions.push(sql`p.group_id = ${groupId}`);
  if (inNoRole) conditions.push(isInNoRole);
  if (isBuiltin !== undefined) conditions.push(sql`p.is_builtin = ${isBuiltin}`);
  return sql.join(conditions, sql` and `);
}

export async function countPermissions(db: Db, filter: PermissionFilter): Promise<number> {
  const { rows } = await sql<{ total: number }>`${plannedForValues}
    select count(*)::integer as total from permissions p where ${matching(filter)}`.execute(db);
  return rows[0]?.total ?? 0;
}

export async function listPermissions(
  db: Db,
  filter: PermissionFilter,
  page: PageQuery,
): Promise<Permission[]> {
  const { rows } = await sql<{ permission: Permission }>`${plannedForValues}
    select ${permissionJson} as permission from ${source} where ${matching(filter)}
    order by lower(p.name), p.id limit ${page.size} offset ${offsetOf(page)}`.execute(db);
  return rows.map((row) => row.permission);
}

/**
 * Locks the group and returns its name, which cannot change until the transaction ends; undefined if it does not exist.
 */
export async function lockGroupName(tx: Tx, groupId: string): Promise<string | undefined> {
  const { rows } = await sql<{
    name: string;
  }>`select name from permission_groups where id = ${groupId} for no key update`.execute(tx);
  return rows[0]?.name;
}

/**
 * Inserts a permission and grants it to the system roles, which hold every permission. Locks these roles first, and returns
 * their ids.
 */
export async function insertPermission(
  { tx }: Entitled,
  permission: Pick<Row<'permissions'>, 'id' | 'name' | 'description' | 'group_id'> & {
    created_by_id: string | null;
  },
): Promise<string[]> {
  await sql`select from roles where is_system order by id for key share`.execute(tx);
  await tx.insertInto('permissions').values(permission).execute();
  const { rows } = await sql<{ role_id: string }>`
    insert into role_permissions (role_id, permission_id)
    select id, ${permission.id} from roles where is_system returning role_id`.execute(tx);
  await touchGroup(tx, permission.group_id);
  return rows.map(({ role_id }) => role_id);
}

// A group counts as changed when its permissions change.
async function touchGroup(tx: Tx, groupId: string): Promise<void> {
  await sql`update permission_groups set updated_at = now() where id = ${groupId}`.execute(tx);
}

/** Sets what the permission requires. Its group counts as changed. */
export async function setRequirement(
  { tx }: Entitled,
  { id, group_id }: Pick<Permission, 'id' | 'group_id'>,
  { required_acr, max_auth_age }: Pick<Row<'permissions'>, 'required_acr' | 'max_auth_age'>,
): Promise<void> {
  await touchGroup(tx, group_id);
  await sql`
    update permissions set required_acr = ${required_acr}, max_auth_age = ${max_auth_age}, updated_at = now()
    where id = ${id}`.execute(tx);
}

/** Locks the permission until the transaction ends, so that no role can get it. Returns whether it exists. */
export async function lockPermission(tx: Tx, id: string): Promise<boolean> {
  // Locks the group first, in the same order as renaming a group. A permission never changes its group.
  await sql`
    select from permission_groups where id = (select group_id from permissions where id = ${id})
    for no key update`.execute(tx);
  const { rows } = await sql`select from permissions where id = ${id} for update`.execute(tx);
  return rows.length === 1;
}

/** Returns the names of the roles that hold the permission, except system roles, which hold every permission. */
export async function findHolders(tx: Tx, id: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select r.name from role_permissions rp join roles r on r.id = rp.role_id
    where rp.permission_id = ${id} and not r.is_system order by lower(r.name)`.execute(tx);
  return rows.map((row) => row.name);
}

/** Deletes a permission and its links to system roles. Returns the ids of these roles. */
export async function deletePermissionRow({ tx }: Entitled, id: string, groupId: string): Promise<string[]> {
  await touchGroup(tx, groupId);
  const { rows } = await sql<{ role_id: string }>`
    delete from role_permissions where permission_id = ${id} returning role_id`.execute(tx);
  await sql`delete from permissions where id = ${id}`.execute(tx);
  return rows.map(({ role_id }) => role_id);
}
