// SQL that locks roles while they are assigned or changed.
import { sql } from 'kysely';
import type { Tx } from '../../schema/database.ts';

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
