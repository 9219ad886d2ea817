// SQL of the lists of users.
import type { PageQuery } from '@castellan/contract/common';
import type { UserSortOrder, UserStatus } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { offsetOf } from '../../platform/pages.ts';
import type { Db, Row } from '../../schema/database.ts';
import { holdersOfRole } from '../../schema/role-holders.ts';
import { userColumns } from '../../schema/user-record.ts';
import { userStatus } from '../../schema/user-status.ts';
import { conditionOf, hasRoleOfEach, type Knowledge, type UserFilter, type Way } from './filters.ts';
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

/** Up to this many matches are counted exactly, collected and sorted. A search shows no more. */
const MAX_COUNTED = 10_000;
/** To join two sets of up to this size costs less than to look `MAX_COUNTED` users of one up in the other. */
const MAX_JOINED = 2 * MAX_COUNTED;
/** To look one user up costs about as much as to read so many one after the other. */
const USERS_PER_LOOKUP = 25;

export type Sort = { order: UserSortKey; isDescending: boolean };
export type UserPage = { total: number; isEstimate: boolean; users: VersionedUser[] };

export function readSort(sort: UserSortOrder): Sort {
  const name = sort.replace(/^-/, '');
  const order = name === 'id' ? name : userOrders.find((one) => one === name);
  if (!order) throw new Error(`unknown order: ${sort}`);
  return { order, isDescending: sort.startsWith('-') };
}

/** Returns the kind of exactly the users that the filter finds; undefined if their number is not kept. */
export function kindOf({ status, isActive, verified, ...others }: UserFilter): Kind | undefined {
  if (Object.keys(others).length > 0) return undefined;
  if (status !== undefined)
    return isActive === undefined && verified === undefined ? kindOfStatus[status] : undefined;
  return {
    ...(isActive === undefined ? {} : { isActive }),
    ...(verified === undefined ? {} : { verified }),
  };
}

/** Returns where a page is in the ascending order, and how many users it has. */
export function placeOf(
  total: number,
  isDescending: boolean,
  query: PageQuery,
): { position: number; size: number } {
  const offset = offsetOf(query);
  const size = Math.max(0, Math.min(query.size, total - offset));
  return { position: isDescending ? total - offset - size : offset, size };
}

/** Returns the page of these users, in their order; `isDescending`: from the last one. */
export async function readPageOf(
  db: Db,
  ids: readonly string[],
  { isDescending }: Sort,
): Promise<VersionedUser[]> {
  const { rows } = await sql<VersionedUser>`
    select ${sql.raw(userColumns)} from unnest(${ids}::uuid[]) with ordinality as p (id, place) join users u on u.id = p.id
    order by p.place`.execute(db);
  return isDescending ? rows.reverse() : rows;
}

