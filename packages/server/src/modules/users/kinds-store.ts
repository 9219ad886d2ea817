// SQL of the kept numbers of users: how many there are, and from which mark a page counts.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Db } from '../../schema/database.ts';
import { areHoldersCounted, holdersOfRole, roleHolderCount } from '../../schema/role-holders.ts';
import { countOf, isOfKind, type Kind, keptCount, lockedOf } from './kinds.ts';
import { changeKeys, lockedKeys, markKeys, type UserOrder } from './user-orders.ts';

/** Returns how many users of the kind there are. */
export async function countKind(db: Db, kind: Kind): Promise<number> {
  const result = await sql<{ total: string }>`
    select ${keptCount(kind)} as total from user_marks m where m."order" = 'end'`.execute(db);
  return Number(onlyRow(result).total);
}

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

/** A user of the order, and how many users of the kind to skip from there. */
type Start = { id: string; skip: number };

// Each round skips fewer, by the share of users who are locked. Where most are, one after the other, a page still reads them.
const MOST_ROUNDS = 3;

/** Returns a mark at or before the user of the kind at this position of the order; undefined if none is near. */
export async function findStart(
  db: Db,
  kind: Kind,
  order: UserOrder,
  position: number,
): Promise<Start | undefined> {
  let start: (Start & { locked: number }) | undefined;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    // Those who are locked before this mark do not count, so a later one may still be before the position.
    const before: number = start?.locked ?? 0;
    const found = await findMark(db, kind, order, { position, locked: before });
    if (!found) return undefined;
    start = found;
    if (found.locked === before) break;
  }
  return start;
}

/**
 * Returns the last mark before which there are surely no more users of the kind than `position`, if `locked` of those there are
 * left out; and how many of them are locked.
 */
async function findMark(
  db: Db,
  kind: Kind,
  order: UserOrder,
  { position, locked }: { position: number; locked: number },
): Promise<(Start & { locked: number }) | undefined> {
  const mark = markKeys[order];
  // No correction is larger than the number of changes.
  const { rows } = await sql<{ id: string; before: string; locked: string }>`
    select m.id, ${countOf(kind)} + (
        select coalesce(sum(c.change), 0) from user_changes c
        where ${isOfKind(kind)} and (${changeKeys[order]}, c.id) < (${mark}, m.id)) as before,
      (select count(*) from ${lockedOf(kind)} where (${lockedKeys[order]}, l.id) < (${mark}, m.id)) as locked
    from user_marks m
    where m."order" = ${order} and ${countOf(kind)} <= ${position + locked}::bigint - (select count(*) from user_changes)
    order by ${countOf(kind)} desc, ${mark} desc, m.id desc limit 1`.execute(db);
  const [found] = rows;
  if (!found) return undefined;
  const lockedBefore = Number(found.locked);
  return { id: found.id, skip: position - (Number(found.before) - lockedBefore), locked: lockedBefore };
}

/** The kept numbers of one moment: of the holders of a role, of all users, and of those of a kind. */
export type Numbers = { holders: number; all: number; ofKind: number };

/** Without a kind, `ofKind` is the number of all users. */
export async function readNumbers(db: Db, roleId: string, kind: Kind = {}): Promise<Numbers> {
  const result = await sql<Record<keyof Numbers, string>>`
    select ${holdersOfRole(sql`${roleId}::uuid`)} as holders, ${keptCount({})} as "all",
      ${Object.keys(kind).length === 0 ? sql`null` : keptCount(kind)} as "ofKind"
    from user_marks m where m."order" = 'end'`.execute(db);
  const row = onlyRow(result);
  return { holders: Number(row.holders), all: Number(row.all), ofKind: Number(row.ofKind ?? row.all) };
}
