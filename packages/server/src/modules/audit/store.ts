// SQL of audit_logs.
import type { Insertable } from 'kysely';
import type { Database, Db } from '../../database.ts';

export async function insertEntry(db: Db, entry: Insertable<Database['audit_logs']>): Promise<void> {
  await db.insertInto('audit_logs').values(entry).execute();
}
