// SQL of roles and role_permissions.
import type { PageQuery } from '@castellan/contract/common';
import type { Role } from '@castellan/contract/roles';
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';
import { isoTime, lockUntilCommit } from '../../platform/db/sql.ts';
import { offsetOf } from '../../platform/http/pages.ts';
import { permissionJson } from '../permissions/presentation.ts';

export type RoleRecord = Role & { version: number };

const roleColumns = sql`
  r.id, r.name, r.description, r.role_group_id, r.is_system, r.version, r.created_by_id,
  ${isoTime('r.created_at')} as created_at, ${isoTime('r.updated_at')} as updated_at,
  coalesce((
    select json_agg(${permissionJson} order by p.name)
    from role_permissions rp join permissions p on p.id = rp.permission_id join permission_groups pg on pg.id = p.group_id
    where rp.role_id = r.id), '[]'::json) as permissions`;

export async function findRole(db: Db, id: string): Promise<RoleRecord | undefined> {
  const { rows } = await sql<RoleRecord>`select ${roleColumns} from roles r where r.id = ${id}`.execute(db);
  return rows[0];
}

/** The row stays locked until the transaction ends. */
export async function lockRole(tx: Tx, id: string): Promise<RoleRecord | undefined> {
  const { rows } = await sql`select from roles where id = ${id} for update`.execute(tx);
  // A statement of its own: it sees what was committed while this one waited.
  return rows.length === 0 ? undefined : findRole(tx, id);
}

// Names compare without regard to case; a pattern has been made a LIKE pattern before.
const matching = (likePattern: string | null) =>
  likePattern === null ? sql`true` : sql`lower(r.name) like lower(${likePattern})`;

export async function countRoles(db: Db, likePattern: string | null): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from roles r where ${matching(likePattern)}`.execute(db);
  return rows[0]?.total ?? 0;
}

export async function listRoles(
  db: Db,
  likePattern: string | null,
  page: PageQuery | null,
): Promise<RoleRecord[]> {
  const { rows } = await sql<RoleRecord>`
    select ${roleColumns} from roles r where ${matching(likePattern)} order by lower(r.name), r.id
    ${page === null ? sql`` : sql`limit ${page.size} offset ${offsetOf(page)}`}`.execute(db);
  return rows;
}

export async function insertRole(
  tx: Tx,
  role: {
    id: string;
    name: string;
    description: string;
    role_group_id: string | null;
    created_by_id: string;
  },
): Promise<void> {
  await tx.insertInto('roles').values(role).execute();
}

/** Two changes of names, crosswise, would wait for each other: they take turns instead. */
export async function lockRoleNames(tx: Tx): Promise<void> {
  await lockUntilCommit('roles.name').execute(tx);
}

export async function updateRoleFields(
  tx: Tx,
  id: string,
  fields: { name: string; description: string },
): Promise<void> {
  await sql`
    update roles set name = ${fields.name}, description = ${fields.description}, updated_at = now()
    where id = ${id}`.execute(tx);
}

/** The record counts as changed when its links change. */
export async function touchRole(tx: Tx, id: string): Promise<void> {
  await sql`update roles set updated_at = now() where id = ${id}`.execute(tx);
}

export async function addPermissions(
  tx: Tx,
  roleId: string,
  permissionIds: readonly string[],
): Promise<void> {
  if (permissionIds.length === 0) return;
  await sql`
    insert into role_permissions (role_id, permission_id) select ${roleId}, unnest(${permissionIds}::uuid[])
    on conflict do nothing`.execute(tx);
}

export async function removePermissions(
  tx: Tx,
  roleId: string,
  permissionIds: readonly string[],
): Promise<void> {
  if (permissionIds.length === 0) return;
  await sql`
    delete from role_permissions where role_id = ${roleId} and permission_id = any(${permissionIds}::uuid[])`.execute(
    tx,
  );
}

/** Those of the ids that name a permission; they cannot be deleted before the transaction ends. */
export async function lockPermissions(tx: Tx, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: string }>`
    select id from permissions where id = any(${ids}::uuid[]) order by id for key share`.execute(tx);
  return rows.map((row) => row.id);
}

export async function countUsersOfRole(tx: Tx, id: string): Promise<number> {
  const { rows } = await sql<{ users: number }>`
    select count(*)::integer as users from user_roles where role_id = ${id}`.execute(tx);
  return rows[0]?.users ?? 0;
}

export async function deleteRoleRow(tx: Tx, id: string): Promise<void> {
  await sql`delete from roles where id = ${id}`.execute(tx);
}
