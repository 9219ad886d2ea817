// SQL of the list of locked users, and of the log of their locks, which triggers of migration 0037 keep.
// All of it must run in a snapshot (repeatable read): the list and the logs belong to the same one.
import type { PageQuery } from '@castellan/contract/common';
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { offsetOf } from '../../platform/pages.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { lockedUsers } from '../../schema/locked-users.ts';
import { lockedKeys, type Sort } from './user-orders.ts';

/** Returns how many users are locked. */
export async function countLocked(db: Db): Promise<number> {
  const result = await sql<{ total: string }>`${plannedForValues}
    select count(*) as total from ${lockedUsers}`.execute(db);
  return Number(onlyRow(result).total);
}

/** Returns the ids of a page of the locked users, in their order. */
export async function findLocked(db: Db, { order, isDescending }: Sort, query: PageQuery): Promise<string[]> {
  const key = lockedKeys[order];
  const direction = isDescending ? sql`desc` : sql`asc`;
  const { rows } = await sql<{ id: string }>`${plannedForValues}
    select l.id from ${lockedUsers}
    order by ${key} ${direction}, l.id ${direction} limit ${query.size} offset ${offsetOf(query)}::bigint`.execute(
    db,
  );
  return rows.map(({ id }) => id);
}

/** Returns the number of changes of locks that the list does not include. */
export async function countLockChanges(tx: Tx): Promise<number> {
  const result = await sql<{ count: string }>`select count(*) as count from lock_changes`.execute(tx);
  return Number(onlyRow(result).count);
}

/** Takes at most `limit` changes off the log. A trigger adds them to the list. */
export async function addLockChanges(tx: Tx, limit: number): Promise<void> {
  await sql`
    delete from lock_changes where ctid = any(array(select ctid from lock_changes limit ${limit}))`.execute(
    tx,
  );
}
