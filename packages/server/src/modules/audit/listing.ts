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

/**
 * Every entry that passes, one JSON text a line, as it was when the export came to it. The first batch is there when
 * this resolves, so that what is refused or fails at once is answered as an error.
 */
export async function openExport(
  deps: { db: Db },
  query: AuditLogFilter,
): Promise<AsyncGenerator<string, void>> {
  const filter = toFilter(query);
  return exportFrom(deps, filter, await findEntries(deps.db, filter, null, EXPORT_BATCH));
}

// JSON leaves them as they are: DEL and C1 move terminals, and some readers end a line at U+0085, U+2028 and U+2029.
const unsafeInLines = /[\u007f-\u009f\u2028\u2029]/g;

const lineOf = (entry: AuditLogEntry): string =>
  `${JSON.stringify(entry).replaceAll(unsafeInLines, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)}\n`;

async function* exportFrom(
  deps: { db: Db },
  filter: EntryFilter,
  first: Awaited<ReturnType<typeof findEntries>>,
): AsyncGenerator<string, void> {
  for (let rows = first; ; ) {
    const last = rows.at(-1);
    if (!last) return;
    yield rows.map(({ entry }) => lineOf(entry)).join('');
    if (rows.length < EXPORT_BATCH) return;
    rows = await findEntries(deps.db, filter, last.key, EXPORT_BATCH);
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

// PostgreSQL reads more than ISO 8601, and Date less strictly: whatever passes here both read the same.
const TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i;

/** In UTC, with milliseconds; null for what is no time, or outside of the years 1 to 9999 that ISO 8601 and PostgreSQL share. */
function canonicalTime(value: string): string | null {
  const day = TIME.exec(value)?.[1];
  // Date makes the third of March of the thirty-first of February.
  const midnight = new Date(`${day}T00:00:00Z`);
  const time = new Date(value);
  if (Number.isNaN(midnight.getTime()) || Number.isNaN(time.getTime())) return null;
  const text = time.toISOString();
  return midnight.toISOString().startsWith(day as string) && /^(?!0000)\d{4}-/.test(text) ? text : null;
}

function readTime(field: string, value: string | undefined): string | null {
  if (value === undefined) return null;
  const time = canonicalTime(value);
  if (time !== null) return time;
  const message = 'must be a time such as 2026-01-31T08:00:00Z';
  throw new AppError('validation_failed', {
    detail: `query.${field} ${message}.`,
    errors: [{ field: `query.${field}`, code: 'invalid_time', message }],
  });
}

// As the store words them.
const KEY_TIME = /\.\d{6}Z$/;
const KEY_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const writeCursor = (key: EntryKey): string =>
  Buffer.from(`${key.timestamp}|${key.id}`).toString('base64url');

function readCursor(cursor: string): EntryKey {
  const [timestamp = '', id = '', ...rest] = Buffer.from(cursor, 'base64url').toString().split('|');
  const key = { timestamp, id };
  // Written again it must be the same text: decoding skips whatever is no base64.
  if (rest.length === 0 && KEY_TIME.test(timestamp) && canonicalTime(timestamp) !== null && KEY_ID.test(id))
    if (writeCursor(key) === cursor) return key;
  const message = 'is none that this service gave out; begin without one';
  throw new AppError('validation_failed', {
    detail: `query.cursor ${message}.`,
    errors: [{ field: 'query.cursor', code: 'invalid_cursor', message }],
  });
}
