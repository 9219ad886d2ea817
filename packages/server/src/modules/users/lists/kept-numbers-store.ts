// SQL of the kept numbers of users: how many there are, and from which mark a page counts.
import type { PageQuery } from '@castellan/contract/common';
import { sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import { offsetOf } from '../../../platform/pages.ts';
import type { Db } from '../../../schema/database.ts';
import { areHoldersCounted, holdersOfRole, roleHolderCount } from '../../../schema/role-holders.ts';
import { countOf, isOfKind, type Kind, keptCount, lockedOf } from './counted-kinds.ts';
import { changeKeys, lockedKeys, markKeys, type Sort, type UserOrder } from './user-orders.ts';

/** Returns whether every user without roles is marked (migration 0047); false until the job has been through all users. */
export async function areWithoutRolesMarked(db: Db): Promise<boolean> {
  const result = await sql<{ marked: boolean }>`select ${areHoldersCounted} as marked`.execute(db);
  return onlyRow(result).marked;
}

/** Returns how many users have no role. */
export async function countWithoutRoles(db: Db): Promise<number> {
  const result = await sql<{ total: string }>`
    select ${keptCount({})} - ${roleHolderCount} as total from user_marks m where m."order" = 'end'`.execute(
    db,
  );
  return Number(onlyRow(result).total);
}

/** Where a page is in the ascending order of a kind. */
type Place = {
  /** How many users of the kind there are. */
  total: number;
  /** How many of them the page has. */
  size: number;
  /** Id of the mark to begin at; null for the first user. */
  start: string | null;
  /** How many users of the kind to skip from there. */
  skip: number;
};

/**
 * Returns where a page is: from the last mark before which there are surely no more users of the kind than before the page. The
 * locked users, whom a kind may leave out, are read once.
 */
export async function findPlace(
  db: Db,
  kind: Kind,
  { order, isDescending }: Sort & { order: UserOrder },
  query: PageQuery,
): Promise<Place> {
  const mark = markKeys[order];
  const offset = offsetOf(query);
  const result = await sql<{ total: string; start: string | null; before: string | null }>`
    with locked as materialized (select l.id, ${lockedKeys[order]} as key from ${lockedOf(kind)}),
    kept as (
      select ${keptCount(kind)} - (select count(*) from locked) as total from user_marks m where m."order" = 'end'),
    placed as (
      select m.id, ${mark} as key, ${countOf(kind)} as before, true as is_mark from user_marks m where m."order" = ${order}
      union all
      select id, key, null, false from locked),
    counted as (
      -- A lock of the marked user itself is not before the mark.
      select p.*, count(*) filter (where not is_mark) over (
        order by key, id, is_mark desc rows between unbounded preceding and current row) as locked
      from placed p),
    -- No correction is larger than the number of changes.
    near as (
      select c.* from counted c, kept
      where c.is_mark and c.before - c.locked <= (select -count(*) from user_changes) +
        case when ${isDescending}::boolean then greatest(0, total - ${offset}::bigint - ${query.size}::bigint)
          else ${offset}::bigint end
      order by c.before - c.locked desc, c.key desc, c.id desc limit 1)
    select kept.total, n.id as start, n.before - n.locked + (
      select coalesce(sum(c.change), 0) from user_changes c
      where ${isOfKind(kind)} and (${changeKeys[order]}, c.id) < (n.key, n.id)) as before
    from kept left join near n on true`.execute(db);
  const row = onlyRow(result);
  const total = Number(row.total);
  const size = Math.max(0, Math.min(query.size, total - offset));
  const position = isDescending ? total - offset - size : offset;
  return { total, size, start: row.start, skip: position - Number(row.before ?? 0) };
}

/** The kept numbers of one moment: of the holders of a role, of all users, and of those of a kind. */
export type Numbers = { holders: number; all: number; ofKind: number };

/** Without a kind, `ofKind` is the number of all users. */
export async function readNumbers(db: Db, roleId: string, kind: Kind = {}): Promise<Numbers> {
  const result = await sql<Record<keyof Numbers, string>>`
    select ${holdersOfRole(sql`${roleId}::uuid`)} as holders, ${keptCount({})} as "all",
      ${Object.keys(kind).length === 0 ? sql`null` : sql`${keptCount(kind)} - (select count(*) from ${lockedOf(kind)})`} as "ofKind"
    from user_marks m where m."order" = 'end'`.execute(db);
  const row = onlyRow(result);
  return { holders: Number(row.holders), all: Number(row.all), ofKind: Number(row.ofKind ?? row.all) };
}
