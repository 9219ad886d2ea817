// An entry as an SQL expression, of `audit_logs e`, for lists and for the sink.
// It must not contain a whole statement.
import type { AuditLogEntry } from '@castellan/contract/audit';
import { sql } from 'kysely';
import { isoTime } from '../../platform/db/sql.ts';

// Entries of earlier versions have only what their details tell.
const resourceName = sql`
  coalesce(resource_name, case when resource_id <> '' then coalesce(
    details #>> '{after,name}', details #>> '{before,name}', details #>> '{after,email}', details #>> '{before,email}',
    details ->> 'email') end)`;

/** What `entryJson` makes. `acted_by_id` is null where nobody acted as the actor: see `shownEntry`. */
export type EntryJson = Omit<AuditLogEntry, 'acted_by_id'> & { acted_by_id: string | null };

export const entryJson = sql`
  json_build_object('id', e.id, 'actor_id', actor_id,
    'actor_type', case when actor_id is not null then coalesce(actor_type, 'user') end,
    'actor_name', actor_name, 'actor_email', actor_email, 'action', action,
    'resource_type', resource_type, 'resource_id', resource_id, 'resource_name', ${resourceName},
    'details', details, 'timestamp', ${isoTime('e.timestamp')}, 'acted_by_id', acted_by_id)`;
