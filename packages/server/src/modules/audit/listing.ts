// Reads the audit log, newest first: filters, pages by cursor, and the export.
// It must not send anything.
import { type AuditLogEntry, type AuditLogQuery, failureActions } from '@castellan/contract/audit';
import { type PageKey, pageOf, readCursor } from '../../platform/cursors.ts';
import type { ExportSource } from '../../platform/http/export.ts';
import { readTime } from '../../platform/times.ts';
import type { Db } from '../../schema/database.ts';
import { type EntryFilter, findEntries } from './store.ts';

export type AuditLogFilter = Omit<AuditLogQuery, 'size' | 'cursor'>;

type Found = { entry: AuditLogEntry; key: PageKey };

// Rows of one statement of the export. Building their text takes about a millisecond.
const EXPORT_BATCH = 200;

export async function listEntries(
  deps: { db: Db },
  query: AuditLogQuery,
): Promise<{ data: AuditLogEntry[]; next_cursor: string | null }> {
  const after = readCursor(query.cursor);
  // One entry more than requested shows whether there is a next page.
  const rows = await findEntries(deps.db, toFilter(query), after, query.size + 1);
  const { page, next_cursor } = pageOf(rows, query.size);
  return { data: page.map((row) => row.entry), next_cursor };
}

/** Returns the matching entries for an export, each as it is when the export reads it. Throws for an invalid filter. */
export function entriesToExport(deps: { db: Db }, query: AuditLogFilter): ExportSource<Found> {
  const filter = toFilter(query);
  return {
    batch: EXPORT_BATCH,
    read: (after) => findEntries(deps.db, filter, after?.key ?? null, EXPORT_BATCH),
  };
}

const toFilter = (query: AuditLogFilter): EntryFilter => ({
  actorId: query.actor_id ?? null,
  resourceType: query.resource_type ?? null,
  // Record ids are stored in lower case.
  resourceId: query.resource_id?.toLowerCase() ?? null,
  actions: query.action ?? null,
  address: query.address ?? null,
  failed: query.result === undefined ? null : query.result === 'failure',
  failureActions,
  from: readTime('from', query.from),
  to: readTime('to', query.to),
});
