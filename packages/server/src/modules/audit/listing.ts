// Reads the audit log, newest first: filters, pages by cursor, and the export.
// It must not send anything.
import {
  type AuditAction,
  type AuditLogEntry,
  type AuditLogPage,
  type AuditLogQuery,
  failureActions,
  routineActions,
} from '@castellan/contract/audit';
import type { Sealing } from '@castellan/contract/evidence';
import { type PageKey, pageOf, readCursor, writeCursor } from '../../platform/cursors.ts';
import type { ExportSource } from '../../platform/http/answers/export.ts';
import { readTime } from '../../platform/times.ts';
import type { Db } from '../../schema/database.ts';
import { shownEntry } from './presentation.ts';
import { countEntries, type EntryFilter, findEntries } from './reading-store.ts';

export type AuditLogFilter = Omit<AuditLogQuery, 'size' | 'cursor' | 'sealing'>;

/** Says in which seals entries are, from the database that they were read from. */
export type SealingOf = (db: Db, ids: readonly string[]) => Promise<Sealing>;

// Rows of one statement of the export. Building their text takes about a millisecond.
const EXPORT_BATCH = 200;

export async function listEntries(
  deps: { db: Db; sealingOf: SealingOf },
  query: AuditLogQuery,
): Promise<Omit<AuditLogPage, 'message'>> {
  const after = readCursor(query.cursor);
  // One entry more than requested shows whether there is a next page.
  const { entries, next } = await findEntries(deps.db, toFilter(query), after, query.size + 1);
  const { page, next_cursor } = pageOf(entries, query.size);
  return {
    data: page.map((row) => shownEntry(row.entry)),
    next_cursor: next === null ? next_cursor : writeCursor(next),
    ...(query.routine === 'exclude' && after === null
      ? { routine_left_out: await countEntries(deps.db, toRoutineFilter(query)) }
      : {}),
    ...(query.sealing === true
      ? {
          sealing: await deps.sealingOf(
            deps.db,
            page.map(({ entry }) => entry.id),
          ),
        }
      : {}),
  };
}

/**
 * Returns the matching entries for an export, each as it is when the export reads it. `run` gives each batch a database.
 * Throws for an invalid filter.
 */
export function entriesToExport(
  query: AuditLogFilter,
  run: <T>(read: (db: Db) => Promise<T>) => Promise<T>,
): ExportSource<{ entry: AuditLogEntry; key: PageKey }> {
  const filter = toFilter(query);
  return {
    batch: EXPORT_BATCH,
    read: (after) =>
      run(async (db) => {
        const found: { entry: AuditLogEntry; key: PageKey }[] = [];
        let from: PageKey | null = after?.key ?? null;
        do {
          const { entries, next } = await findEntries(db, filter, from, EXPORT_BATCH - found.length);
          found.push(...entries.map(({ entry, key }) => ({ entry: shownEntry(entry), key })));
          from = next;
        } while (from !== null && found.length < EXPORT_BATCH);
        return found;
      }),
  };
}

const toFilter = (query: AuditLogFilter): EntryFilter => ({
  actorId: query.actor_id ?? null,
  actedById: query.acted_by_id ?? null,
  resourceType: query.resource_type ?? null,
  // Record ids are stored in lower case.
  resourceId: query.resource_id?.toLowerCase() ?? null,
  actions: actionsOf(query),
  exceptActions: query.result === 'success' ? failureActions : null,
  // Actions that are named are named without these.
  withoutRoutine: query.routine === 'exclude' && actionsOf(query) === null ? true : null,
  address: query.address ?? null,
  from: readTime('from', query.from),
  to: readTime('to', query.to),
});

/** Matches what `routine=exclude` leaves out of the query. */
function toRoutineFilter({ routine: _, ...query }: AuditLogFilter): EntryFilter {
  const actions = actionsOf(query);
  return { ...toFilter(query), actions: routineActions.filter((one) => actions?.includes(one) ?? true) };
}

/** Each action once: `findEntries` reads the entries of each. */
function actionsOf({ action, result, routine }: AuditLogFilter): readonly AuditAction[] | null {
  const named = action && [...new Set(action)];
  const wanted = result === 'failure' ? intersection(failureActions, named) : named;
  return (routine === 'exclude' ? wanted?.filter((one) => !routineActions.includes(one)) : wanted) ?? null;
}

const intersection = (all: readonly AuditAction[], named: readonly AuditAction[] | undefined) =>
  all.filter((one) => named?.includes(one) ?? true);
