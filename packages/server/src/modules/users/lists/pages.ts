// Finds a page of the list of users with the statement that suits its filters.
import type { PageQuery } from '@castellan/contract/common';
import type { UserSortOrder } from '@castellan/contract/users';
import { sql } from 'kysely';
import { inSnapshot } from '../../../platform/db/transaction.ts';
import { offsetOf } from '../../../platform/pages.ts';
import type { Db } from '../../../schema/database.ts';
import type { VersionedUser } from '../presentation.ts';
import { findWay, rarestFirst } from './access-path.ts';
import { isNotLocked, type Kind, kindOf } from './counted-kinds.ts';
import { conditionOf, type UserFilter } from './filters.ts';
import { areWithoutRolesMarked, countWithoutRoles, findPlace } from './kept-numbers-store.ts';
import {
  type Asked,
  countAndRead,
  hasRareShortWords,
  MAX_COUNTED,
  readPageOf,
  readUsers,
} from './list-store.ts';
import { findLocked } from './locked-store.ts';
import { readSort, type Sort, type UserOrder } from './user-orders.ts';

export type UserPage = { total: number; isEstimate: boolean; users: VersionedUser[] };

/**
 * Returns one page of users and how many match, from one snapshot. The number is exact for all users, for those of a kind, for
 * those without roles and for the locked ones, and otherwise up to `MAX_COUNTED` matches; beyond, it is a lower bound, marked as
 * an estimate.
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
    const areMarked = filter.withoutRoles === true && (await areWithoutRolesMarked(tx));
    if (areMarked && Object.keys(filter).length === 1)
      return findPageWithoutRoles(tx, { order, isDescending }, query);
    if (filter.status === 'locked' && Object.keys(filter).length === 1)
      return findPageOfLocked(tx, { order, isDescending }, query);
    if (order !== 'id' && kind) return findPageOfKind(tx, kind, { order, isDescending }, query);
    return findMatchingPage(tx, { filter, sort: { order, isDescending }, query }, areMarked);
  });
}

async function findPageWithoutRoles(db: Db, sort: Sort, query: PageQuery): Promise<UserPage> {
  const total = await countWithoutRoles(db);
  const condition = conditionOf({ withoutRoles: true }, { areMarked: true });
  const offset = offsetOf(query);
  const users =
    offset >= total ? [] : await readUsers(db, condition, sort, { size: query.size, offset, start: null });
  return { total, isEstimate: false, users };
}

async function findPageOfLocked(db: Db, sort: Sort, query: PageQuery): Promise<UserPage> {
  const { total, ids } = await findLocked(db, sort, query);
  return { total, isEstimate: false, users: await readPageOf(db, ids) };
}

/** Reads from a mark near the page, always in ascending order. */
async function findPageOfKind(
  db: Db,
  kind: Kind,
  { order, isDescending }: Sort & { order: UserOrder },
  query: PageQuery,
): Promise<UserPage> {
  const { isUnlocked, ...ofKind } = kind;
  const { total, start, skip, size } = await findPlace(db, kind, { order, isDescending }, query);
  if (size === 0) return { total, isEstimate: false, users: [] };
  const users = await readUsers(
    db,
    sql`${conditionOf(ofKind)} and ${isUnlocked ? isNotLocked : sql`true`}`,
    { order, isDescending: false },
    { size, offset: skip, start },
  );
  return { total, isEstimate: false, users: isDescending ? users.reverse() : users };
}

async function findMatchingPage(
  db: Db,
  wanted: Omit<Asked, 'knowledge'>,
  areMarked: boolean,
): Promise<UserPage> {
  const { attributes, ...others } = wanted.filter;
  const filter = attributes ? { ...others, attributes: await rarestFirst(db, attributes) } : others;
  const areShortRare = filter.search !== undefined && (await hasRareShortWords(db, filter.search));
  const { way, atLeast } = await findWay(db, filter);
  const asked = { ...wanted, filter, knowledge: { areShortRare, areMarked, way } };
  if (atLeast > MAX_COUNTED) return readFirstOfMany(db, asked, MAX_COUNTED);
  const { read, total, users } = await countAndRead(db, asked);
  if (read <= MAX_COUNTED) return { total, isEstimate: false, users };
  return readFirstOfMany(db, asked, Math.min(total, MAX_COUNTED));
}

/** Reads a page in order. `known`: a lower bound of the matches. */
async function readFirstOfMany(
  db: Db,
  { filter, knowledge, sort, query }: Asked,
  known: number,
): Promise<UserPage> {
  const offset = offsetOf(query);
  const end = offset + query.size;
  // A search shows at most `MAX_COUNTED` matches.
  const most = filter.search === undefined ? Number.POSITIVE_INFINITY : MAX_COUNTED;
  if (offset >= most) return { total: known, isEstimate: true, users: [] };
  // A lower bound must not end the list too early, so one more user is read to see whether the list goes on.
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
