// SQL that reads audit_logs, newest first. Every single filter has an index in this order. Filters that rarely match
// together are searched step by step, so that no request reads more than a few thousand entries.
import { type AuditAction, routineActions } from '@castellan/contract/audit';
import { type RawBuilder, sql } from 'kysely';
import type { PageKey } from '../../platform/cursors.ts';
import { keyTime } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Db } from '../../schema/database.ts';
import { type EntryJson, entryJson } from './entry-json.ts';

/** A null condition is not applied. Times are ISO 8601. */
export type EntryFilter = {
  actorId: string | null;
  actedById: string | null;
  resourceType: string | null;
  resourceId: string | null;
  /** Any of these actions, each named once. */
  actions: readonly string[] | null;
  /** None of these actions. */
  exceptActions: readonly string[] | null;
  /** Leaves out routine actions. Cannot be combined with `actions`. */
  withoutRoutine: true | null;
  address: string | null;
  from: string | null;
  to: string | null;
};

type FoundEntry = { entry: EntryJson; key: PageKey };

/** `next`: the last entry that was read if older ones may match; null at the end. */
export type EntryPage = { entries: FoundEntry[]; next: PageKey | null };

/** Almost every entry has this type, so the index on types leaves it out. */
const USUAL_TYPE = 'security_event';

/**
 * An index to read entries from, and the values of its column. `all`: the index on times. `notable` and
 * `notableResourceId`: the indexes without routine entries.
 */
type Source = { name: SourceName; values: readonly string[] };
type SourceName =
  | 'all'
  | 'notable'
  | 'resourceId'
  | 'notableResourceId'
  | 'actorId'
  | 'actedById'
  | 'address'
  | 'actions'
  | 'resourceType';

/** The routine actions that the indexes without routine entries leave out: most entries by far. */
export const unindexedActions: readonly AuditAction[] = ['session_refreshed', 'client_token_issued'];
// First the predicate of those indexes, in the form in which PostgreSQL recognizes it.
const isNotable = sql`e.action <> all(${unindexedActions}::text[]) and e.action <> all(${routineActions}::text[])`;

// Of `audit_logs e`. The value is compared as a range and the order begins with the column, so that only the index of the
// column fits: PostgreSQL would otherwise expect frequent values to be near the newest entries.
function isOf(name: SourceName, value: string): RawBuilder<unknown> {
  const ofSource: Readonly<Record<SourceName, RawBuilder<unknown>>> = {
    all: sql`true`,
    notable: isNotable,
    resourceId: sql`e.resource_id >= ${value} and e.resource_id <= ${value}`,
    notableResourceId: sql`e.resource_id >= ${value} and e.resource_id <= ${value} and ${isNotable}`,
    actorId: sql`e.actor_id >= ${value}::uuid and e.actor_id <= ${value}::uuid`,
    actedById: sql`e.acted_by_id >= ${value}::uuid and e.acted_by_id <= ${value}::uuid`,
    address: sql`e.details ->> 'address' >= ${value} and e.details ->> 'address' <= ${value}`,
    actions: sql`e.action >= ${value} and e.action <= ${value}`,
    // Not the condition of the partial index, which follows from these: the planner would expect too few entries.
    resourceType: sql`e.resource_type >= ${value} and e.resource_type <= ${value}`,
  };
  return ofSource[name];
}
const newestFirst: Readonly<Record<SourceName, RawBuilder<unknown>>> = {
  all: sql`e."timestamp" desc, e.id desc`,
  // Nulls last, as in the indexes without routine entries: no other index has this order.
  notable: sql`e."timestamp" desc nulls last, e.id desc nulls last`,
  notableResourceId: sql`e.resource_id, e."timestamp" desc nulls last, e.id desc nulls last`,
  resourceId: sql`e.resource_id, e."timestamp" desc, e.id desc`,
  actorId: sql`e.actor_id, e."timestamp" desc, e.id desc`,
  actedById: sql`e.acted_by_id, e."timestamp" desc, e.id desc`,
  address: sql`e.details ->> 'address', e."timestamp" desc, e.id desc`,
  actions: sql`e.action, e."timestamp" desc, e.id desc`,
  resourceType: sql`e.resource_type, e."timestamp" desc, e.id desc`,
};

