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

/** Returns the path below the service, such as `/docs#tag/users`; null for a page without a part. */
export function docsOf(path: string): string | null {
  const tag = tags[path.split('/')[1] ?? ''];
  return tag ? `/docs#tag/${tag}` : null;
}
