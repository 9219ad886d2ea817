// SQL that finds live sessions among those of all users. It only reads: the sessions module ends them.
import { type RawBuilder, sql } from 'kysely';
import type { PageKey } from '../../../platform/cursors.ts';
import { keyTime, onlyRow } from '../../../platform/db/sql.ts';
import { plannedForValues } from '../../../platform/db/statement-names.ts';
import type { Db, Row, Tx } from '../../../schema/database.ts';
import { isPersonalTokenLive } from '../../../schema/live/personal-tokens.ts';
import { isActorLive, type ShownActor, shownActorColumn } from '../../../schema/live/session-actor.ts';
import { keptLiveSessionCount, liveSessionCount } from '../../../schema/live/sessions.ts';
import { providerColumn, type ShownProvider } from '../../../schema/session-provider.ts';
import { searchCondition } from '../search.ts';

/** A missing condition is not applied. */
export type SessionFilter = {
  userId?: string;
  /** Canonical text of an address, or of a range in CIDR notation. */
  address?: string;
  search?: string;
  /** So many users match the search that reading sessions in turn soon finds enough. */
  isFrequent?: boolean;
  /** Few users have all short words of the search. */
  areShortRare?: boolean;
  /** Only sessions last used before this time. */
  unusedSince?: string;
};

/** The condition on `sessions s` alone, for which there are indexes. */
function sessionCondition({ userId, address, unusedSince }: SessionFilter): RawBuilder<unknown> {
  // Part of what is live; named for the partial index.
  const conditions: RawBuilder<unknown>[] = [sql`s.revoked_at is null`];
  if (userId !== undefined) conditions.push(sql`s.user_id = ${userId}`);
  if (address !== undefined) conditions.push(addressCondition(address));
  // A session began before it was used, which lets a scan start at that place of the index.
  if (unusedSince !== undefined)
    conditions.push(
      sql`s.last_used_at < ${unusedSince}::timestamptz and s.created_at < ${unusedSince}::timestamptz`,
    );
  return sql.join(conditions, sql` and `);
}

const live = sql`
  is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active) and ${sql.raw(isActorLive)}`;

/** The rest of the condition, on `sessions s` and `users u`. */
const userCondition = ({ search }: SessionFilter): RawBuilder<unknown> =>
  // Of each user alone, and no index helps.
  search === undefined ? live : sql`${live} and ${searchCondition(search, { areShortRare: false })}`;

/**
 * The matching sessions, for a statement that may end early. With a search that few users match it begins with the users,
 * and finds the sessions of each by their index. `offset 0` makes the planner find the first table as if all of it were
 * needed: it expects so many matches that any order seems to do.
 */
const matching = (filter: SessionFilter): RawBuilder<unknown> =>
  filter.search === undefined || filter.isFrequent
    ? sql`(select * from sessions s where ${sessionCondition(filter)} offset 0) s
        where (select ${userCondition(filter)} from users u where u.id = s.user_id)`
    : sql`(select * from users u where ${searchCondition(filter.search, { areShortRare: filter.areShortRare === true })} offset 0) u
        cross join lateral (select * from sessions s
          where s.user_id = u.id and ${sessionCondition(filter)} and ${live} offset 0) s`;

// Stored addresses are canonical. PostgreSQL could not convert other text, if an import brought any.
const addressCondition = (address: string): RawBuilder<unknown> =>
  address.includes('/')
    ? sql`case when s.origin_address ~ '^[0-9a-f:.]+$' then s.origin_address::inet <<= ${address}::inet end`
    : sql`s.origin_address = ${address}`;

/** Up to this many matches are collected, counted exactly and sorted. */
const MAX_COUNTED = 10_000;
/** So many sessions are read to count those of a search that many users match, and to find a page of them. */
const MAX_READ = 20_000;
/** Reading the sessions of so many users takes less than a tenth of a second. */
const MAX_USERS = 10_000;

