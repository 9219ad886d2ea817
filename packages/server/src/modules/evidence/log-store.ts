// SQL of the logs, their seals and the head. It must not hash.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Subtree } from '../../platform/evidence/merkle-proofs.ts';
import type { Completed } from '../../platform/evidence/merkle-tree.ts';
import type { Db, Tx } from '../../schema/database.ts';
import type { OpenMembers } from './leaves.ts';

/** A log: `number` in the database, `id` in its origin. */
export type Log = { number: number; id: string; origin: string };

export type Head = {
  /** Null before the first seal. */
  log: Log | null;
  size: number;
  hashes: readonly Buffer[];
  checkpoint: string | null;
  sealedPosition: number;
  sealedId: string | null;
  isPastSealed: boolean;
  /** Seconds since the last seal of entries; null before the first. */
  idleSeconds: number | null;
  isRestored: boolean;
};

type HeadRow = Omit<Head, 'log'> & { number: number | null; id: string | null; origin: string | null };

const headColumns = sql`
  l.number, l.id, l.origin, h.size::float8 as size, h.hashes, h.checkpoint, h.sealed_position::float8 as "sealedPosition",
  h.sealed_id as "sealedId", h.is_past_sealed as "isPastSealed",
  extract(epoch from clock_timestamp() - h.sealed_at)::float8 as "idleSeconds", h.is_restored as "isRestored"`;

const toHead = ({ number, id, origin, ...row }: HeadRow): Head => ({
  ...row,
  log: number === null || id === null || origin === null ? null : { number, id, origin },
});

/** Locks the head in order to seal; null if another instance has locked it. */
export async function takeHead(tx: Tx): Promise<Head | null> {
  const { rows } = await sql`select from audit_log_head for no key update skip locked`.execute(tx);
  return rows[0] ? readHead(tx) : null;
}

/** Locks the head, and waits for an instance that seals: well below a second. */
export async function lockHead(tx: Tx): Promise<Head> {
  await sql`select from audit_log_head for no key update`.execute(tx);
  // A separate statement: the one that locks would join the log that the head had before it waited.
  return readHead(tx);
}

export async function readHead(db: Db): Promise<Head> {
  const { rows } = await sql<HeadRow>`
    select ${headColumns} from audit_log_head h left join audit_seal_logs l on l.number = h.log`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('audit_log_head has no row');
  return toHead(row);
}

/** Writes what sealing has moved on. */
export async function writeHead(tx: Tx, head: Head, didSeal: boolean): Promise<void> {
  await sql`
    update audit_log_head set log = ${head.log?.number ?? null}, size = ${head.size}, hashes = ${[...head.hashes]}::bytea[],
      checkpoint = ${head.checkpoint}, sealed_position = ${head.sealedPosition}, sealed_id = ${head.sealedId},
      is_past_sealed = ${head.isPastSealed}, is_restored = ${head.isRestored},
      sealed_at = case when ${didSeal} then clock_timestamp() else sealed_at end`.execute(tx);
}

export async function insertLog(tx: Tx, id: string, origin: string): Promise<Log> {
  const { rows } = await sql<Log>`
    insert into audit_seal_logs (id, origin) values (${id}::uuid, ${origin}) returning number, id, origin`.execute(
    tx,
  );
  const [row] = rows;
  if (!row) throw new Error('no log was inserted');
  return row;
}

export async function findLog(db: Db, id: string): Promise<Log | null> {
  const { rows } =
    await sql<Log>`select number, id, origin from audit_seal_logs where id = ${id}::uuid`.execute(db);
  return rows[0] ?? null;
}

/** Returns the log that was begun after this one; null for the last. */
export async function findLogAfter(db: Db, number: number): Promise<Log | null> {
  const { rows } = await sql<Log>`
    select number, id, origin from audit_seal_logs where number > ${number} order by number limit 1`.execute(
    db,
  );
  return rows[0] ?? null;
}

export type NewSeal = {
  log: number;
  number: number;
  kind: string;
  content: string;
  leaf: Buffer;
  /** Of a seal of entries. */
  covers: Covered | null;
};

