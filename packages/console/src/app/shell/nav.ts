// The pages of the console, in the order of the menu, and who may see them.
import {
  IconActivity,
  IconBook2,
  IconDeviceLaptop,
  IconFolders,
  IconGridDots,
  IconKey,
  IconLayoutDashboard,
  IconPlugConnected,
  IconRoute,
  IconSettings,
  IconShield,
  IconUserCircle,
  IconUsers,
} from '@tabler/icons-react';
import type { Me } from '../data/me.tsx';
import { t } from '../text.ts';

type PageName = keyof Omit<(typeof t)['common']['nav'], 'label' | 'open' | 'close' | 'skip'>;

export type NavPage = {
  name: PageName;
  path: string;
  icon: typeof IconUsers;
  /** One of these permissions opens the page. Empty: everybody may. */
  anyOf: readonly string[];
  /** The second key after `g`; see the list of shortcuts. */
  key: string;
};

/** `role.read` shows role groups with their roles; what needs more is disabled on the page, with the reason. */
export const navPages: readonly NavPage[] = [
  { name: 'overview', path: '/overview', icon: IconLayoutDashboard, anyOf: [], key: 'o' },
  { name: 'users', path: '/users', icon: IconUsers, anyOf: ['user.read', 'users.read'], key: 'u' },
  { name: 'roles', path: '/roles', icon: IconShield, anyOf: ['role.read'], key: 'r' },
  { name: 'matrix', path: '/matrix', icon: IconGridDots, anyOf: ['role.read'], key: 'm' },
  { name: 'roleGroups', path: '/role-groups', icon: IconFolders, anyOf: ['role_group.read'], key: 'g' },
  { name: 'permissions', path: '/permissions', icon: IconKey, anyOf: ['permission.read'], key: 'p' },
  { name: 'access', path: '/access', icon: IconRoute, anyOf: [], key: 'x' },
  { name: 'sessions', path: '/sessions', icon: IconDeviceLaptop, anyOf: ['session.read'], key: 's' },
  { name: 'audit', path: '/audit', icon: IconActivity, anyOf: ['audit_log.read'], key: 'a' },
  {
    name: 'serviceAccounts',
    path: '/service-accounts',
    icon: IconPlugConnected,
    anyOf: ['service_account.read'],
    key: 'v',
  },
  { name: 'settings', path: '/settings', icon: IconSettings, anyOf: ['settings.read'], key: 't' },
  { name: 'reference', path: '/reference', icon: IconBook2, anyOf: [], key: 'd' },
  { name: 'account', path: '/account', icon: IconUserCircle, anyOf: [], key: 'i' },
];

/** Pages below one of the menu that another permission opens. */
const innerPages: readonly { path: string; permission: string; title: () => string }[] = [
  { path: '/users/new', permission: 'users.create', title: () => t.users.new.title },
];

/** Until a password is changed that must be, the service refuses everything but the own account. */
export const mayOpen = (page: NavPage, me: Me): boolean => {
  if (me.user.must_change_password) return page.name === 'account';
  if (page.name === 'overview') return hasConsole(me);
  return page.anyOf.length === 0 || page.anyOf.some((permission) => me.can(permission));
};

/** Whether the person has any page of the console; others are led to their account. */
const hasConsole = (me: Me): boolean => navPages.some((page) => page.anyOf.length > 0 && mayOpen(page, me));

/** Returns where the person is led instead of this page; null if the page is for them. */
export function leadFrom(path: string, me: Me): '/account' | null {
  if (me.user.must_change_password) return path === '/account' ? null : '/account';
  return path === '/overview' && !hasConsole(me) ? '/account' : null;
}

/** Returns the title of the page at this path and the permission that would open it; null if the person may open it. */
export function refusalOf(path: string, me: Me): { page: string; permission: string } | null {
  const inner = innerPages.find((page) => page.path === path);
  if (inner) return me.can(inner.permission) ? null : { page: inner.title(), permission: inner.permission };
  const current = navPages.find((page) => path === page.path || path.startsWith(`${page.path}/`));
  const [permission] = current?.anyOf ?? [];
  if (!current || permission === undefined || mayOpen(current, me)) return null;
  return { page: t.common.nav[current.name], permission };
}
