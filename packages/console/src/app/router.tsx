// The pages and what of them is in the address. Each page is a file that loads when it is opened.
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { pageSettings } from '../common/page-settings.ts';
import { NotFound } from './components/NotFound.tsx';
import { PageError } from './components/PageError.tsx';
import { queryClient, reading } from './data/api.ts';
import { allPermissions, allRoles, fullRoles } from './data/catalogue.ts';
import { firstList, readableListPath } from './first-list.ts';
import { pageFiles } from './page-files.ts';
import { pageSizes } from './page-size.ts';
import {
  choiceIn,
  dayIn,
  flagIn,
  type Given,
  momentIn,
  numberIn,
  optional,
  parseSearch,
  stringifySearch,
  textIn,
  uuidIn,
} from './search.ts';
import { Gate } from './shell/Gate.tsx';
import { Shell } from './shell/Shell.tsx';

const MAX_PAGE = 1_000_000;
/** The service takes no longer ids, actions, types and addresses. */
const MAX_NAME = 100;
/** Of the name of a permission. */
const MAX_PERMISSION = 400;

const statuses = ['active', 'inactive', 'locked', 'unverified'] as const;
const userSorts = ['created_at', '-created_at', 'email', '-email', 'last_name', '-last_name'] as const;
const userTabs = ['profile', 'access', 'sessions', 'activity'] as const;
const accountTabs = ['keys', 'access', 'activity'] as const;
const roleTabs = ['permissions', 'users', 'activity'] as const;

/** Whether the activity of a record has its routine entries, in the address of every page that shows one. */
const activity = (given: Given) => ({ routine: choiceIn(given, 'routine', ['show']) });

/** What every paged list has in its address. */
const paging = (given: Given) => ({
  q: textIn(given, 'q'),
  page: numberIn(given, 'page', 1, MAX_PAGE),
  size: pageSizes.find((one) => String(one) === textIn(given, 'size')),
});

type Context = { can: (permission: string) => boolean };

const root = createRootRouteWithContext<Context>()({
  component: (): ReactElement => (
    <Gate>
      <Shell />
    </Gate>
  ),
  notFoundComponent: NotFound,
});

const page = <P extends string>(path: P) => ({ getParentRoute: () => root, path });

