// SQL of the lists of users.
import type { PageQuery } from '@castellan/contract/common';
import type { UserStatus } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';
import { plannedForValues } from '../../../platform/db/statement-names.ts';
import { offsetOf } from '../../../platform/pages.ts';
import type { Db, Row } from '../../../schema/database.ts';
import { userColumns } from '../../../schema/user-record.ts';
import { userStatus } from '../../../schema/user-status.ts';
import type { VersionedUser } from '../presentation.ts';
import { searchCondition, shortWordsOf } from '../search.ts';
import {
  type AttributeCondition,
  conditionOf,
  hasRoleOfEach,
  type Knowledge,
  type UserFilter,
  valuesWith,
} from './filters.ts';
import { markKeys, type Sort, userKeys } from './user-orders.ts';

/** The most matches that are counted exactly, collected and sorted, and the most that a search shows. */
export const MAX_COUNTED = 10_000;

/** Returns these users, in their order. */
export async function readPageOf(db: Db, ids: readonly string[]): Promise<VersionedUser[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<VersionedUser>`
    select ${sql.raw(userColumns)} from unnest(${ids}::uuid[]) with ordinality as p (id, place) join users u on u.id = p.id
    order by p.place`.execute(db);
  return rows;
}

/** What a page is asked for, and what is known about the matches. */
export type Asked = { filter: UserFilter; knowledge: Knowledge; sort: Sort; query: PageQuery };

/** `read`: at most `MAX_COUNTED` + 1. `total`: how many of them match. `users`: the page; empty if `read` is over `MAX_COUNTED`. */
type Counted = { read: number; total: number; users: VersionedUser[] };

/** Reads at most `MAX_COUNTED` + 1 users. Returns how many match and, if the read found at most `MAX_COUNTED`, their page. */
export async function countAndRead(
  db: Db,
  { filter, knowledge, sort: { order, isDescending }, query }: Asked,
): Promise<Counted> {
  const key = userKeys[order];
  const direction = isDescending ? sql`desc` : sql`asc`;
  const { rows } = await sql<
    VersionedUser & { read: string; total: string; user_id: string | null }
  >`${plannedForValues}
    with candidates as materialized (${candidatesOf(filter, knowledge, key)}),
    counted as (select count(*) as read, count(*) filter (where is_match) as total from candidates),
    page as (
      select id from candidates where is_match and (select read from counted) <= ${MAX_COUNTED}
      order by key ${direction}, id ${direction} limit ${query.size} offset ${offsetOf(query)}::bigint)
    select c.read, c.total, ${sql.raw(userColumns)} from counted c left join (page p join users u on u.id = p.id) on true
    order by ${key} ${direction}, u.id ${direction}`.execute(db);
  const [row] = rows;
  return {
    read: Number(row?.read ?? 0),
    total: Number(row?.total ?? 0),
    users: rows.filter(({ user_id }) => user_id !== null),
  };
}

/** SQL of at most `MAX_COUNTED` + 1 users: (id, key, is_match). If there are fewer, they include every match. */
function candidatesOf(
  filter: UserFilter,
  knowledge: Knowledge,
  key: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const { roleId, ...rest } = filter;
  const [attribute, ...otherAttributes] = filter.attributes ?? [];
  // In the order of the index: otherwise the planner reads the whole table for a value that many have.
  if (attribute && knowledge.way === 'attribute first')
    return sql`
      select u.id, ${key} as key, ${conditionOf({ ...filter, attributes: otherAttributes }, knowledge)} as is_match
      from users u where u.id = any(array(
        select v.user_id from ${valuesWith(attribute)} order by v.user_id limit ${MAX_COUNTED + 1}))`;
  const [second] = otherAttributes;
  if (attribute && second && knowledge.way === 'attributes joined')
    return sql`
      select u.id, ${key} as key, ${conditionOf(filter, knowledge)} as is_match
      from users u where u.id = any(array(
        select user_id from (${withKey(attribute)}) one natural join (${withKey(second)}) two limit ${MAX_COUNTED + 1}))`;
  if (roleId === undefined || knowledge.way === 'role')
    return sql`
      select u.id, ${key} as key, true as is_match from users u where ${conditionOf(filter, knowledge)}
      limit ${MAX_COUNTED + 1}`;
  if (knowledge.way === 'rest first')
    return sql`
      select u.id, u.key, ${hasRoleOfEach(roleId)} as is_match from (
        select u.id, ${key} as key from users u where ${conditionOf(rest, knowledge)} limit ${MAX_COUNTED + 1}) u`;
  // An array makes the planner use the index, because it expects few elements. This costs a fifth less than a lookup per user.
  return sql`
    select u.id, ${key} as key, ${conditionOf(rest, knowledge)} as is_match from users u where u.id = any(array(
      select user_id from held_user_roles where role_id = ${roleId} limit ${MAX_COUNTED + 1}))`;
}

