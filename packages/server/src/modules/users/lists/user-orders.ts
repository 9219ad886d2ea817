// The orders of the list of users. Each is total, because it ends with the id, and has an index.
// It must not contain a whole statement.
import type { UserSortOrder } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';

export const userOrders = ['created_at', 'email', 'last_name'] as const;
export type UserOrder = (typeof userOrders)[number];
/** The order by id repeats and skips nobody while users are added and deleted. It has no marks. */
export type UserSortKey = UserOrder | 'id';

export type Sort = { order: UserSortKey; isDescending: boolean };

/** Returns an order of the API: its name, with `-` before it if it is descending. */
export function readSort(sort: UserSortOrder): Sort {
  const name = sort.replace(/^-/, '');
  const order = name === 'id' ? name : userOrders.find((one) => one === name);
  if (!order) throw new Error(`unknown order: ${sort}`);
  return { order, isDescending: sort.startsWith('-') };
}

/** The column of each order, in `users u`. */
export const userKeys: Readonly<Record<UserSortKey, RawBuilder<unknown>>> = {
  created_at: sql`u.created_at`,
  email: sql`u.email`,
  last_name: sql`lower(u.last_name)`,
  id: sql`u.id`,
};
/** The same in `user_marks m`. */
export const markKeys: Readonly<Record<UserSortKey, RawBuilder<unknown>>> = {
  created_at: sql`m.created_at`,
  email: sql`m.email`,
  last_name: sql`m.last_name`,
  id: sql`m.id`,
};
/** The same in `user_changes c`. */
export const changeKeys: Readonly<Record<UserSortKey, RawBuilder<unknown>>> = {
  created_at: sql`c.created_at`,
  email: sql`c.email`,
  last_name: sql`c.last_name`,
  id: sql`c.id`,
};
/** The same in a subquery `l` of locked users. */
export const lockedKeys: Readonly<Record<UserSortKey, RawBuilder<unknown>>> = {
  created_at: sql`l.created_at`,
  email: sql`l.email`,
  last_name: sql`l.last_name`,
  id: sql`l.id`,
};
