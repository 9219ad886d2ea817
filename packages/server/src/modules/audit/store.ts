// SQL of audit_logs.
import type { AuditLogEntry } from '@castellan/contract/audit';
import { sql } from 'kysely';
import type { Db } from '../../database.ts';
import { isoTime } from '../../platform/db/sql.ts';

export type NewEntry = {
  id: string;
  actor_id: string | null;
  action: string;
  resource_type: string;
  resource_id: string;
  details: unknown;
};

/**
 * One text whatever their number, so that the statement is prepared once. The actor's address is kept with it. What is
 * there already is left as it is: ids are made once, so a statement whose end nobody learnt can be sent again.
 */
export async function insertEntries(db: Db, entries: readonly NewEntry[]): Promise<void> {
  await sql`
    insert into audit_logs (id, actor_id, actor_email, action, resource_type, resource_id, details)
    select id, actor_id, (select u.email from users u where u.id = e.actor_id), action, resource_type, resource_id, details
    from jsonb_to_recordset(${JSON.stringify(entries)}::jsonb)
      as e (id uuid, actor_id uuid, action text, resource_type text, resource_id text, details jsonb)
    on conflict (id) do nothing`.execute(db);
}

/** Null: not asked for. Times are ISO 8601. */
export type EntryFilter = {
  actorId: string | null;
  resourceType: string | null;
  resourceId: string | null;
  actions: readonly string[] | null;
  address: string | null;
  failed: boolean | null;
  failureActions: readonly string[];
  from: string | null;
  to: string | null;
};

/** Where a page ends. The timestamp is text, because JavaScript's dates lose the microseconds. */
export type EntryKey = { timestamp: string; id: string };

export async function findEntries(
  db: Db,
  filter: EntryFilter,
  after: EntryKey | null,
  limit: number,
): Promise<{ entry: AuditLogEntry; key: EntryKey }[]> {
  const conditions = [
    filter.actorId === null ? null : sql`actor_id = ${filter.actorId}`,
    filter.resourceType === null ? null : sql`resource_type = ${filter.resourceType}`,
    filter.resourceId === null ? null : sql`resource_id = ${filter.resourceId}`,
    filter.actions === null ? null : sql`action = any(${filter.actions}::text[])`,
    filter.address === null ? null : sql`details ->> 'address' = ${filter.address}`,
    filter.failed === null ? null : resultIs(filter.failed, filter.failureActions),
    filter.from === null ? null : sql`"timestamp" >= ${filter.from}::timestamptz`,
    filter.to === null ? null : sql`"timestamp" < ${filter.to}::timestamptz`,
    after === null ? null : sql`("timestamp", id) < (${after.timestamp}::timestamptz, ${after.id}::uuid)`,
  ].filter((condition) => condition !== null);
  const { rows } = await sql<{ entry: AuditLogEntry; key: string }>`
    select to_char("timestamp" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as key,
      json_build_object('id', id, 'actor_id', actor_id, 'actor_email', actor_email, 'action', action,
        'resource_type', resource_type, 'resource_id', resource_id, 'details', details, 'timestamp', ${isoTime('timestamp')}) as entry
    from audit_logs ${conditions.length > 0 ? sql`where ${sql.join(conditions, sql` and `)}` : sql``}
    order by "timestamp" desc, id desc limit ${limit}`.execute(db);
  return rows.map(({ entry, key }) => ({ entry, key: { timestamp: key, id: entry.id } }));
}

// Worded so that rare failures are found by the index of actions.
const resultIs = (failed: boolean, failureActions: readonly string[]) =>
  failed ? sql`action = any(${failureActions}::text[])` : sql`action <> all(${failureActions}::text[])`;

/** Entries older than `days`, in one bounded statement after another. Answers how many went. */
export async function deleteOldEntries(db: Db, days: number): Promise<number> {
  const batch = 1_000;
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const result = await sql`
      delete from audit_logs where id in (
        select id from audit_logs where "timestamp" < now() - make_interval(secs => ${days * 86_400})
        order by "timestamp" limit ${batch} for update skip locked)`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