export type Covered = {
  fromPosition: number | null;
  toPosition: number | null;
  fromId: string | null;
  toId: string | null;
  late: readonly number[];
  listsId: string;
  entries: number;
  lastEntryAt: string | null;
};

export async function insertSeal(tx: Tx, seal: NewSeal, nodes: readonly Completed[]): Promise<void> {
  const c = seal.covers;
  await sql`
    insert into audit_seals (log, number, kind, content, leaf, from_position, to_position, from_id, to_id, late, lists_id,
      entries, last_entry_at)
    values (${seal.log}, ${seal.number}, ${seal.kind}, ${seal.content}, ${seal.leaf}, ${c?.fromPosition ?? null},
      ${c?.toPosition ?? null}, ${c?.fromId ?? null}::uuid, ${c?.toId ?? null}::uuid,
      ${c && c.late.length > 0 ? [...c.late] : null}::bigint[], ${c?.listsId ?? null}, ${c?.entries ?? 0},
      ${c?.lastEntryAt ?? null}::timestamptz)`.execute(tx);
  for (const { level, index, hash } of nodes)
    await sql`
      insert into audit_seal_nodes (log, level, index, hash)
      values (${seal.log}, ${level}, ${index}, ${hash})`.execute(tx);
}

/** Stores the lists under their hash, once. */
export async function keepLists(tx: Tx, id: string, lists: string): Promise<void> {
  await sql`
    insert into audit_member_lists (id, lists) values (${id}, ${lists}::jsonb) on conflict do nothing`.execute(
    tx,
  );
}

export async function findLists(db: Db, id: string): Promise<OpenMembers | null> {
  const { rows } = await sql<{
    lists: OpenMembers;
  }>`select lists from audit_member_lists where id = ${id}`.execute(db);
  return rows[0]?.lists ?? null;
}

export type StoredSeal = {
  log: number;
  log_id: string;
  number: number;
  content: string;
  lists_id: string | null;
  removed_by: number | null;
  late: string[] | null;
};
const sealColumns = sql`
  s.log, l.id as log_id, s.number::float8 as number, s.content, s.lists_id, s.removed_by::float8 as removed_by, s.late::text[] as late`;

/** Returns the seals that may hold the position: the one whose range it is in, and those that have it as a late one. */
export async function findSealsOfPosition(db: Db, position: number): Promise<StoredSeal[]> {
  const { rows } = await sql<StoredSeal>`${plannedForValues}
    select ${sealColumns} from (
      (select * from audit_seals where to_position >= ${position} order by to_position limit 1)
      union all
      (select * from audit_seals where late @> array[${position}]::bigint[])) s
    join audit_seal_logs l on l.number = s.log
    where s.from_position <= ${position} or s.late @> array[${position}]::bigint[]
    order by s.log desc, s.number desc`.execute(db);
  return rows;
}

/** The same for an entry without a position. */
export async function findSealsOfId(db: Db, id: string): Promise<StoredSeal[]> {
  const { rows } = await sql<StoredSeal>`${plannedForValues}
    select ${sealColumns} from (
      select * from audit_seals where to_id >= ${id}::uuid order by to_id limit 1) s
    join audit_seal_logs l on l.number = s.log
    where s.from_id <= ${id}::uuid`.execute(db);
  return rows;
}

/** A seal that may be removed. `limit`: the time, in milliseconds, before which all of its entries must be. */
export type OldSeal = Pick<StoredSeal, 'log' | 'log_id' | 'number' | 'content' | 'lists_id'> & {
  limit: number;
};

/**
 * Returns seals that the database says have no entry that is younger than `days`, and whose entries are still there: of one log, oldest
 * first, at most `limit`, and with the first one no more than `entries` entries.
 */
