// SQL of the seed. Apart from the modules that own these tables, it is the only code that inserts into them.
import { sql } from 'kysely';
import type { Db, Tx } from '../../schema/database.ts';

const idOf = async (tx: Tx, table: 'role_groups' | 'roles', name: string): Promise<string> => {
  const { rows } = await sql<{
    id: string;
  }>`select id from ${sql.table(table)} where lower(name) = lower(${name})`.execute(tx);
  const [row] = rows;
  if (!row) throw new Error(`the seed has no record "${name}" in ${table}`);
  return row.id;
};

/** Inserts the missing groups. The arrays of `groups` belong together by their positions. */
export async function ensurePermissionGroups(
  tx: Tx,
  groups: { ids: readonly string[]; names: readonly string[]; descriptions: readonly string[] },
): Promise<void> {
  await sql`
    insert into permission_groups (id, name, description)
    select * from unnest(${groups.ids}::uuid[], ${groups.names}::text[], ${groups.descriptions}::text[])
    on conflict (lower(name)) do nothing`.execute(tx);
}

/**
 * Inserts the missing built-in permissions, each into the group of this name, and returns their names. The arrays belong
 * together by their positions. Call `namesInUse` first: a customer's permission may have a name.
 */
export async function ensurePermissions(
  tx: Tx,
  permissions: { ids: readonly string[]; names: readonly string[]; groups: readonly string[] },
): Promise<Set<string>> {
  const { rows } = await sql<{ name: string }>`
    insert into permissions (id, name, group_id, is_builtin)
    select new.id, new.name, g.id, true
    from unnest(${permissions.ids}::uuid[], ${permissions.names}::text[], ${permissions.groups}::text[])
      as new (id, name, group_name)
    join permission_groups g on lower(g.name) = lower(new.group_name)
    on conflict (lower(name)) do nothing
    returning name`.execute(tx);
  return new Set(rows.map(({ name }) => name));
}

/** Returns those of the names that a customer's permission has, in any case. */
export async function namesInUse(tx: Tx, names: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select new.name from unnest(${names}::text[]) as new (name)
    join permissions p on lower(p.name) = lower(new.name) and not p.is_builtin`.execute(tx);
  return rows.map(({ name }) => name);
}

export type RenamedPermission = { id: string; from: string; to: string };

/**
 * Renames the customer's permission of this name, in any case, to the first free one of `<name>-custom`,
 * `<name>-custom-2`, and so on. Its roles keep it. Returns undefined if no customer's permission has the name.
 */
export async function freeName(tx: Tx, name: string): Promise<RenamedPermission | undefined> {
  const { rows } = await sql<RenamedPermission>`
    with theirs as (
      select id, name from permissions where lower(name) = lower(${name}) and not is_builtin for update
    ), free as (
      select theirs.name || suffix as name
      from theirs, (select 1 as number, '-custom' as suffix
        union all select n, '-custom-' || n from generate_series(2, 100) n) as suffixes
      where not exists (select from permissions p where lower(p.name) = lower(theirs.name || suffix))
      order by number limit 1
    )
    update permissions p set name = free.name, updated_at = now()
    from theirs, free where p.id = theirs.id
    returning p.id, theirs.name as from, p.name as to`.execute(tx);
  return rows[0];
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
}
