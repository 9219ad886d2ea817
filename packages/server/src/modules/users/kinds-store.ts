// SQL of the kept numbers of users: how many there are, and from which mark a page counts.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Db } from '../../schema/database.ts';
import { holdersOfRole } from '../../schema/role-holders.ts';
import { countOf, isOfKind, type Kind, keptCount, lockedEmails, lockedOf, MOST_LOCKED } from './kinds.ts';
import { changeKeys, lockedKeys, markKeys, type UserOrder } from './user-orders.ts';

/** Returns whether more than `MOST_LOCKED` emails are locked. */
export async function areManyLocked(db: Db): Promise<boolean> {
  const result = await sql<{ count: string }>`select count(*) as count from ${lockedEmails} a`.execute(db);
  return Number(onlyRow(result).count) > MOST_LOCKED;
}

/** Returns how many users of the kind there are. */
export async function countKind(db: Db, kind: Kind): Promise<number> {
  const result = await sql<{ total: string }>`
    select ${keptCount(kind)} - (select count(*) from ${lockedOf(kind)}) as total
    from user_marks m where m."order" = 'end'`.execute(db);
  return Number(onlyRow(result).total);
}

/** A user of the order, and how many users of the kind to skip from there. */
type Start = { id: string; skip: number };

/** Returns a mark at or before the user of the kind at this position of the order; undefined if none is near. */
export async function findStart(
  db: Db,
  kind: Kind,
  order: UserOrder,
  position: number,
): Promise<Start | undefined> {
  const mark = markKeys[order];
  // No correction is larger than the number of changes.
  const { rows } = await sql<{ id: string; before: string }>`
    select m.id, ${countOf(kind)} + (
      select coalesce(sum(c.change), 0) from user_changes c
      where ${isOfKind(kind)} and (${changeKeys[order]}, c.id) < (${mark}, m.id))
      - (select count(*) from ${lockedOf(kind)} where (${lockedKeys[order]}, l.id) < (${mark}, m.id)) as before
    from user_marks m
    where m."order" = ${order} and ${countOf(kind)} <= ${position}::bigint - (select count(*) from user_changes)
    order by ${countOf(kind)} desc, ${mark} desc, m.id desc limit 1`.execute(db);
  const [found] = rows;
  return found && { id: found.id, skip: position - Number(found.before) };
}

/** The kept numbers of one moment: of the holders of a role, of all users, and of those of a kind. */
export type Numbers = { holders: number; all: number; ofKind: number };

/** Without a kind, `ofKind` is the number of all users; of an unlocked kind it includes those who are locked. */
export async function readNumbers(db: Db, roleId: string, kind: Kind = {}): Promise<Numbers> {
  const { isUnlocked, ...ofKind } = kind;
  const result = await sql<Record<keyof Numbers, string>>`
    select ${holdersOfRole(sql`${roleId}::uuid`)} as holders, ${keptCount({})} as "all",
      ${Object.keys(ofKind).length === 0 ? sql`null` : keptCount(ofKind)} as "ofKind"
    from user_marks m where m."order" = 'end'`.execute(db);
  const row = onlyRow(result);
  return { holders: Number(row.holders), all: Number(row.all), ofKind: Number(row.ofKind ?? row.all) };
}
