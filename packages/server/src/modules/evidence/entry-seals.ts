// Says of listed entries in which seal each of them is, and what the log is sealed up to.
// It must not read the other entries of a seal: what a seal covers is known from its ranges, and only a proof compares hashes.
import type { EntrySeal, Sealing } from '@castellan/contract/evidence';
import { sql } from 'kysely';
import { isoTime } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { readCheckpoint, readNote } from '../../platform/evidence/signed-note.ts';
import type { Db } from '../../schema/database.ts';

/** Entries in the order of `ids`, without those that are gone. */
export async function sealingOf(
  db: Db,
  ids: readonly string[],
  { auditSealing }: { auditSealing: boolean },
): Promise<Sealing> {
  const head = await readSealedHead(db);
  const found = ids.length === 0 ? [] : await findSealsOfEntries(db, ids);
  return { is_on: auditSealing, head, entries: found.map(toEntrySeal) };
}

/** Returns whether an entry that is there is in no seal, and a later one may still take it. */
export async function isWaitingForSeal(db: Db, id: string): Promise<boolean> {
  const [found] = await findSealsOfEntries(db, [id]);
  return found !== undefined && toEntrySeal(found).state === 'waiting';
}

async function readSealedHead(db: Db): Promise<Sealing['head']> {
  const { rows } = await sql<{ checkpoint: string | null; sealed_at: string | null }>`
    select checkpoint, ${isoTime('sealed_at')} as sealed_at from audit_log_head`.execute(db);
  const { checkpoint = null, sealed_at = null } = rows[0] ?? {};
  if (checkpoint === null || sealed_at === null) return null;
  const { origin, size, root } = readCheckpoint(readNote(checkpoint).text);
  return { origin, seals: size, root: root.toString('base64'), sealed_at };
}

type Row = {
  id: string;
  is_erased: boolean;
  log: string | null;
  seal: number | null;
  /** Of an entry without a seal: whether seals have passed its position, and none of them waits for it. */
  is_passed: boolean;
};

const toEntrySeal = ({ id, is_erased, log, seal, is_passed }: Row): EntrySeal => ({
  id,
  state: seal === null ? (is_passed ? 'inserted' : 'waiting') : 'sealed',
  log,
  seal,
  is_erased,
});

async function findSealsOfEntries(db: Db, ids: readonly string[]): Promise<Row[]> {
  const { rows } = await sql<Row>`${plannedForValues}
    select e.id, e.personal_hash is not null as is_erased, l.id as log, s.number::float8 as seal,
      s.number is null and case when e.position is null then h.is_past_sealed or e.id <= h.sealed_id
        else e.position <= h.sealed_position and not exists (
          select from audit_missing m where e.position between m.from_position and m.to_position) end is true as is_passed
    from unnest(${[...ids]}::uuid[]) with ordinality as wanted (id, place)
    join audit_logs e on e.id = wanted.id
    cross join audit_log_head h
    left join lateral (
      select range.log, range.number from (
        select * from audit_seals where to_position >= e.position order by to_position limit 1) range
      where range.removed_by is null and range.from_position <= e.position and not exists (
        select from jsonb_array_elements(range.content::jsonb -> 'missing') gap
        where e.position between (gap ->> 0)::bigint and (gap ->> 1)::bigint)
      union all
      select log, number from audit_seals where late @> array[e.position] and e.position is not null and removed_by is null
      union all
      select past.log, past.number from (
        select * from audit_seals where to_id >= e.id and e.position is null order by to_id limit 1) past
      where past.removed_by is null and past.from_id <= e.id
      limit 1) s on true
    left join audit_seal_logs l on l.number = s.log
    order by wanted.place`.execute(db);
  return rows;
}