function sourcesOf(filter: EntryFilter): Source[] {
  const { resourceId, actorId, actedById, address, actions, resourceType, withoutRoutine } = filter;
  const sources: { name: SourceName; values: readonly string[] | null }[] = [
    {
      name: withoutRoutine ? 'notableResourceId' : 'resourceId',
      values: resourceId === null ? null : [resourceId],
    },
    // Its entries contain those of the record.
    { name: 'notable', values: withoutRoutine && resourceId === null ? [''] : null },
    { name: 'actorId', values: actorId === null ? null : [actorId] },
    { name: 'actedById', values: actedById === null ? null : [actedById] },
    { name: 'address', values: address === null ? null : [address] },
    { name: 'actions', values: actions },
    {
      name: 'resourceType',
      values: resourceType === null || resourceType === USUAL_TYPE ? null : [resourceType],
    },
  ];
  return sources.flatMap(({ name, values }) => (values === null ? [] : [{ name, values }]));
}

const isInRange = ({ from, to }: EntryFilter, after: PageKey | null): RawBuilder<unknown> => {
  const conditions = [
    sql`true`,
    from === null ? null : sql`e."timestamp" >= ${from}::timestamptz`,
    to === null ? null : sql`e."timestamp" < ${to}::timestamptz`,
    after === null ? null : sql`(e."timestamp", e.id) < (${after.time}::timestamptz, ${after.id}::uuid)`,
  ].filter((condition) => condition !== null);
  return sql.join(conditions, sql` and `);
};

function isMatch(filter: EntryFilter): RawBuilder<unknown> {
  const conditions = [
    sql`true`,
    filter.actorId === null ? null : sql`e.actor_id = ${filter.actorId}`,
    filter.actedById === null ? null : sql`e.acted_by_id = ${filter.actedById}`,
    filter.resourceType === null ? null : sql`e.resource_type = ${filter.resourceType}`,
    filter.resourceId === null ? null : sql`e.resource_id = ${filter.resourceId}`,
    filter.actions === null ? null : sql`e.action = any(${filter.actions}::text[])`,
    filter.exceptActions === null ? null : sql`e.action <> all(${filter.exceptActions}::text[])`,
    filter.withoutRoutine === null ? null : isNotable,
    filter.address === null ? null : sql`e.details ->> 'address' = ${filter.address}`,
  ].filter((condition) => condition !== null);
  return sql.join(conditions, sql` and `);
}

const countConditions = ({ from, to, ...filter }: EntryFilter): number =>
  Object.values(filter).filter((value) => value !== null).length;

/** How many conditions of a filter every entry of the source meets. */
const conditionsMet: Readonly<Record<SourceName, number>> = {
  all: 0,
  notable: 1,
  resourceId: 1,
  notableResourceId: 2,
  actorId: 1,
  actedById: 1,
  address: 1,
  actions: 1,
  resourceType: 1,
};

// How far back this many entries of a filter reach tells which filter has the fewest.
const PROBED = 500;

/** Returns the source with the fewest entries for its time. */
async function findRarest(db: Db, filter: EntryFilter, after: PageKey | null): Promise<Source> {
  const sources = sourcesOf(filter);
  const [only] = sources;
  if (sources.length < 2) return only ?? { name: 'all', values: [''] };
  let rarest: { source: Source; since: number } | undefined;
  for (const source of sources) {
    const depth = Math.ceil(PROBED / source.values.length);
    const newest: RawBuilder<unknown>[] = [];
    for (const value of source.values)
      newest.push(sql`
        (select e."timestamp" from audit_logs e where ${isOf(source.name, value)} and ${isInRange(filter, after)}
         order by ${newestFirst[source.name]} limit ${depth})`);
    const { rows } = await sql<{ since: Date }>`${plannedForValues}
      select "timestamp" as since from (${sql.join(newest, sql` union all `)}) probed
      order by "timestamp" desc offset ${PROBED - 1} limit 1`.execute(db);
    const since = rows[0]?.since.getTime() ?? Number.NEGATIVE_INFINITY;
    if (rarest === undefined || since < rarest.since) rarest = { source, since };
  }
  if (!rarest) throw new Error('no filter was probed');
  return rarest.source;
}

/** Entries that one call reads first to find those that match several filters: often enough for a page. */
const FIRST_READ = 400;
/** Maximum entries that it reads then: about 30 ms if none is in PostgreSQL's memory. */
const MAX_READ = 2_500;

