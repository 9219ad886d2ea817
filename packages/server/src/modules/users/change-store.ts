// SQL of changes to many users at once: the number of statements does not depend on the number of users.
import { sql } from 'kysely';
import type { Tx } from '../../database.ts';
import { lockUntilCommit } from '../../platform/db/sql.ts';

export type FieldChanges = {
  email?: string;
  first_name?: string;
  last_name?: string;
  is_active?: boolean;
  is_superuser?: boolean;
  verified?: boolean;
};

/** Two changes of addresses, crosswise, would wait for each other: they take turns instead. */
export async function lockEmails(tx: Tx): Promise<void> {
  await lockUntilCommit('users.email').execute(tx);
}

/** Under the rows' locks. A user without fields counts as changed all the same: its roles changed. */
export async function updateUsers(
  tx: Tx,
  changes: readonly { id: string; fields: FieldChanges }[],
): Promise<void> {
  const rows = JSON.stringify(changes.map(({ id, fields }) => ({ id, ...fields })));
  // The key is left alone where it stays: a statement that names it waits for all who refer to the user.
  const email = changes.some(({ fields }) => fields.email !== undefined)
    ? sql`email = coalesce(c.email, u.email),`
    : sql``;
  await sql`
    update users u set
      ${email}
      first_name = coalesce(c.first_name, u.first_name),
      last_name = coalesce(c.last_name, u.last_name),
      is_active = coalesce(c.is_active, u.is_active),
      is_superuser = coalesce(c.is_superuser, u.is_superuser),
      verified = coalesce(c.verified, u.verified),
      updated_at = now()
    from jsonb_to_recordset(${rows}::jsonb) as c (
      id uuid, email text, first_name text, last_name text, is_active boolean, is_superuser boolean, verified boolean)
    where u.id = c.id`.execute(tx);
}

/** What was mailed to an address ends when the account leaves it, also for an account that comes back to it. */
export async function endPendingLinks(tx: Tx, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return;
  await sql`delete from one_time_tokens where user_id = any(${userIds}::uuid[]) and used_at is null`.execute(
    tx,
  );
}

/** Those of the ids that name a role. They neither go nor gain permissions before the transaction ends. */
export async function lockRoles(tx: Tx, ids: readonly string[]): Promise<{ id: string; name: string }[]> {
  const { rows } = await sql<{ id: string; name: string }>`
    select id, name from roles where id = any(${ids}::uuid[]) order by id for share`.execute(tx);
  return rows;
}

export type RoleLink = { userId: string; roleId: string };

const columnsOf = (links: readonly RoleLink[]) =>
  sql`select * from unnest(${links.map((link) => link.userId)}::uuid[], ${links.map((link) => link.roleId)}::uuid[])`;

export async function addRoleLinks(tx: Tx, links: readonly RoleLink[]): Promise<void> {
  if (links.length === 0) return;
  await sql`insert into user_roles (user_id, role_id) ${columnsOf(links)}`.execute(tx);
}

export async function removeRoleLinks(tx: Tx, links: readonly RoleLink[]): Promise<void> {
  if (links.length === 0) return;
  await sql`delete from user_roles where (user_id, role_id) in (${columnsOf(links)})`.execute(tx);
}

/** Permissions through the roles of each of these users, as the transaction sees them. */
export async function findPermissionsOf(
  tx: Tx,
  userIds: readonly string[],
): Promise<{ user_id: string; permission: string }[]> {
  const { rows } = await sql<{ user_id: string; permission: string }>`
    select distinct ur.user_id, p.name as permission
    from user_roles ur
    join role_permissions rp on rp.role_id = ur.role_id
    join permissions p on p.id = rp.permission_id
    where ur.user_id = any(${userIds}::uuid[])`.execute(tx);
  return rows;
}
