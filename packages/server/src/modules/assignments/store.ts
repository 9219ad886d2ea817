// SQL that locks roles while they are assigned or changed, and assigns and removes them for an administrator.
import { sql } from 'kysely';
import type { Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';

export type LockedRole = { id: string; name: string };

/** Locks the roles and returns those found. They are not deleted and gain no permissions before the transaction ends. */
export async function lockRoles(tx: Tx, ids: readonly string[]): Promise<LockedRole[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<LockedRole>`
    select id, name from roles where id = any(${ids}::uuid[]) order by id for share`.execute(tx);
  return rows;
}

/**
 * Locks roles, some of which the transaction changes, and returns those found. One statement with one strength, so that
 * transactions that change and assign the same roles wait for each other instead of deadlocking.
 */
export async function lockRolesForChange(tx: Tx, ids: readonly string[]): Promise<LockedRole[]> {
  const { rows } = await sql<LockedRole>`
    select id, name from roles where id = any(${ids}::uuid[]) order by id for no key update`.execute(tx);
  return rows;
}

/** A role of a user or a service account. */
export type RoleLink = { subjectId: string; roleId: string };
type SubjectType = 'user' | 'service_account';

const tables = { user: sql`user_roles`, service_account: sql`service_account_roles` };
const keys = { user: sql`(user_id, role_id)`, service_account: sql`(service_account_id, role_id)` };

const rowsOf = (links: readonly RoleLink[]) =>
  sql`select * from unnest(${links.map((link) => link.subjectId)}::uuid[], ${links.map((link) => link.roleId)}::uuid[])`;

export async function addRoles(
  { tx }: Entitled,
  type: SubjectType,
  links: readonly RoleLink[],
): Promise<void> {
  if (links.length === 0) return;
  await sql`insert into ${tables[type]} ${keys[type]} ${rowsOf(links)}`.execute(tx);
}

export async function removeRoles(
  { tx }: Entitled,
  type: SubjectType,
  links: readonly RoleLink[],
): Promise<void> {
  if (links.length === 0) return;
  await sql`delete from ${tables[type]} where ${keys[type]} in (${rowsOf(links)})`.execute(tx);
}
