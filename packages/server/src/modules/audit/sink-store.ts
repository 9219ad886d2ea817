// SQL of the queue of entries for the sink, and of the lease of the instance that sends them. A trigger fills the queue.
import { sql } from 'kysely';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { isLeaseFree } from '../../platform/delivery/lease.ts';
import type { Db } from '../../schema/database.ts';
import { type EntryJson, entryJson } from './entry-json.ts';

/** Longer than a batch takes, with its statements. */
export const LEASE_SECONDS = 60;
const lease = sql.lit(LEASE_SECONDS);
const isFree = sql.raw(isLeaseFree('sink.locked_until', LEASE_SECONDS));

/** Takes or renews the lease; the first call makes entries queue. Returns whether this sender has it. */
export async function takeLease(db: Db, sender: string): Promise<boolean> {
  const { rows } = await sql<{ sender: string | null }>`
    insert into audit_sink as sink (sender, locked_until) values (${sender}::uuid, now() + ${lease} * interval '1 second')
    on conflict (only_row) do update
    set sender = excluded.sender, locked_until = excluded.locked_until, seen_at = now()
    where sink.sender = excluded.sender or ${isFree}
    returning sink.sender`.execute(db);
  return rows.length > 0;
}

/** Ends the lease, so that another instance need not wait for it. */
export async function endLease(db: Db, sender: string): Promise<void> {
  await sql`update audit_sink set locked_until = null where sender = ${sender}::uuid`.execute(db);
}

export type QueuedEntry = {
  position: string;
  /** Null if the entry was deleted, because it is older than AUDIT_RETENTION_DAYS. */
  entry: EntryJson | null;
};

/** Returns the entries that have waited longest, in the order in which they became visible. */
export async function findQueued(db: Db, limit: number): Promise<QueuedEntry[]> {
  const { rows } = await sql<QueuedEntry>`${plannedForValues}
    select o.position,
      case when e.id is not null then ${entryJson} end as entry
    from (select position, entry_id from audit_outbox order by position limit ${limit}) o
    left join audit_logs e on e.id = o.entry_id
    order by o.position`.execute(db);
  return rows;
}

export async function deleteQueued(db: Db, positions: readonly string[]): Promise<void> {
  await sql`delete from audit_outbox where position = any(${positions}::bigint[])`.execute(db);
}

/** Stops to queue entries if no instance has had a sink for `days`, and empties the queue. Returns whether it did. */
export async function forgetAbandonedSink(db: Db, days: number): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    with gone as (delete from audit_sink where seen_at < now() - ${days}::float8 * interval '1 day' returning true as found),
    emptied as (delete from audit_outbox where exists (select from gone))
    select found from gone`.execute(db);
  return rows.length > 0;
}