type Row = { last: string | null; last_id: string | null; key: string | null; entry: EntryJson | null };

/** Returns up to `limit` matching entries after the key, newest first. Fewer are not the end: see `next`. */
export async function findEntries(
  db: Db,
  filter: EntryFilter,
  after: PageKey | null,
  limit: number,
): Promise<EntryPage> {
  if (filter.actions?.length === 0) return { entries: [], next: null };
  const source = await findRarest(db, filter, after);
  if (countConditions(filter) === conditionsMet[source.name])
    return readEntries(db, { filter, source, after, limit, reach: limit });
  const reach = Math.ceil(FIRST_READ / source.values.length);
  const first = await readEntries(db, { filter, source, after, limit, reach });
  if (first.next === null) return first;
  const more = await readEntries(db, {
    filter,
    source,
    after: first.next,
    limit: limit - first.entries.length,
    reach: Math.ceil(MAX_READ / source.values.length),
  });
  return { entries: [...first.entries, ...more.entries], next: more.next };
}

/** Matching entries that are counted at most: about 10 ms, from an index alone. */
const MAX_COUNT = 10_000;

/** Counts the matching entries without reading more than a page may. */
export async function countEntries(
  db: Db,
  filter: EntryFilter,
): Promise<{ count: number; is_lower_bound: boolean }> {
  if (filter.actions?.length === 0) return { count: 0, is_lower_bound: false };
  const source = await findRarest(db, filter, null);
  const isExact = countConditions(filter) === conditionsMet[source.name];
  const reach = isExact ? MAX_COUNT + 1 : Math.ceil(MAX_READ / source.values.length);
  const parts: RawBuilder<unknown>[] = [];
  for (const value of source.values)
    parts.push(sql`
      (select ${isMatch(filter)} as is_match, row_number() over () as place from (
        select * from audit_logs e where ${isOf(source.name, value)} and ${isInRange(filter, null)}
        order by ${newestFirst[source.name]} limit ${reach}) e)`);
  const { rows } = await sql<{ found: number; is_cut: boolean }>`${plannedForValues}
    select (count(*) filter (where is_match))::integer as found, coalesce(max(place) = ${reach}, false) as is_cut
    from (${sql.join(parts, sql` union all `)}) read`.execute(db);
  const [{ found, is_cut } = { found: 0, is_cut: false }] = rows;
  return { count: Math.min(found, MAX_COUNT), is_lower_bound: is_cut || found > MAX_COUNT };
}

type Reading = {
  filter: EntryFilter;
  source: Source;
  after: PageKey | null;
  limit: number;
  /** Entries to read of each value. Those since the end of the shortest reach are all that were read completely. */
  reach: number;
};

async function readEntries(db: Db, { filter, source, after, limit, reach }: Reading): Promise<EntryPage> {
  const parts: RawBuilder<unknown>[] = [];
  for (const value of source.values)
    parts.push(sql`
      (select e.id, e."timestamp", ${isMatch(filter)} as is_match, row_number() over () as place from (
        select * from audit_logs e where ${isOf(source.name, value)} and ${isInRange(filter, after)}
        order by ${newestFirst[source.name]} limit ${reach}) e)`);
  const { rows } = await sql<Row>`${plannedForValues}
    with read as materialized (${sql.join(parts, sql` union all `)}),
    reached as materialized (
      select "timestamp", id from read where place = ${reach} order by "timestamp" desc, id desc limit 1),
    found as (
      select id, "timestamp" from read
      where is_match and coalesce(("timestamp", id) >= ((select "timestamp" from reached), (select id from reached)), true)
      order by "timestamp" desc, id desc limit ${limit})
    select ${keyTime('reached.timestamp')} as last, reached.id as last_id, shown.key,
      shown.entry
    from (select) one left join reached on true left join lateral (
      select e."timestamp", e.id, ${keyTime('e.timestamp')} as key,
        ${entryJson} as entry
      from found f join audit_logs e on e.id = f.id) shown on true
    order by shown."timestamp" desc, shown.id desc`.execute(db);
  const entries = rows.flatMap(({ entry, key }) =>
    entry && key !== null ? [{ entry, key: { time: key, id: entry.id } }] : [],
  );
  const [first] = rows;
  if (!first || first.last === null || first.last_id === null || entries.length === limit)
    return { entries, next: null };
  return { entries, next: { time: first.last, id: first.last_id } };
}
