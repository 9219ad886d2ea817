// The name of the affected record as an SQL expression, of `audit_logs`.
import { sql } from 'kysely';

// Entries of earlier versions have only what their details tell.
export const resourceName = sql`
  coalesce(resource_name, case when resource_id <> '' then coalesce(
    details #>> '{after,name}', details #>> '{before,name}', details #>> '{after,email}', details #>> '{before,email}',
    details ->> 'email') end)`;
