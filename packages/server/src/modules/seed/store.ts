// SQL of the seed: the one place beside their modules that inserts into these tables, before anybody can.
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';

const idOf = async (
  tx: Tx,
  table: 'permission_groups' | 'role_groups' | 'roles',
  name: string,
): Promise<string> => {
  const { rows } = await sql<{
    id: string;
  }>`select id from ${sql.table(table)} where lower(name) = lower(${name})`.execute(tx);
  return (rows[0] as { id: string }).id;
};

export async function ensurePermissionGroup(
  tx: Tx,
  id: string,
  name: string,
  description: string,
): Promise<string> {
  await sql`
    insert into permission_groups (id, name, description) values (${id}, ${name}, ${description})
    on conflict (lower(name)) do nothing`.execute(tx);
  return idOf(tx, 'permission_groups', name);
}

export async function ensurePermission(tx: Tx, id: string, name: string, groupId: string): Promise<void> {
  await sql`
    insert into permissions (id, name, group_id) values (${id}, ${name}, ${groupId})
    on conflict (lower(name)) do nothing`.execute(tx);
}

export async function ensureRoleGroup(tx: Tx, id: string, name: string): Promise<string> {
  await sql`insert into role_groups (id, name) values (${id}, ${name}) on conflict (lower(name)) do nothing`.execute(
    tx,
  );
  return idOf(tx, 'role_groups', name);
}

export async function ensureRole(
  tx: Tx,
  role: { id: string; name: string; description: string; isSystem: boolean; groupId: string },
): Promise<{ id: string; created: boolean }> {
  const result = await sql`
    insert into roles (id, name, description, is_system, role_group_id)
    values (${role.id}, ${role.name}, ${role.description}, ${role.isSystem}, ${role.groupId})
    on conflict (lower(name)) do nothing`.execute(tx);
  const created = result.numAffectedRows === 1n;
  if (created)
    await sql`insert into role_group_roles (role_group_id, role_id) values (${role.groupId}, ${role.id})`.execute(
      tx,
    );
  return { id: created ? role.id : await idOf(tx, 'roles', role.name), created };
}

export async function addAllPermissions(tx: Tx, roleId: string): Promise<void> {
  await sql`
    insert into role_permissions (role_id, permission_id) select ${roleId}, id from permissions
    on conflict do nothing`.execute(tx);
}

export async function addPermissions(tx: Tx, roleId: string, names: readonly string[]): Promise<void> {
  await sql`
    insert into role_permissions (role_id, permission_id) select ${roleId}, id from permissions
    where name = any(${names}::text[])`.execute(tx);
}

export async function hasAnySigningKey(tx: Tx): Promise<boolean> {
  const { rows } = await sql`select from signing_keys limit 1`.execute(tx);
  return rows.length > 0;
}

export async function hasAnyUser(db: Db): Promise<boolean> {
  const { rows } = await sql`select from users limit 1`.execute(db);
  return rows.length > 0;
}

export async function insertSuperuser(
  tx: Tx,
  id: string,
  email: string,
  passwordHash: string,
): Promise<void> {
  await sql`
    insert into users (id, email, first_name, last_name, password_hash, is_superuser, verified)
    values (${id}, ${email}, 'First', 'Administrator', ${passwordHash}, true, true)`.execute(tx);
  await sql`insert into user_roles (user_id, role_id) select ${id}, id from roles where lower(name) = 'admin'`.execute(
    tx,
  );
}