/** Returns whether so many users match the search that a list reads sessions in turn. */
export async function doManyUsersMatch(db: Db, search: string, areShortRare: boolean): Promise<boolean> {
  const result = await sql<{ are_many: boolean }>`${plannedForValues}
    select count(*) > ${MAX_USERS} as are_many from (
      select from users u where ${searchCondition(search, { areShortRare })} limit ${MAX_USERS + 1}) matching`.execute(
    db,
  );
  return onlyRow(result).are_many;
}

/** Whether a list reads no more than `MAX_READ` sessions at a time. Those of one user or address are few. */
const isReadInSteps = ({ search, isFrequent, userId, address }: SessionFilter): boolean =>
  search !== undefined && isFrequent === true && userId === undefined && address === undefined;

/**
 * The first matches, as statements of a `with` that end with `collected` (id, created_at, at most one more than are counted)
 * and `counted` (found, are_all, is_kept).
 */
function collecting(filter: SessionFilter): RawBuilder<unknown> {
  if (isReadInSteps(filter))
    return sql`
      newest as materialized (
        select * from sessions s where ${sessionCondition(filter)}
        order by s.created_at desc, s.id desc limit ${MAX_READ}),
      collected as materialized (
        select s.id, s.created_at from newest s
        where (select ${userCondition(filter)} from users u where u.id = s.user_id) limit ${MAX_COUNTED + 1}),
      counted as materialized (
        select count(*) as found, count(*) <= ${MAX_COUNTED} and (select count(*) from newest) < ${MAX_READ} as are_all,
          false as is_kept
        from collected)`;
  return sql`
    collected as materialized (
      select s.id, s.created_at from ${matching(filter)} limit ${MAX_COUNTED + 1}),
    counted as materialized (
      select count(*) as found, count(*) <= ${MAX_COUNTED} as are_all, false as is_kept from collected)`;
}

/** Without a filter, the number of more than are counted may be a minute old. */
const everySession = sql`
  collected as materialized (select s.id, s.created_at from sessions s limit 0),
  counted as materialized (
    select ${liveSessionCount} as found, false as are_all, ${keptLiveSessionCount} is not null as is_kept)`;

type SessionOfUser = Pick<
  Row<'sessions'>,
  | 'id'
  | 'user_id'
  | 'origin_address'
  | 'origin_network'
  | 'is_new_network'
  | 'last_address'
  | 'user_agent'
  | 'created_at'
  | 'last_used_at'
  | 'expires_at'
  | 'proof'
> &
  ShownProvider &
  ShownActor &
  Pick<Row<'users'>, 'email' | 'first_name' | 'last_name'>;
export type FoundSession = SessionOfUser & { key: PageKey };

/**
 * Returns up to `limit` matching sessions after the key, newest first, and how many match, from one snapshot. The number is
 * exact up to `MAX_COUNTED` matches; beyond, it is marked as an estimate: a lower bound, or without a filter what a job counted
 * at most 60 seconds ago. For a search that many users match, it is one as soon as there are `MAX_READ` sessions. The page comes from the collected matches
 * if these are all, otherwise from a scan of the order's index. If the scan ended before the page was full, `next` is where to
 * continue.
 */
