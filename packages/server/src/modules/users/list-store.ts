// SQL of the lists of users.
import type { PageQuery } from '@castellan/contract/common';
import type { UserSortOrder, UserStatus } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { inSnapshot } from '../../platform/db/transaction.ts';
import { offsetOf } from '../../platform/pages.ts';
import { isRemovedAfter, isWithoutRoles } from '../../schema/attention.ts';
import type { Db, Row } from '../../schema/database.ts';
import { userColumns } from '../../schema/user-record.ts';
import { hasStatus, userStatus } from '../../schema/user-status.ts';
import type { VersionedUser } from './presentation.ts';
import { isShort, searchCondition } from './search.ts';
import {
  changeKeys,
  lockedKeys,
  markKeys,
  type UserOrder,
  type UserSortKey,
  userKeys,
  userOrders,
} from './user-orders.ts';

export type UserFilter = {
  /** Canonical email; null matches no user. */
  email?: string | null;
  search?: string;
  status?: UserStatus;
  withoutRoles?: true;
  /** Only registered accounts that the clean-up removes once they are older than these hours. */
  removedAfterHours?: number;
  roleId?: string;
  /** Only users whose id is greater. */
  afterId?: string;
  isActive?: boolean;
  verified?: boolean;
};

function conditionOf(filter: UserFilter, rarity?: { isFrequent: boolean }): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  if (filter.email === null) conditions.push(sql`false`);
  else if (filter.email !== undefined) conditions.push(sql`u.email = ${filter.email}`);
  if (filter.search !== undefined) conditions.push(searchCondition(filter.search, rarity));
  if (filter.status !== undefined) conditions.push(hasStatus[filter.status]);
  if (filter.withoutRoles) conditions.push(isWithoutRoles);
  if (filter.removedAfterHours !== undefined) conditions.push(isRemovedAfter(filter.removedAfterHours));
  if (filter.roleId !== undefined)
    conditions.push(
      sql`exists (select from user_roles r where r.user_id = u.id and r.role_id = ${filter.roleId})`,
    );
  if (filter.afterId !== undefined) conditions.push(sql`u.id > ${filter.afterId}`);
  if (filter.isActive !== undefined) conditions.push(sql`u.is_active = ${filter.isActive}`);
  if (filter.verified !== undefined) conditions.push(sql`u.verified = ${filter.verified}`);
  return sql.join(conditions, sql` and `);
}

/** Up to this many matches are counted exactly, collected and sorted. A search shows no more. */
const MAX_COUNTED = 10_000;

type Sort = { order: UserSortKey; isDescending: boolean };
export type UserPage = { total: number; isEstimate: boolean; users: VersionedUser[] };

function readSort(sort: UserSortOrder): Sort {
  const name = sort.replace(/^-/, '');
  const order = name === 'id' ? name : userOrders.find((one) => one === name);
  if (!order) throw new Error(`unknown order: ${sort}`);
  return { order, isDescending: sort.startsWith('-') };
}

/**
 * Returns one page of users and how many match, from one snapshot. The number is exact for all users and for those of a
 * kind, and otherwise up to `MAX_COUNTED` matches; beyond, it is a lower bound, marked as an estimate.
 */
export function findUserPage(
  db: Db,
  filter: UserFilter,
  sort: UserSortOrder,
  query: PageQuery,
): Promise<UserPage> {
  const kind = kindOf(filter);
  const { order, isDescending } = readSort(sort);
  return inSnapshot(db, async (tx) => {
    if (!kind || order === 'id' || (kind.isUnlocked && (await areManyLocked(tx))))
      return findMatchingPage(tx, filter, { order, isDescending }, query);
    return findPageOfKind(tx, kind, { order, isDescending }, query);
  });
}

/** Returns the kind of exactly the users that the filter finds; undefined if their number is not kept. */
function kindOf({ status, isActive, verified, ...others }: UserFilter): Kind | undefined {
  if (Object.keys(others).length > 0) return undefined;
  if (status !== undefined)
    return isActive === undefined && verified === undefined ? kindOfStatus[status] : undefined;
  return {
    ...(isActive === undefined ? {} : { isActive }),
    ...(verified === undefined ? {} : { verified }),
  };
}

