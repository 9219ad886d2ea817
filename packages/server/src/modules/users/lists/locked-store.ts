// SQL of the list of locked users.
import type { PageQuery } from '@castellan/contract/common';
import { sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import { plannedForValues } from '../../../platform/db/statement-names.ts';
import { offsetOf } from '../../../platform/pages.ts';
import type { Db } from '../../../schema/database.ts';
import { lockedUsers } from '../../../schema/locked-users.ts';
import { lockedKeys, type Sort } from './user-orders.ts';

/** Returns how many users are locked, and the ids of a page of them in their order. Looks each of them up once. */
export async function findLocked(
  db: Db,
  { order, isDescending }: Sort,
  query: PageQuery,
): Promise<{ total: number; ids: string[] }> {
  const direction = isDescending ? sql`desc` : sql`asc`;
  const result = await sql<{ total: string; ids: string[] }>`${plannedForValues}
    with locked as materialized (select l.id, ${lockedKeys[order]} as key from ${lockedUsers})
    select (select count(*) from locked) as total, array(
      select id from locked
      order by key ${direction}, id ${direction} limit ${query.size} offset ${offsetOf(query)}::bigint) as ids`.execute(
    db,
  );
  const { total, ids } = onlyRow(result);
  return { total: Number(total), ids };
}
