// SQL that writes and removes rows of audit_logs. reading-store.ts reads them.
// `resource_name` is stored with the entry, as `actor_email` is, not read at each list: an auditor needs the name at that
// time, and deleted or renamed records no longer have it. Roles, groups and permissions are named by the caller that records the
// event, so that this statement, which also writes failed sign-ins, depends on no other table than users.
import { sql } from 'kysely';
import type { Db, Row } from '../../schema/database.ts';

export type NewEntry = Pick<
  Row<'audit_logs'>,
  | 'id'
  | 'actor_id'
  | 'actor_type'
  | 'actor_name'
  | 'acted_by_id'
  | 'action'
  | 'resource_type'
  | 'resource_id'
  | 'resource_name'
  | 'details'
> & {
  /** When it happened, by the monotonic clock of this process, in milliseconds. Default: now. */
  madeAt?: number;
};

/**
 * Inserts entries with the current names of their actors and, unless named, of the subjects that they affect. The text of
 * the statement does not depend on their number, so it is prepared once. Skips ids that exist, so that a statement with an
 * unknown outcome can be sent again. Timestamps come from the database, minus the age of the entry.
 */
export async function insertEntries(db: Db, entries: readonly NewEntry[]): Promise<void> {
  const now = performance.now();
  const rows = entries.map(({ madeAt = now, ...entry }) => ({
    ...entry,
    subject_id: affectedSubject(entry),
    age_ms: now - madeAt,
  }));
  // A user who was deleted with the event is named by its details.
  await sql`
    insert into audit_logs (id, actor_id, actor_type, actor_name, actor_email, action, resource_type, resource_id,
      resource_name, details, acted_by_id, "timestamp")
    select id, actor_id,
      case when actor_id is not null then coalesce(actor_type,
        case when exists (select from service_accounts a where a.id = e.actor_id) then 'service_account' else 'user' end)
      end,
      coalesce(actor_name, (select a.name from service_accounts a where a.id = e.actor_id)),
      (select u.email from users u where u.id = e.actor_id), action, resource_type, resource_id,
      coalesce(resource_name, (select u.email from users u where u.id = e.subject_id),
        (select a.name from service_accounts a where a.id = e.subject_id),
        case when subject_id is not null then details ->> 'email' end),
      details, acted_by_id, clock_timestamp() - age_ms * interval '1 millisecond'
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
      as e (id uuid, actor_id uuid, actor_type text, actor_name text, action text, resource_type text,
        resource_id text, resource_name text, subject_id uuid, details jsonb, acted_by_id uuid, age_ms float8)
    on conflict (id) do nothing`.execute(db);
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** Returns the id of the user or service account that the entry affects, if its resource is one. */
const affectedSubject = ({ resource_type, resource_id }: NewEntry): string | null =>
  ['user', 'service_account', 'security_event'].includes(resource_type) && UUID.test(resource_id)
    ? resource_id
    : null;

type CommitOptions = {
  /** Fails at once if another transaction locks the table against writers. */
  nowait: boolean;
  /** Called before the commit is sent. If it throws, nothing is written. */
  beforeCommit: () => void;
};

// The server ends the wait, so that the outcome is known and no statement queues behind an abandoned one.
const MAX_LOCK_WAIT = '400ms';

/** Inserts entries in a separate transaction. Throws `lock_not_available` (55P03) if a lock takes more than 400 ms. */
export const commitEntries = (
  db: Db,
  entries: readonly NewEntry[],
  { nowait, beforeCommit }: CommitOptions,
): Promise<void> =>
  db.connection().execute(async (connection) => {
    const lock = nowait ? '; lock table audit_logs in row exclusive mode nowait' : '';
    try {
      await sql.raw(`begin; set local lock_timeout = '${MAX_LOCK_WAIT}'${lock}`).execute(connection);
      await insertEntries(connection, entries);
      beforeCommit();
      await sql`commit`.execute(connection);
    } catch (error) {
      // Fails only on a broken connection. The pool closes it, which rolls back as well.
      await sql`rollback`.execute(connection).catch(() => undefined);
      throw error;
    }
  });

/** Deletes entries older than `days` that are in no seal, in batches. Returns their number. */
export async function deleteOldEntries(db: Db, days: number): Promise<number> {
  const batch = 1_000;
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const result = await sql`
      delete from audit_logs where id = any(array(
        select e.id from audit_logs e cross join audit_log_head h
        where e."timestamp" < now() - make_interval(secs => ${days * 86_400})
          and (e.position > h.sealed_position
            or e.position is null and not h.is_past_sealed and (h.sealed_id is null or e.id > h.sealed_id))
        order by e."timestamp" limit ${batch} for update of e skip locked))`.execute(db);
    deleted = Number(result.numAffectedRows ?? 0);
  }
  return total;
}