/** Begins at a mark near the page, always in ascending order. */
async function findPageOfKind(
  db: Db,
  kind: Kind,
  { order, isDescending }: Sort & { order: UserOrder },
  query: PageQuery,
): Promise<UserPage> {
  const { isUnlocked, ...ofKind } = kind;
  const total = await countKind(db, kind);
  const offset = offsetOf(query);
  const size = Math.max(0, Math.min(query.size, total - offset));
  if (size === 0) return { total, isEstimate: false, users: [] };
  const position = isDescending ? total - offset - size : offset;
  const start = await findStart(db, kind, order, position);
  const users = await readUsers(
    db,
    sql`${conditionOf(ofKind)} and ${isUnlocked ? isNotLocked : sql`true`}`,
    { order, isDescending: false },
    {
      size,
      offset: start ? start.skip : position,
      start: start?.id ?? null,
    },
  );
  return { total, isEstimate: false, users: isDescending ? users.reverse() : users };
}

/** The users whose numbers are kept. A missing condition is not applied. Locked users are counted apart: they are few. */
type Kind = { isActive?: boolean; verified?: boolean; isUnlocked?: boolean };

const kindOfStatus: Readonly<Record<UserStatus, Kind | undefined>> = {
  inactive: { isActive: false },
  locked: undefined,
  unverified: { isActive: true, verified: false, isUnlocked: true },
  active: { isActive: true, verified: true, isUnlocked: true },
};

// Each page reads them all.
const MOST_LOCKED = 1_000;
const lockedEmails = sql`(
  select email from login_attempts where locked_until > now() limit ${sql.lit(MOST_LOCKED + 1)})`;

/**
 * The locked users of the kind as a subquery `l`; empty for a kind that does not leave them out. `offset 0` makes the planner
 * use the index for each email.
 */
const lockedOf = ({ isUnlocked = false, isActive, verified }: Kind): RawBuilder<unknown> => sql`(
  select u.* from ${lockedEmails} a cross join lateral (select * from users u where u.email = a.email offset 0) u
  where ${isUnlocked}::boolean and u.is_active = ${isActive ?? null}::boolean
    and u.verified = ${verified ?? null}::boolean) l`;

// For each user, so that the planner reads the users in the order of an index. It expects that `is not true` holds for many.
const isNotLocked = sql`
  (select true from login_attempts a where a.email = u.email and a.locked_until > now()) is not true`;

async function areManyLocked(db: Db): Promise<boolean> {
  const result = await sql<{ count: string }>`select count(*) as count from ${lockedEmails} a`.execute(db);
  return Number(onlyRow(result).count) > MOST_LOCKED;
}

const includes = (condition: boolean | undefined, value: boolean): boolean =>
  condition === undefined || condition === value;

/** The number of users of the kind, from the columns of `user_marks m`. */
function countOf({ isActive, verified }: Kind): RawBuilder<unknown> {
  const weight = (active: boolean, isVerified: boolean): number =>
    includes(isActive, active) && includes(verified, isVerified) ? 1 : 0;
  return sql`(m.active_verified * ${weight(true, true)}::integer + m.active_unverified * ${weight(true, false)}::integer
    + m.inactive_verified * ${weight(false, true)}::integer + m.inactive_unverified * ${weight(false, false)}::integer)`;
}

const isOfKind = ({ isActive, verified }: Kind): RawBuilder<unknown> => sql`
  (${isActive ?? null}::boolean is null or c.is_active = ${isActive ?? null})
  and (${verified ?? null}::boolean is null or c.verified = ${verified ?? null})`;

/** Returns how many users of the kind there are. */
async function countKind(db: Db, kind: Kind): Promise<number> {
  const result = await sql<{ total: string }>`
    select ${countOf(kind)} + (select coalesce(sum(c.change), 0) from user_changes c where ${isOfKind(kind)})
      - (select count(*) from ${lockedOf(kind)}) as total
    from user_marks m where m."order" = 'end'`.execute(db);
  return Number(onlyRow(result).total);
}

/** A user of the order, and how many users of the kind to skip from there. */
type Start = { id: string; skip: number };

