// The menu, and who may open which page.
import {
  IconActivity,
  IconApi,
  IconApps,
  IconBook2,
  IconDeviceLaptop,
  IconFolders,
  IconGridDots,
  IconKey,
  IconLayoutDashboard,
  IconListDetails,
  IconLogin2,
  IconPlugConnected,
  IconRoute,
  IconSettings,
  IconShield,
  IconUserCircle,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';
import type { Me } from '../data/me.tsx';
import { requirementOf } from '../data/requirement.ts';
import { type MenuPath, menuPages, type Page, pageOf } from '../pages.ts';

const icons: Readonly<Record<MenuPath, typeof IconUsers>> = {
  '/overview': IconLayoutDashboard,
  '/users': IconUsers,
  '/user-attributes': IconListDetails,
  '/roles': IconShield,
  '/matrix': IconGridDots,
  '/role-groups': IconFolders,
  '/permissions': IconKey,
  '/access': IconRoute,
  '/sessions': IconDeviceLaptop,
  '/audit': IconActivity,
  '/service-accounts': IconPlugConnected,
  '/applications': IconApps,
  '/api-resources': IconApi,
  '/identity-providers': IconLogin2,
  '/webhooks': IconWebhook,
  '/settings': IconSettings,
  '/reference': IconBook2,
  '/account': IconUserCircle,
};

type MenuPage = Page & { icon: typeof IconUsers; menuKey: string };

/** The pages of the menu, with their icons: they need the library that draws them, which `pages.ts` must not load. */
const menu: readonly MenuPage[] = menuPages.map((page) => ({ ...page, icon: icons[page.path] }));

/** Returns the pages of the menu that the person may open. */
export const menuOf = (me: Me): MenuPage[] => menu.filter((page) => mayOpen(page, me));

/** A person who must do something first has only their account. */
const mayOpen = (page: Page, me: Me): boolean => {
  if (requirementOf(me.user)) return page.path === '/account';
  if (page.path === '/overview') return hasConsole(me);
  return page.anyOf.length === 0 || page.anyOf.some((permission) => me.can(permission));
};

/** Whether the person has any page of the console; others are led to their account. */
const hasConsole = (me: Me): boolean => menu.some((page) => page.anyOf.length > 0 && mayOpen(page, me));

/** Returns where the person is led instead of this page; null if the page is for them. */
export function leadFrom(path: string, me: Me): '/account' | null {
  if (requirementOf(me.user)) return path === '/account' ? null : '/account';
  return path === '/overview' && !hasConsole(me) ? '/account' : null;
}

/** Returns the title of the page at this path and the permission that would open it; null if the person may open it. */
export function refusalOf(path: string, me: Me): { page: string; permission: string } | null {
  const page = pageOf(path);
  const [permission] = page?.anyOf ?? [];
  if (!page || permission === undefined || mayOpen(page, me)) return null;
  return { page: page.title(), permission };
}
