// Reading the audit log: filters, pages by key, and the export. Newest first.
// It must not hold more than one batch in memory.
import { type AuditLogEntry, type AuditLogQuery, failureActions } from '@castellan/contract/audit';
import type { Db } from '../../database.ts';
import { AppError } from '../../platform/errors.ts';
import { type EntryFilter, type EntryKey, findEntries } from './store.ts';

export type AuditLogFilter = Omit<AuditLogQuery, 'size' | 'cursor'>;

// Rows of one statement of the export: a few hundred kilobytes.
const EXPORT_BATCH = 1_000;

export async function listEntries(
  deps: { db: Db },
  query: AuditLogQuery,
): Promise<{ data: AuditLogEntry[]; next_cursor: string | null }> {
  const after = query.cursor === undefined ? null : readCursor(query.cursor);
  // One more than asked for tells whether there is a next page.
  const rows = await findEntries(deps.db, toFilter(query), after, query.size + 1);
  const page = rows.slice(0, query.size);
  const last = page.at(-1);
  return {
    data: page.map((row) => row.entry),
    next_cursor: last && rows.length > query.size ? writeCursor(last.key) : null,
  };
}

/** Every entry that passes, one JSON text a line, as it was when the export came to it. */
export async function* exportEntries(deps: { db: Db }, query: AuditLogFilter): AsyncGenerator<string> {
  const filter = toFilter(query);
  let after: EntryKey | null = null;
  for (;;) {
    const rows: Awaited<ReturnType<typeof findEntries>> = await findEntries(
      deps.db,
      filter,
      after,
      EXPORT_BATCH,
    );
    if (rows.length > 0) yield rows.map((row) => `${JSON.stringify(row.entry)}\n`).join('');
    if (rows.length < EXPORT_BATCH) return;
    after = (rows.at(-1) as (typeof rows)[number]).key;
  }
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

function readTime(field: string, value: string | undefined): string | null {
  if (value === undefined) return null;
  const time = new Date(value);
  // PostgreSQL reads more than ISO 8601; whatever passes here it reads the same.
  if (
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i.test(value) &&
    !Number.isNaN(time.getTime())
  )
    return time.toISOString();
  const message = 'must be a time such as 2026-01-31T08:00:00Z';
  throw new AppError('validation_failed', {
    detail: `query.${field} ${message}.`,
    errors: [{ field: `query.${field}`, code: 'invalid_time', message }],
  });
}

const writeCursor = (key: EntryKey): string =>
  Buffer.from(`${key.timestamp}|${key.id}`).toString('base64url');

function readCursor(cursor: string): EntryKey {
  const match =
    /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)\|([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(
      Buffer.from(cursor, 'base64url').toString(),
    );
  if (match && !Number.isNaN(Date.parse(match[1] as string)))
    return { timestamp: match[1] as string, id: match[2] as string };
  const message = 'is none that this service gave out; begin without one';
  throw new AppError('validation_failed', {
    detail: `query.cursor ${message}.`,
    errors: [{ field: 'query.cursor', code: 'invalid_cursor', message }],
  });
}
