// SQL that reads entries to seal, to prove and to export, and that notes missing positions. It must not lock an entry.
import { type RawBuilder, sql } from 'kysely';
import { keyTime } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Db, Tx } from '../../schema/database.ts';
import type { StoredEntry } from './leaves.ts';

/** Of `audit_logs e`, and of `audit_salts s` for entries without a position. */
const entryColumns = (salt: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  e.id, e.position::float8 as position, ${keyTime('e.timestamp')} as "timestamp", e.action, e.actor_type, e.actor_id,
  e.actor_email, e.actor_name, e.acted_by_id, e.resource_type, e.resource_id, e.resource_name, e.details,
  ${salt} as salt, encode(e.personal_hash, 'base64') as personal_hash`;

const ofPosition = entryColumns(sql`e.salt`);
const ofPast = entryColumns(sql`s.salt`);

/** Returns the visible entries above a position, in order. */
export async function findNewEntries(db: Db, after: number, limit: number): Promise<StoredEntry[]> {
  const { rows } = await sql<StoredEntry>`${plannedForValues}
    select ${ofPosition} from audit_logs e where e.position > ${after} order by e.position limit ${limit}`.execute(
    db,
  );
  return rows;
}

/** Returns the entries that appeared in positions that were missing, in order. */
export async function findLateEntries(db: Db, limit: number): Promise<StoredEntry[]> {
  // The planner takes a range for a two-hundredth of the table. Without the inner limit, it would read the whole log in its order
  // and look into what is missing for each entry, in the belief that so many are found soon.
  const { rows } = await sql<StoredEntry>`${plannedForValues}
    select e.* from audit_missing m, lateral (
      select ${ofPosition} from audit_logs e
      where e.position between m.from_position and m.to_position
      order by e.position limit ${limit}) e
    order by e.position limit ${limit}`.execute(db);
  return rows;
}

export type PositionRange = readonly [number, number];

/** Notes positions that no entry has yet. */
export async function addMissing(tx: Tx, ranges: readonly PositionRange[]): Promise<void> {
  if (ranges.length === 0) return;
  await sql`
    insert into audit_missing (from_position, to_position)
    select from_position, to_position from unnest(${ranges.map(([from]) => from)}::bigint[], ${ranges.map(([, to]) => to)}::bigint[])
      as m (from_position, to_position)`.execute(tx);
}

/** Takes positions out of what is missing: their entries have appeared. */
export async function endMissing(tx: Tx, positions: readonly number[]): Promise<void> {
  if (positions.length === 0) return;
  // What is left of a range keeps its time.
  await sql`
    with hit as (
      delete from audit_missing m
      where exists (select from unnest(${[...positions]}::bigint[]) p where p between m.from_position and m.to_position)
      returning *),
    parts as (
      select unnest(int8multirange(int8range(h.from_position, h.to_position, '[]')) - coalesce((
        select range_agg(int8range(p, p, '[]')) from unnest(${[...positions]}::bigint[]) p
        where p between h.from_position and h.to_position), '{}'::int8multirange)) as part, h.since
      from hit h)
    insert into audit_missing (from_position, to_position, since)
    select lower(part), upper(part) - 1, since from parts`.execute(tx);
}

/** Takes the ranges that have been missing for so long, and that no entry has. */
export async function takeVoid(tx: Tx, seconds: number): Promise<[number, number][]> {
  const { rows } = await sql<{ from: number; to: number }>`
    delete from audit_missing m
    where m.since < clock_timestamp() - make_interval(secs => ${seconds})
      and not exists (select from audit_logs e where e.position between m.from_position and m.to_position)
    returning m.from_position::float8 as "from", m.to_position::float8 as "to"`.execute(tx);
  return rows.map(({ from, to }): [number, number] => [from, to]).sort(([a], [b]) => a - b);
}

/** Gives the next entries without a position their salts. */
export async function saltPast(tx: Tx, after: string, limit: number): Promise<void> {
  await sql`${plannedForValues}
    insert into audit_salts (entry_id)
    select id from (
      select id, personal_hash from audit_logs where position is null and id > ${after}::uuid order by id limit ${limit}) e
    where personal_hash is null
    on conflict do nothing`.execute(tx);
}

/** Returns entries without a position above an id, in order. */
export async function findPastEntries(db: Db, after: string, limit: number): Promise<StoredEntry[]> {
  const { rows } = await sql<StoredEntry>`${plannedForValues}
    select ${ofPast} from audit_logs e left join audit_salts s on s.entry_id = e.id
    where e.position is null and e.id > ${after}::uuid order by e.id limit ${limit}`.execute(db);
  return rows;
}

/** Deletes the entries of these ranges of positions. Returns how many. */
export async function deletePositions(tx: Tx, ranges: readonly PositionRange[]): Promise<number> {
  if (ranges.length === 0) return 0;
  const { numAffectedRows } = await sql`
    delete from audit_logs e
    using unnest(${ranges.map(([from]) => from)}::bigint[], ${ranges.map(([, to]) => to)}::bigint[]) as r (from_position, to_position)
    where e.position between r.from_position and r.to_position`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

/** Deletes entries without a position of a range of ids, with their salts. Returns how many. */
export async function deletePast(tx: Tx, from: string, to: string): Promise<number> {
  const { numAffectedRows } = await sql`
    with salts as (delete from audit_salts where entry_id between ${from}::uuid and ${to}::uuid)
    delete from audit_logs where position is null and id between ${from}::uuid and ${to}::uuid`.execute(tx);
  return Number(numAffectedRows ?? 0);
}
/** Returns the entries of a range of positions, both ends included, and of single positions, in order. */
export async function findEntriesAt(
  db: Db,
  range: { from: number; to: number } | null,
  single: readonly number[],
): Promise<StoredEntry[]> {
  const { rows } = await sql<StoredEntry>`${plannedForValues}
    select ${ofPosition} from audit_logs e
    where e.position between ${range?.from ?? 1} and ${range?.to ?? 0} or e.position = any(${[...single]}::bigint[])
    order by e.position`.execute(db);
  return rows;
}

/** Returns the entries at any position of the ranges. */
export async function findEntriesIn(db: Db, ranges: readonly PositionRange[]): Promise<StoredEntry[]> {
  const { rows } = await sql<StoredEntry>`
    select e.* from unnest(${ranges.map(([from]) => from)}::bigint[], ${ranges.map(([, to]) => to)}::bigint[]) as r (first, last),
      lateral (select ${ofPosition} from audit_logs e where e.position between r.first and r.last) e`.execute(
    db,
  );
  return rows;
}

/** Two ids, and whether they are in the range themselves. */
export type IdRange = readonly [string, string, boolean];

/** Returns entries without a position in any of the ranges of ids. */
export async function findPastWithin(db: Db, ranges: readonly IdRange[]): Promise<StoredEntry[]> {
  const { rows } = await sql<StoredEntry>`
    select e.* from unnest(${ranges.map(([from]) => from)}::uuid[], ${ranges.map(([, to]) => to)}::uuid[],
        ${ranges.map(([, , isClosed]) => isClosed)}::boolean[]) as r (first, last, is_closed),
      lateral (
        select ${ofPast} from audit_logs e left join audit_salts s on s.entry_id = e.id
        where e.position is null and e.id between r.first and r.last
          and (r.is_closed or (e.id > r.first and e.id < r.last))) e`.execute(db);
  return rows;
}

/** Returns entries without a position of a range of ids, both ends included, in order. */
export async function findPastBetween(db: Db, from: string, to: string): Promise<StoredEntry[]> {
  const { rows } = await sql<StoredEntry>`${plannedForValues}
    select ${ofPast} from audit_logs e left join audit_salts s on s.entry_id = e.id
    where e.position is null and e.id between ${from}::uuid and ${to}::uuid order by e.id`.execute(db);
  return rows;
}

/** Returns an entry; null if there is none. */
export async function findEntry(db: Db, id: string): Promise<StoredEntry | null> {
  const { rows } = await sql<StoredEntry>`
    select ${entryColumns(sql`coalesce(e.salt, s.salt)`)} from audit_logs e
    left join audit_salts s on s.entry_id = e.id and e.position is null
    where e.id = ${id}::uuid`.execute(db);
  return rows[0] ?? null;
}