const index = createRoute({
  ...page('/'),
  beforeLoad: () => {
    throw redirect({ to: '/overview', replace: true });
  },
});
const overview = createRoute({
  ...page('/overview'),
  component: lazyRouteComponent(pageFiles['/overview'], 'Overview'),
});
const users = createRoute({
  ...page('/users'),
  validateSearch: (given: Given) =>
    optional({
      ...paging(given),
      status: choiceIn(given, 'status', statuses),
      role: uuidIn(given, 'role'),
      roles: choiceIn(given, 'roles', ['none']),
      verified: flagIn(given, 'verified'),
      is_active: flagIn(given, 'is_active'),
      removal_within_hours: numberIn(given, 'removal_within_hours', 1, 8_760),
      sort: choiceIn(given, 'sort', userSorts),
      user: uuidIn(given, 'user'),
      tab: choiceIn(given, 'tab', userTabs),
      ...activity(given),
    }),
  // Begun or already there when the page renders, so that it need not render without rows first.
  loader: ({ cause, context, location }) => {
    const list = readableListPath(context.can);
    if (cause !== 'enter' || location.searchStr !== '' || !list) return;
    void queryClient.prefetchQuery(reading(`GET ${list}`, firstList()));
  },
  component: lazyRouteComponent(pageFiles['/users'], 'Users'),
});
const newUser = createRoute({
  ...page('/users/new'),
  component: lazyRouteComponent(pageFiles['/users/new'], 'NewUser'),
});
const roles = createRoute({
  ...page('/roles'),
  validateSearch: (given: Given) =>
    optional({
      ...paging(given),
      holders: choiceIn(given, 'holders', ['none']),
      permissions: choiceIn(given, 'permissions', ['none']),
      compare: textIn(given, 'compare'),
    }),
  component: lazyRouteComponent(pageFiles['/roles'], 'Roles'),
});
const role = createRoute({
  ...page('/roles/$id'),
  validateSearch: (given: Given) =>
    optional({ q: textIn(given, 'q'), tab: choiceIn(given, 'tab', roleTabs), ...activity(given) }),
  component: lazyRouteComponent(pageFiles['/roles/$id'], 'RolePage'),
});
const matrix = createRoute({
  ...page('/matrix'),
  validateSearch: (given: Given) =>
    optional({
      f: textIn(given, 'f'),
      roles: choiceIn(given, 'roles', ['custom']),
      group: uuidIn(given, 'group'),
    }),
  // The page's data and its file load at the same time.
  loader: ({ cause, context }) => {
    if (cause !== 'enter' || !context.can('role.read')) return;
    if (!context.can('permission.read')) return void queryClient.prefetchQuery(fullRoles);
    void queryClient.prefetchQuery(allRoles);
    void queryClient.prefetchQuery(allPermissions());
  },
  component: lazyRouteComponent(pageFiles['/matrix'], 'Matrix'),
});
const roleGroups = createRoute({
  ...page('/role-groups'),
  validateSearch: (given: Given) =>
    optional({
      q: textIn(given, 'q'),
      g: uuidIn(given, 'g'),
      tab: choiceIn(given, 'tab', ['roles', 'activity']),
      ...activity(given),
    }),
  component: lazyRouteComponent(pageFiles['/role-groups'], 'RoleGroups'),
});
const permissions = createRoute({
  ...page('/permissions'),
  validateSearch: (given: Given) =>
    optional({
      ...paging(given),
      group: uuidIn(given, 'group'),
      roles: choiceIn(given, 'roles', ['none']),
      is_builtin: flagIn(given, 'is_builtin'),
      permission: uuidIn(given, 'permission'),
      tab: choiceIn(given, 'tab', ['access', 'activity']),
      ...activity(given),
    }),
  component: lazyRouteComponent(pageFiles['/permissions'], 'Permissions'),
});
const access = createRoute({
  ...page('/access'),
  validateSearch: (given: Given) =>
    optional({
      user: uuidIn(given, 'user'),
      permission: textIn(given, 'permission', MAX_PERMISSION),
      other: uuidIn(given, 'other'),
      view: choiceIn(given, 'view', ['check', 'holders', 'compare']),
    }),
  component: lazyRouteComponent(pageFiles['/access'], 'Access'),
});
const sessions = createRoute({
  ...page('/sessions'),
  validateSearch: (given: Given) =>
    optional({
      q: textIn(given, 'q'),
      user: uuidIn(given, 'user'),
      address: textIn(given, 'address', MAX_NAME),
      older_than: momentIn(given, 'older_than'),
    }),
  component: lazyRouteComponent(pageFiles['/sessions'], 'Sessions'),
});
const audit = createRoute({
  ...page('/audit'),
  validateSearch: (given: Given) =>
    optional({
      actor: uuidIn(given, 'actor'),
      type: textIn(given, 'type', MAX_NAME),
      target: textIn(given, 'target', MAX_NAME),
      action: textIn(given, 'action', MAX_NAME),
      address: textIn(given, 'address', MAX_NAME),
      result: choiceIn(given, 'result', ['success', 'failure']),
      from: dayIn(given, 'from'),
      to: dayIn(given, 'to'),
      entry: textIn(given, 'entry'),
      ...activity(given),
    }),
  component: lazyRouteComponent(pageFiles['/audit'], 'Audit'),
});
const serviceAccounts = createRoute({
  ...page('/service-accounts'),
  validateSearch: (given: Given) =>
    optional({
      ...paging(given),
      account: uuidIn(given, 'account'),
      tab: choiceIn(given, 'tab', accountTabs),
      ...activity(given),
    }),
  component: lazyRouteComponent(pageFiles['/service-accounts'], 'ServiceAccounts'),
});
const settings = createRoute({
  ...page('/settings'),
  validateSearch: (given: Given) => optional({ q: textIn(given, 'q') }),
  component: lazyRouteComponent(pageFiles['/settings'], 'Settings'),
});
const account = createRoute({
  ...page('/account'),
  component: lazyRouteComponent(pageFiles['/account'], 'Account'),
});
const reference = createRoute({
  ...page('/reference'),
  component: lazyRouteComponent(pageFiles['/reference'], 'Reference'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    index,
    overview,
    users,
    newUser,
    roles,
    role,
    matrix,
    roleGroups,
    permissions,
    access,
    sessions,
    audit,
    serviceAccounts,
    settings,
    account,
    reference,
  ]),
  basepath: pageSettings.basePath || '/',
  parseSearch,
  stringifySearch,
  defaultPreload: 'intent',
  defaultErrorComponent: PageError,
  scrollRestoration: true,
  context: { can: () => false },
});

/** Loads the file of the page that the address names, while the session is continued. */
export function loadFirstPage(): void {
  const [matchedRoutes] = router.getMatchedRoutes(router.latestLocation.pathname);
  for (const route of matchedRoutes) void router.loadRouteChunk(route);
}

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
