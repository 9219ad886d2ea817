// Assigns and removes roles on behalf of nobody: registration, clean-up, import, seed and demo.
// It must not run for a request of an administrator: such writes take an `Entitled` (store.ts).
import { sql } from 'kysely';
import type { Db, Tx } from '../../schema/database.ts';
import type { RoleLink } from './store.ts';

/**
 * Assigns roles by their names, in any case. Leaves out system roles and roles that do not exist. Returns the number of
 * assigned roles.
 */
export async function assignByName(
  tx: Tx,
  type: 'user' | 'service_account',
  wanted: readonly { id: string; role: string }[],
): Promise<number> {
  const rows = sql`
    select w.id, r.id from json_to_recordset(${JSON.stringify(wanted)}::json) as w (id uuid, role text)
    join roles r on lower(r.name) = lower(w.role) and not r.is_system`;
  const result =
    type === 'user'
      ? await sql`insert into user_roles (user_id, role_id) ${rows}`.execute(tx)
      : await sql`insert into service_account_roles (service_account_id, role_id) ${rows}`.execute(tx);
  return Number(result.numAffectedRows);
}

/** Returns whether `assignByName` would find this role. */
export async function isAssignableRole(db: Db, name: string): Promise<boolean> {
  const { rows } = await sql`
    select from roles where lower(name) = lower(${name}) and not is_system`.execute(db);
  return rows.length === 1;
}

/** Assigns the role Admin to a superuser, so that lists of its holders are complete. */
export async function assignAdmin(tx: Tx, userId: string): Promise<void> {
  await sql`
    insert into user_roles (user_id, role_id)
    select ${userId}, id from roles where is_system and lower(name) = 'admin'`.execute(tx);
}

/** Assigns roles to imported users. */
export async function assignImported(tx: Tx, links: readonly RoleLink[]): Promise<void> {
  await sql`
    insert into user_roles (user_id, role_id)
    select * from unnest(${links.map((link) => link.subjectId)}::uuid[], ${links.map((link) => link.roleId)}::uuid[])`.execute(
    tx,
  );
}

/** Removes all roles of users whose rows are locked and about to be deleted. */
export async function removeAllRoles(tx: Tx, userIds: readonly string[]): Promise<void> {
  await sql`delete from user_roles where user_id = any(${userIds}::uuid[])`.execute(tx);
}

/**
 * Changes roles of a user whose row is locked, except system roles and roles that do not exist. Returns the names of all roles
 * before and after; null if nothing changes.
 */
export async function changeUnattended(
  tx: Tx,
  userId: string,
  { add, remove }: { add: readonly string[]; remove: readonly string[] },
): Promise<{ before: string[]; after: string[] } | null> {
  if (add.length + remove.length === 0) return null;
  // The lock keeps the roles from being deleted, and orders this before or after a change of what they grant.
  const { rows } = await sql<{ id: string; name: string; is_system: boolean; is_held: boolean }>`
    select r.id, r.name, r.is_system,
      exists (select from held_user_roles held where held.user_id = ${userId} and held.role_id = r.id) as is_held
    from roles r
    where r.id = any(${[...add, ...remove]}::uuid[])
      or r.id in (select held.role_id from held_user_roles held where held.user_id = ${userId})
    order by r.id for share`.execute(tx);
  const isAdded = (role: (typeof rows)[number]): boolean =>
    !role.is_held && !role.is_system && add.includes(role.id);
  const isRemoved = (role: (typeof rows)[number]): boolean =>
    role.is_held && !role.is_system && remove.includes(role.id);
  const added = rows.filter(isAdded);
  const removed = rows.filter(isRemoved);
  if (added.length + removed.length === 0) return null;
  await sql`
    delete from user_roles
    where user_id = ${userId} and role_id = any(${removed.map(({ id }) => id)}::uuid[])`.execute(tx);
  await sql`
    insert into user_roles (user_id, role_id)
    select ${userId}::uuid, id from unnest(${added.map(({ id }) => id)}::uuid[]) as id`.execute(tx);
  // The roles are a part of the user's record.
  await sql`update users set updated_at = now() where id = ${userId}`.execute(tx);
  const namesOf = (roles: typeof rows): string[] => roles.map(({ name }) => name).sort();
  return {
    before: namesOf(rows.filter(({ is_held }) => is_held)),
    after: namesOf(rows.filter((role) => (role.is_held && !isRemoved(role)) || isAdded(role))),
  };
}
