// Which part of the API reference tells about a page.

/** By the first segment of the path: the tag of the operations that the page uses most, as the reference has it in its address. */
const tags: Readonly<Record<string, string>> = {
  overview: 'dashboard',
  users: 'users',
  roles: 'roles',
  matrix: 'roles',
  'role-groups': 'role-groups',
  permissions: 'permissions',
  access: 'access',
  sessions: 'sessions',
  audit: 'audit-logs',
  'service-accounts': 'service-accounts',
  settings: 'settings',
  account: 'auth',
};

/** Returns such as `users`; null for a page without a part. The paths of these operations begin with it, too. */
export const tagOf = (path: string): string | null => tags[path.split('/')[1] ?? ''] ?? null;

/** Returns the path below the service, such as `/docs#tag/users`; null for a page without a part. */
export function docsOf(path: string): string | null {
  const tag = tagOf(path);
  return tag && `/docs#tag/${tag}`;
}
