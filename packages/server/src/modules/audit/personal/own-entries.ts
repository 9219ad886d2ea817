// Reads the audit entries by and about one user, also of what they did as somebody else, for that user, newest first.
// It must not tell them the address of somebody else, nor the data of the people they administered.
import type { AuditLogEntry } from '@castellan/contract/audit';
import { sql } from 'kysely';
import type { PageKey } from '../../../platform/cursors.ts';
import { keyTime } from '../../../platform/db/sql.ts';
import { plannedForValues } from '../../../platform/db/statement-names.ts';
import type { Db } from '../../../schema/database.ts';
import { type EntryJson, entryJson } from '../entry-json.ts';
import { shownEntry } from '../presentation.ts';
import { replacePersonal } from './members.ts';

/** Replaces other people's data. */
const LEFT_OUT = '…';

export type OwnEntry = { entry: AuditLogEntry; key: PageKey };

/** Returns at most `limit` entries after the key. Fewer are the last ones. */
export async function readOwnEntries(
  db: Db,
  userId: string,
  after: PageKey | null,
  limit: number,
): Promise<OwnEntry[]> {
  const older =
    after === null ? sql`true` : sql`(e."timestamp", e.id) < (${after.time}::timestamptz, ${after.id}::uuid)`;
  // Ranges and orders that fit one index each, as in reading-store.ts. The newest of all are among the newest of each.
  const { rows } = await sql<{ key: string; entry: EntryJson }>`${plannedForValues}
    with newest as materialized (
      select id, "timestamp" from (
        (select e.id, e."timestamp" from audit_logs e
          where e.actor_id >= ${userId}::uuid and e.actor_id <= ${userId}::uuid and ${older}
          order by e.actor_id, e."timestamp" desc, e.id desc limit ${limit})
        union
        (select e.id, e."timestamp" from audit_logs e
          where e.resource_id >= ${userId}::text and e.resource_id <= ${userId}::text and ${older}
          order by e.resource_id, e."timestamp" desc, e.id desc limit ${limit})
        union
        (select e.id, e."timestamp" from audit_logs e
          where e.acted_by_id >= ${userId}::uuid and e.acted_by_id <= ${userId}::uuid and ${older}
          order by e.acted_by_id, e."timestamp" desc, e.id desc limit ${limit})) every_kind
      order by "timestamp" desc, id desc limit ${limit})
    select ${keyTime('e.timestamp')} as key, ${entryJson} as entry
    from newest n join audit_logs e on e.id = n.id
    order by e."timestamp" desc, e.id desc`.execute(db);
  return rows.map(({ key, entry }) => ({
    entry: ownView(userId, shownEntry(entry)),
    key: { time: key, id: entry.id },
  }));
}

/** Returns the entry without what it tells of other people. */
function ownView(userId: string, entry: AuditLogEntry): AuditLogEntry {
  const isByOther = entry.actor_id !== null && entry.actor_id !== userId;
  const isOfOther = entry.resource_id !== userId && isAboutPerson(entry);
  // Of attributes, they may not read all: what they may is not in the log, but in their account.
  const isSentByOther = (entry.acted_by_id ?? entry.actor_id ?? userId) !== userId;
  const whose = { sender: isSentByOther, subject: isOfOther, also: isByOther ? ['attributes'] : [] };
  return {
    ...entry,
    details: replacePersonal({ action: entry.action, details: { ...entry.details } }, whose, LEFT_OUT),
    ...(isByOther ? { actor_email: null, actor_name: null } : {}),
    ...(isOfOther ? { resource_name: null } : {}),
  };
}

/** A security event without an account is about the sender of the request. */
const isAboutPerson = ({ resource_type: type, resource_id: id }: AuditLogEntry): boolean =>
  type === 'user' || (type === 'security_event' && id !== '');