/** Begins at a mark near the page, always in ascending order. */
export async function findPageOfKind(
  db: Db,
  kind: Kind,
  { order, isDescending }: Sort & { order: UserOrder },
  query: PageQuery,
): Promise<UserPage> {
  const { isUnlocked, ...ofKind } = kind;
  const total = await countKind(db, kind);
  const { position, size } = placeOf(total, isDescending, query);
  if (size === 0) return { total, isEstimate: false, users: [] };
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
export type Kind = { isActive?: boolean; verified?: boolean; isUnlocked?: boolean };

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

export async function areManyLocked(db: Db): Promise<boolean> {
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

/** The number of users of the kind, locked or not, from the mark `user_marks m` at the end. */
const keptCount = (kind: Kind): RawBuilder<unknown> => sql`
  (${countOf(kind)} + (select coalesce(sum(c.change), 0) from user_changes c where ${isOfKind(kind)}))`;

/** Returns how many users of the kind there are. */
async function countKind(db: Db, kind: Kind): Promise<number> {
  const result = await sql<{ total: string }>`
    select ${keptCount(kind)} - (select count(*) from ${lockedOf(kind)}) as total
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

export async function findMatchingPage(
  db: Db,
  filter: UserFilter,
  sort: Sort,
  query: PageQuery,
  areListed: boolean,
): Promise<UserPage> {
  const offset = offsetOf(query);
  const isFrequent =
    filter.search !== undefined && isShort(filter.search) && (await isInMany(db, filter.search));
  const { way, atLeast } = await findWay(db, filter);
  const knowledge = { isFrequent, areListed, way };
  if (atLeast > MAX_COUNTED) return readFirstOfMany(db, filter, knowledge, sort, query, MAX_COUNTED);
  const key = userKeys[sort.order];
  const direction = sort.isDescending ? sql`desc` : sql`asc`;
  const { rows } = await sql<
    VersionedUser & { read: string; total: string; user_id: string | null }
  >`${plannedForValues}
    with candidates as materialized (${candidatesOf(filter, knowledge, key)}),
    counted as (select count(*) as read, count(*) filter (where is_match) as total from candidates),
    page as (
      select id from candidates where is_match and (select read from counted) <= ${MAX_COUNTED}
      order by key ${direction}, id ${direction} limit ${query.size} offset ${offset}::bigint)
    select c.read, c.total, ${sql.raw(userColumns)} from counted c left join (page p join users u on u.id = p.id) on true
    order by ${key} ${direction}, u.id ${direction}`.execute(db);
  const counted = Number(rows[0]?.total ?? 0);
  if (Number(rows[0]?.read ?? 0) <= MAX_COUNTED)
    return { total: counted, isEstimate: false, users: rows.filter((row) => row.user_id !== null) };
  return readFirstOfMany(db, filter, knowledge, sort, query, Math.min(counted, MAX_COUNTED));
}

/** Reads a page of those of whom `known` or more match, in their order. */
async function readFirstOfMany(
  db: Db,
  filter: UserFilter,
  knowledge: Knowledge,
  sort: Sort,
  query: PageQuery,
  known: number,
): Promise<UserPage> {
  const offset = offsetOf(query);
  const end = offset + query.size;
  // A search shows no more than the first ones.
  const most = filter.search === undefined ? Number.POSITIVE_INFINITY : MAX_COUNTED;
  if (offset >= most) return { total: known, isEstimate: true, users: [] };
  // A lower bound must not end the list where it goes on: one user more shows whether it does.
  const size = known <= end && end < most ? query.size + 1 : query.size;
  const found = await readUsers(db, conditionOf(filter, knowledge), sort, { size, offset, start: null });
  const reached = found.length === 0 ? 0 : offset + found.length;
  const isEnd = found.length < size && (found.length > 0 || offset === 0);
  return {
    total: isEnd ? reached : Math.max(known, reached),
    isEstimate: !isEnd,
    users: found.slice(0, query.size),
  };
}

/** Up to one more than `MAX_COUNTED` users, some of whom match: (id, key, is_match). If they are fewer, all who match are there. */
function candidatesOf(
  filter: UserFilter,
  knowledge: Knowledge,
  key: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const { roleId, ...rest } = filter;
  if (roleId === undefined || knowledge.way === 'role')
    return sql`
      select u.id, ${key} as key, true as is_match from users u where ${conditionOf(filter, knowledge)}
      limit ${MAX_COUNTED + 1}`;
  if (knowledge.way === 'rest first')
    return sql`
      select u.id, u.key, ${hasRoleOfEach(roleId)} as is_match from (
        select u.id, ${key} as key from users u where ${conditionOf(rest, knowledge)} limit ${MAX_COUNTED + 1}) u`;
  // An array, which the planner expects to be short, makes it use the index. It takes a fifth less than a look-up for each user.
  return sql`
    select u.id, ${key} as key, ${conditionOf(rest, knowledge)} as is_match from users u where u.id = any(array(
      select user_id from user_roles where role_id = ${roleId} limit ${MAX_COUNTED + 1}))`;
}

/** Returns how to find those who match, and how many do at least, as far as kept numbers tell. */
async function findWay(db: Db, filter: UserFilter): Promise<{ way: Way; atLeast: number }> {
  const { roleId, ...rest } = filter;
  // A walk by id counts those after the id. Nobody has a role and none.
  if (roleId === undefined || rest.afterId !== undefined || rest.withoutRoles)
    return { way: 'role', atLeast: 0 };
  const kind = kindOf(rest);
  const numbers = await readNumbers(db, roleId, kind);
  // Those who are not of the kind may all have the role. Of an unlocked kind, too many may be counted (`MOST_LOCKED`).
  const atLeast = kind === undefined || kind.isUnlocked ? 0 : numbers.holders + numbers.ofKind - numbers.all;
  return { way: await wayOf(db, rest, kind, numbers), atLeast };
}

/** The kept numbers of one moment: of the holders of a role, of all users, and of those of a kind. */
type Numbers = { holders: number; all: number; ofKind: number };

/** Without a kind, `ofKind` is the number of all users; of an unlocked kind it includes those who are locked. */
async function readNumbers(db: Db, roleId: string, kind: Kind = {}): Promise<Numbers> {
  const { isUnlocked, ...ofKind } = kind;
  const result = await sql<Record<keyof Numbers, string>>`
    select ${holdersOfRole(sql`${roleId}::uuid`)} as holders, ${keptCount({})} as "all",
      ${Object.keys(ofKind).length === 0 ? sql`null` : keptCount(ofKind)} as "ofKind"
    from user_marks m where m."order" = 'end'`.execute(db);
  const row = onlyRow(result);
  return { holders: Number(row.holders), all: Number(row.all), ofKind: Number(row.ofKind ?? row.all) };
}

async function wayOf(
  db: Db,
  rest: UserFilter,
  kind: Kind | undefined,
  { holders, all, ofKind }: Numbers,
): Promise<Way> {
  // The planner expects a look-up to cost as much as a hundred users, and would read all of them.
  if (holders <= MAX_COUNTED && kind) return holders * USERS_PER_LOOKUP < all ? 'holders first' : 'role';
  if (holders <= MAX_COUNTED || Object.keys(rest).length === 0) return 'role';
  if (kind && !kind.isUnlocked && Math.max(holders, ofKind) <= MAX_JOINED) return 'role';
  if (kind ? ofKind < holders : await mayBeFew(db, rest)) return 'rest first';
  // Most users have the role, and as many match the rest: enough of both are soon found.
  return holders * 2 > all ? 'role' : 'holders first';
}

/** Returns whether fewer users match than a role with many holders has, as far as it is known. */
async function mayBeFew(db: Db, filter: UserFilter): Promise<boolean> {
  const { search, isActive, verified, status, ...others } = filter;
  if (Object.keys(others).length > 0 || status === 'locked') return true;
  return search !== undefined && !(await isInMany(db, search));
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
