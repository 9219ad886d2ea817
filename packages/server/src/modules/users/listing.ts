// Lists of users, filtered, sorted and in pages.
import type { User, UserListQuery } from '@castellan/contract/users';
import { pagesOf } from '../../platform/http/pages.ts';
import { canonicalEmail } from '../../platform/security/email.ts';
import { findUserPage, type UserFilter } from './listing-store.ts';
import { toUser } from './presentation.ts';
import type { UserDeps } from './service.ts';

type UserPage = { items: User[]; total: number; page: number; size: number; pages: number };

/** By creation unless sorted otherwise. Beyond the end: empty, with the true total. */
export async function listUsers(deps: UserDeps, query: UserListQuery): Promise<UserPage> {
  const { page, size, sort = 'created_at' } = query;
  const { total, users } = await findUserPage(deps.db, filterOf(query), sort, { page, size });
  const graph = users[0] && (await deps.graphSource.at(users[0].authz_version));
  return {
    items: graph ? users.map((user) => toUser(user, graph)) : [],
    total,
    page,
    size,
    pages: pagesOf(total, size),
  };
}

// An empty text field of a form asks for nothing.
function filterOf({ email = '', search = '', role_id, is_active, verified }: UserListQuery): UserFilter {
  const part = search.trim().normalize('NFC');
  return {
    ...(email.trim() === '' ? {} : { email: canonicalEmail(email) }),
    ...(part === '' ? {} : { search: part }),
    ...(role_id === undefined ? {} : { roleId: role_id.toLowerCase() }),
    ...(is_active === undefined ? {} : { isActive: is_active }),
    ...(verified === undefined ? {} : { verified }),
  };
}