export async function findOldSeals(tx: Tx, days: number, limit: number, entries: number): Promise<OldSeal[]> {
  const { rows } = await sql<OldSeal>`${plannedForValues}
    with old as (
      select log, number, content, lists_id, entries from audit_seals
      where last_entry_at < now() - make_interval(secs => ${days * 86_400}) and removed_by is null
      order by log, number limit ${limit}),
    counted as (
      select old.*, sum(entries) over (order by number) as total, row_number() over (order by number) as place
      from old where log = (select min(log) from old))
    select c.log, l.id as log_id, c.number::float8 as number, c.content, c.lists_id,
      extract(epoch from now() - make_interval(secs => ${days * 86_400}))::float8 * 1000 as "limit"
    from counted c join audit_seal_logs l on l.number = c.log
    where c.total <= ${entries} or c.place = 1
    order by c.number`.execute(tx);
  return rows;
}

/** Notes up to when a seal has entries: then, in milliseconds, it is looked at again. Null: never. */
export async function correctLastEntry(
  tx: Tx,
  { log, number }: Pick<StoredSeal, 'log' | 'number'>,
  time: number | null,
): Promise<void> {
  await sql`
    update audit_seals set last_entry_at = to_timestamp(${time}::float8 / 1000.0)
    where log = ${log} and number = ${number}`.execute(tx);
}

/** Notes that the entries of these seals were removed, by the seal with this number of the current log. */
export async function markRemoved(
  tx: Tx,
  seals: readonly Pick<StoredSeal, 'log' | 'number'>[],
  by: number,
): Promise<void> {
  await sql`
    update audit_seals s set removed_by = ${by}
    from unnest(${seals.map(({ log }) => log)}::integer[], ${seals.map(({ number }) => number)}::bigint[]) as r (log, number)
    where s.log = r.log and s.number = r.number`.execute(tx);
}

/** Every level of a tree of stored hashes is a multiple of this one. */
export const STORED_LEVELS = 8;

/** Returns the stored hashes of a level from one index on: leaves, or nodes of a stored level. */
export async function findHashes(
  db: Db,
  log: number,
  { level, index }: Subtree,
  count: number,
): Promise<Buffer[]> {
  const { rows } =
    level === 0
      ? await sql<{ hash: Buffer }>`
          select leaf as hash from audit_seals
          where log = ${log} and number >= ${index} and number < ${index + count} order by number`.execute(db)
      : await sql<{ hash: Buffer }>`
          select hash from audit_seal_nodes
          where log = ${log} and level = ${level} and index >= ${index} and index < ${index + count}
          order by index`.execute(db);
  return rows.map(({ hash }) => hash);
}
/** Returns the number of the seal that says that the entries of a seal were removed; null if none does. */
export async function findRemoval(
  db: Db,
  { log, number }: Pick<StoredSeal, 'log' | 'number'>,
): Promise<number | null> {
  const { rows } = await sql<{ removedBy: number | null }>`
    select removed_by::float8 as "removedBy" from audit_seals where log = ${log} and number = ${number}`.execute(
    db,
  );
  return rows[0]?.removedBy ?? null;
}

/** Returns seals of a log above a number, in order. */
export async function listSeals(db: Db, log: number, after: number, limit: number): Promise<StoredSeal[]> {
  const { rows } = await sql<StoredSeal>`${plannedForValues}
    select ${sealColumns} from audit_seals s join audit_seal_logs l on l.number = s.log
    where s.log = ${log} and s.number > ${after}
    order by s.number limit ${limit}`.execute(db);
  return rows;
}

/** Returns how many seals a log has. */
export async function sizeOfLog(db: Db, log: number): Promise<number> {
  const { size } = onlyRow(
    await sql<{ size: number }>`
      select coalesce(max(number) + 1, 0)::float8 as size from audit_seals where log = ${log}`.execute(db),
  );
  return size;
}

/** Returns whether entries of this time, in milliseconds, were removed because of their age. */
export async function wasRemovedSince(db: Db, time: number): Promise<boolean> {
  const { rows } = await sql`
    select from audit_seals
    where removed_by is not null and last_entry_at >= to_timestamp(${time} / 1000.0) limit 1`.execute(db);
  return rows.length > 0;
}

/** Before every id. */
export const FIRST_ID = '00000000-0000-0000-0000-000000000000';
