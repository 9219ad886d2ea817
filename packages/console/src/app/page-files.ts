// The file of each page, which loads when the page is opened.
// It must not import a page: the first file of the app would contain it.

export const pageFiles = {
  '/overview': () => import('./pages/overview/Overview.tsx'),
  '/users': () => import('./pages/users/Users.tsx'),
  '/users/new': () => import('./pages/users/NewUser.tsx'),
  '/roles': () => import('./pages/roles/Roles.tsx'),
  '/roles/$id': () => import('./pages/roles/RolePage.tsx'),
  '/matrix': () => import('./pages/matrix/Matrix.tsx'),
  '/role-groups': () => import('./pages/role-groups/RoleGroups.tsx'),
  '/permissions': () => import('./pages/permissions/Permissions.tsx'),
  '/access': () => import('./pages/access/Access.tsx'),
  '/sessions': () => import('./pages/sessions/Sessions.tsx'),
  '/audit': () => import('./pages/audit/Audit.tsx'),
  '/service-accounts': () => import('./pages/service-accounts/ServiceAccounts.tsx'),
  '/settings': () => import('./pages/settings/Settings.tsx'),
  '/account': () => import('./pages/account/Account.tsx'),
  '/reference': () => import('./pages/reference/Reference.tsx'),
};

/** Loads the file of the page with this path, if there is one. */
export async function loadPage(path: string): Promise<void> {
  const [name, load] = Object.entries(pageFiles).find(([one]) => one === path) ?? [];
  if (name !== undefined) await load?.();
  else if (/^\/roles\/[^/]+$/.test(path)) await pageFiles['/roles/$id']();
}
