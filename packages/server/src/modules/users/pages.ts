// Finds a page of the list of users in the way that suits its filters.
import type { PageQuery } from '@castellan/contract/common';
import type { UserSortOrder } from '@castellan/contract/users';
import { inSnapshot } from '../../platform/db/transaction.ts';
import type { Db } from '../../schema/database.ts';
import type { UserFilter } from './filters.ts';
import {
  areManyLocked,
  findMatchingPage,
  findPageOfKind,
  kindOf,
  placeOf,
  readPageOf,
  readSort,
  type Sort,
  type UserPage,
} from './list-store.ts';
import { areWithoutRolesListed, countWithoutRoles, findWithoutRoles } from './without-roles-store.ts';

/**
 * Returns one page of users and how many match, from one snapshot. The number is exact for all users, for those of a kind and
 * for those without roles, and otherwise up to `MAX_COUNTED` matches; beyond, it is a lower bound, marked as an estimate.
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
    const areListed = filter.withoutRoles === true && (await areWithoutRolesListed(tx));
    if (areListed && Object.keys(filter).length === 1)
      return findPageWithoutRoles(tx, { order, isDescending }, query);
    if (order !== 'id' && kind && !(kind.isUnlocked && (await areManyLocked(tx))))
      return findPageOfKind(tx, kind, { order, isDescending }, query);
    return findMatchingPage(tx, filter, { order, isDescending }, query, areListed);
  });
}

async function findPageWithoutRoles(db: Db, sort: Sort, query: PageQuery): Promise<UserPage> {
  const total = await countWithoutRoles(db);
  const place = placeOf(total, sort.isDescending, query);
  const ids = place.size === 0 ? [] : await findWithoutRoles(db, sort.order, place);
  return { total, isEstimate: false, users: await readPageOf(db, ids, sort) };
}