/** Returns a mark at or before the user of the kind at this position of the order; undefined if none is near. */
async function findStart(db: Db, kind: Kind, order: UserOrder, position: number): Promise<Start | undefined> {
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

async function findMatchingPage(db: Db, filter: UserFilter, sort: Sort, query: PageQuery): Promise<UserPage> {
  const offset = offsetOf(query);
  const isFrequent =
    filter.search !== undefined && isShort(filter.search) && (await isInMany(db, filter.search));
  const condition = conditionOf(filter, { isFrequent });
  const key = userKeys[sort.order];
  const direction = sort.isDescending ? sql`desc` : sql`asc`;
  const { rows } = await sql<VersionedUser & { total: string; user_id: string | null }>`${plannedForValues}
    with matching as materialized (
      select u.id, ${key} as key from users u where ${condition} limit ${MAX_COUNTED + 1}),
    counted as (select count(*) as total from matching),
    page as (
      select id from matching where (select total from counted) <= ${MAX_COUNTED}
      order by key ${direction}, id ${direction} limit ${query.size} offset ${offset}::bigint)
    select c.total, ${sql.raw(userColumns)} from counted c left join (page p join users u on u.id = p.id) on true
    order by ${key} ${direction}, u.id ${direction}`.execute(db);
  const counted = Number(rows[0]?.total ?? 0);
  if (counted <= MAX_COUNTED)
    return { total: counted, isEstimate: false, users: rows.filter((row) => row.user_id !== null) };
  const isBeyond = filter.search !== undefined && offset >= MAX_COUNTED;
  const users = isBeyond
    ? []
    : await readUsers(db, condition, sort, { size: query.size, offset, start: null });
  const reached = users.length === 0 ? 0 : offset + users.length;
  return { total: Math.max(MAX_COUNTED, reached), isEstimate: true, users };
}

// One in twenty of the newest users.
const SAMPLE = sql.lit(2_000);
const FREQUENT = 100;

/** Returns whether so many users contain the text that the first of them are soon found without an index. */
export async function isInMany(db: Db, text: string): Promise<boolean> {
  const { rows } = await sql<{ hits: string }>`${plannedForValues}
    select count(*) as hits
    from (select id, search_text from users order by created_at desc, id desc limit ${SAMPLE}) u
    where ${searchCondition(text, { isFrequent: true })}`.execute(db);
  return Number(rows[0]?.hits ?? 0) >= FREQUENT;
}

type Stretch = {
  size: number;
  offset: number;
  /** Id of the mark to count from; null for the first user. */
  start: string | null;
};

async function readUsers(
  db: Db,
  condition: RawBuilder<unknown>,
  { order, isDescending }: Sort,
  { size, offset, start }: Stretch,
): Promise<VersionedUser[]> {
  const direction = isDescending ? sql`desc` : sql`asc`;
  const key = userKeys[order];
  const isAfter =
    start === null
      ? sql`true`
      : sql`(${key}, u.id) >= ((select ${markKeys[order]} from user_marks m where m."order" = ${order} and m.id = ${start}), ${start}::uuid)`;
  const { rows } = await sql<VersionedUser>`${plannedForValues}
    with page as materialized (
      select u.id from users u where ${condition} and ${isAfter}
      order by ${key} ${direction}, u.id ${direction} limit ${size} offset ${offset}::bigint)
    select ${sql.raw(userColumns)} from page p join users u on u.id = p.id
    order by ${key} ${direction}, u.id ${direction}`.execute(db);
  return rows;
}

export type ActivityRow = {
  user_id: Row<'users'>['id'];
  status: UserStatus;
  live_sessions: number;
  last_active_at: Date | null;
};

/** Returns the status, the live sessions and the last activity of these users, in no particular order. */
export async function findActivity(db: Db, ids: readonly string[]): Promise<ActivityRow[]> {
  const { rows } = await sql<ActivityRow>`
    select u.id as user_id, ${userStatus} as status, live.sessions as live_sessions,
           greatest(l.logged_in_at, live.last_used_at) as last_active_at
    from users u left join last_logins l on l.user_id = u.id
    cross join lateral (
      select count(*)::integer as sessions, max(s.last_used_at) as last_used_at from sessions s
      where s.user_id = u.id
        and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)) as live
    where u.id = any(${ids}::uuid[])`.execute(db);
  return rows;
}