/** SQL of the users with a key, from the index alone. Values that differ in case share a key. */
const withKey = ({ attributeId, key }: AttributeCondition): RawBuilder<unknown> => sql`
  select user_id from user_attribute_values where attribute_id = ${attributeId} and key = ${key}`;

/** Returns how many users have each of these values, up to `MAX_COUNTED` + 1. */
export async function countWithValues(db: Db, conditions: readonly AttributeCondition[]): Promise<number[]> {
  const asked = conditions.map(({ attributeId, key, value }, place) => ({
    place,
    attribute_id: attributeId,
    key: key.toString('hex'),
    value: JSON.parse(value),
  }));
  const { rows } = await sql<{ count: string }>`${plannedForValues}
    select (
      select count(*) from (
        select from user_attribute_values v
        where v.attribute_id = c.attribute_id and v.key = decode(c.key, 'hex') and v.value = c.value
        order by v.user_id limit ${MAX_COUNTED + 1}) found) as count
    from jsonb_to_recordset(${JSON.stringify(asked)}::jsonb)
      as c (place integer, attribute_id uuid, key text, value jsonb)
    order by c.place`.execute(db);
  return rows.map(({ count }) => Number(count));
}

// The text is frequent if one in twenty of the newest users has it.
const SAMPLE = sql.lit(2_000);
const FREQUENT = 100;

/** Returns whether the text is so frequent that a scan finds the first matches quickly without an index. */
export async function isInMany(db: Db, text: string): Promise<boolean> {
  const { rows } = await sql<{ hits: string }>`${plannedForValues}
    select count(*) as hits
    from (select id, search_text from users order by created_at desc, id desc limit ${SAMPLE}) u
    where ${searchCondition(text, { areShortRare: false })}`.execute(db);
  return Number(rows[0]?.hits ?? 0) >= FREQUENT;
}

/**
 * Returns whether the text has short words and few users have all of them. The index of short words then finds these users
 * even if the text has a long word that nearly all users have, such as the domain of their emails.
 */
export async function hasRareShortWords(db: Db, text: string): Promise<boolean> {
  const shortWords = shortWordsOf(text);
  return shortWords !== '' && !(await isInMany(db, shortWords));
}

/** A range of users in an order. */
type Stretch = {
  size: number;
  offset: number;
  /** Id of the mark to count from; null for the first user. */
  start: string | null;
};

/** Returns the users in this range of the order who match the condition on `users u`. */
export async function readUsers(
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

export type InvitationRow = Pick<Row<'users'>, 'invitation_sent_at' | 'invitation_expires_at'> & {
  user_id: string;
};

/** Returns the invitations of those of these users who have yet to accept one. */
export async function findInvitations(db: Db, ids: readonly string[]): Promise<InvitationRow[]> {
  const { rows } = await sql<InvitationRow>`
    select id as user_id, invitation_sent_at, invitation_expires_at from users
    where id = any(${ids}::uuid[]) and invited_at is not null`.execute(db);
  return rows;
}
