// SQL of the list of logout notices. It must not write.
import { sql } from 'kysely';
import { plannedForValues } from '../../../platform/db/statement-names.ts';
import type { Db, Row } from '../../../schema/database.ts';

type Listed = Pick<
  Row<'logout_notices'>,
  'id' | 'sid' | 'state' | 'attempts' | 'status' | 'error' | 'created_at' | 'sent_at'
> & { next_at: Date | null };

/** Returns the notices to an application with ids below `before`, newest first; null: from the newest on, of any state. */
export async function findNotices(
  db: Db,
  applicationId: string,
  { state, before, limit }: { state: Listed['state'] | null; before: string | null; limit: number },
): Promise<Listed[]> {
  const { rows } = await sql<Listed>`${plannedForValues}
    select id, sid, state, attempts, status, error, created_at, sent_at,
      case when state = 'waiting' then next_at end as next_at
    from logout_notices
    where application_id = ${applicationId} and (${state}::text is null or state = ${state})
      and (${before}::bigint is null or id < ${before}::bigint)
      and exists (select from applications where id = ${applicationId})
    order by id desc limit ${limit}`.execute(db);
  return rows;
}

export async function hasApplication(db: Db, id: string): Promise<boolean> {
  const { rows } = await sql`select from applications where id = ${id}`.execute(db);
  return rows.length > 0;
}
