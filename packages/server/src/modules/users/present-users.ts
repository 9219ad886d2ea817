// Reads the users of a bulk update as responses show them, to compare fields that the update does not take.
import type { BulkUpdateUsersBody } from '@castellan/contract/users';
import type { Present } from '../authz/access-fields.ts';
import { toUser } from './presentation.ts';
import type { UserDeps } from './service.ts';
import { findUsersByIds } from './store.ts';

/** Returns the users by the path of an object in the body: all of `user_ids` at `updates`, one at each item of `users`. */
export async function presentUsers(
  deps: UserDeps,
  { user_ids = [], users = [] }: BulkUpdateUsersBody,
): Promise<(path: readonly string[]) => readonly Present[]> {
  const ids = [...user_ids, ...users.map(({ id }) => id)];
  const rows = await findUsersByIds(deps.db, ids);
  const graph = rows[0] && (await deps.graphSource.at(rows[0].authz_stamp));
  const found = new Map(graph ? rows.map((row) => [row.user_id, { record: toUser(row, graph) }]) : []);
  const withId = (id = ''): Present[] => [found.get(id.toLowerCase()) ?? []].flat();
  return ([field, index]) => {
    if (field === 'updates') return user_ids.flatMap(withId);
    return field === 'users' ? withId(users[Number(index)]?.id) : [];
  };
}