export async function findSessionPage(
  db: Db,
  filter: SessionFilter,
  after: PageKey | null,
  limit: number,
): Promise<{ total: number; isEstimate: boolean; sessions: FoundSession[]; next: PageKey | null }> {
  const isFiltered = Object.keys(filter).length > 0;
  const size = sql`${limit}::bigint`;
  const mostRead = isReadInSteps(filter) ? MAX_READ : null;
  const isAfter =
    after === null ? sql`true` : sql`(s.created_at, s.id) < (${after.time}::timestamptz, ${after.id}::uuid)`;
  const { rows } = await sql<
    SessionOfUser & {
      found: string;
      are_all: boolean;
      is_kept: boolean;
      key_time: string;
      next_time: string | null;
      next_id: string | null;
    }
  >`${plannedForValues}
    with ${isFiltered ? collecting(filter) : everySession},
    page as (
      (select s.id from collected s where ${isAfter} order by s.created_at desc, s.id desc
       limit (select case when are_all then ${size} else 0 end from counted))
      union all
      (select s.id from (
         select * from sessions s where ${sessionCondition(filter)} and ${isAfter}
         order by s.created_at desc, s.id desc limit ${mostRead}::bigint) s
       where (select ${userCondition(filter)} from users u where u.id = s.user_id)
       order by s.created_at desc, s.id desc
       limit (select case when are_all then 0 else ${size} end from counted))),
    next as (
      select s.id, s.created_at from sessions s where ${sessionCondition(filter)} and ${isAfter}
      order by s.created_at desc, s.id desc
      limit (select case when are_all or (select count(*) from page) >= ${size} or ${mostRead}::bigint is null then 0 else 1 end
        from counted)
      offset ${mostRead}::bigint - 1)
    select c.found, c.are_all, c.is_kept, ${keyTime('n.created_at')} as next_time, n.id as next_id, f.*
    from counted c left join next n on true left join page p on true left join lateral (
      select s.id, s.origin_address, s.origin_network, s.is_new_network, s.last_address, s.user_agent,
        s.created_at, s.last_used_at, s.expires_at, s.proof,
        ${sql.raw(providerColumn)}, ${sql.raw(shownActorColumn)}, ${keyTime('s.created_at')} as key_time, s.user_id, u.email, u.first_name, u.last_name
      from sessions s join users u on u.id = s.user_id where s.id = p.id offset 0) f on true
    order by f.created_at desc, f.id desc`.execute(db);
  const found = Number(rows[0]?.found ?? 0);
  const sessions = rows
    .filter((row) => row.id !== null)
    .map((row) => ({ ...row, key: { time: row.key_time, id: row.id } }));
  const next =
    rows[0]?.next_time && rows[0].next_id ? { time: rows[0].next_time, id: rows[0].next_id } : null;
  return {
    // A page may reach beyond the newest sessions, among which the matches of a frequent search are counted.
    total: isFiltered ? Math.max(Math.min(found, MAX_COUNTED), sessions.length) : found,
    isEstimate: isFiltered ? rows[0]?.are_all === false : rows[0]?.is_kept === true,
    sessions,
    next,
  };
}

/** Returns up to `limit` matching sessions, in no particular order. */
export async function findMatchingSessions(
  tx: Tx,
  filter: SessionFilter,
  limit: number,
): Promise<{ id: string; user_id: string }[]> {
  const { rows } = await sql<{ id: string; user_id: string }>`${plannedForValues}
    select s.id, s.user_id from ${matching(filter)} limit ${limit}`.execute(tx);
  return rows;
}

/** Returns up to `limit` users with live personal access tokens whom the filter names, in no particular order. */
export async function findUsersWithTokens(
  tx: Tx,
  { userId, search }: Pick<SessionFilter, 'userId' | 'search'>,
  limit: number,
): Promise<string[]> {
  const conditions: RawBuilder<unknown>[] = [
    sql`exists (select from personal_tokens t where t.user_id = u.id and ${sql.raw(isPersonalTokenLive('now()'))})`,
  ];
  if (userId !== undefined) conditions.push(sql`u.id = ${userId}`);
  if (search !== undefined) conditions.push(searchCondition(search, { areShortRare: false }));
  const { rows } = await sql<{ id: string }>`${plannedForValues}
    select u.id from users u where ${sql.join(conditions, sql` and `)} limit ${limit}`.execute(tx);
  return rows.map(({ id }) => id);
}

/** Returns the id of the user who has, or had, this session; undefined if there is none. */
export async function findSessionOwner(tx: Tx, sessionId: string): Promise<string | undefined> {
  const { rows } = await sql<{ user_id: string }>`
    select s.user_id from sessions s join users u on u.id = s.user_id where s.id = ${sessionId}`.execute(tx);
  return rows[0]?.user_id;
}
