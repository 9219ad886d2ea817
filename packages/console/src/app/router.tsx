// The routes of the declared pages.
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { pageSettings } from '../common/page-settings.ts';
import { NotFound } from './components/page/NotFound.tsx';
import { PageError } from './components/page/PageError.tsx';
import { queryClient, reading } from './data/api.ts';
import { allPermissions, allRoles, fullRoles } from './data/catalogue.ts';
import { firstList, readableListPath } from './data/early-reads.ts';
import { allPages, type Declared, type PagePath, pages } from './pages.ts';
import { type Given, parseSearch, stringifySearch } from './search.ts';
import { Gate } from './shell/Gate.tsx';
import { Shell } from './shell/Shell.tsx';

type Context = { can: (permission: string) => boolean };

const root = createRootRouteWithContext<Context>()({
  component: (): ReactElement => (
    <Gate>
      <Shell />
    </Gate>
  ),
  notFoundComponent: NotFound,
});

/** What a page reads while its file loads, so that it need not render without rows first. */
const firstReads: Partial<Record<PagePath, (context: Context, search: string) => unknown>> = {
  '/users': ({ can }, search) => {
    const list = readableListPath(can);
    if (search === '' && list) void queryClient.prefetchQuery(reading(`GET ${list}`, firstList()));
  },
  '/matrix': ({ can }) => {
    if (!can('role.read')) return;
    if (!can('permission.read')) return void queryClient.prefetchQuery(fullRoles);
    void queryClient.prefetchQuery(allRoles);
    void queryClient.prefetchQuery(allPermissions());
  },
};

/** What a page takes from its address. */
type SearchOf<P extends PagePath> = (typeof pages)[P] extends {
  search: (given: Given) => infer S extends object;
}
  ? S
  : object;

function routeOf<P extends PagePath, S extends object>(path: P) {
  const { load, search, tag }: Declared = pages[path];
  return createRoute({
    getParentRoute: () => root,
    path,
    // What all declarations have in common no longer says what this one returns.
    validateSearch: search as (given: Given) => S,
    loader: ({ cause, context, location }) => {
      if (cause === 'enter') firstReads[path]?.(context, location.searchStr);
    },
    component: lazyRouteComponent(load),
    staticData: { tag },
  });
}

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/overview', replace: true });
  },
});

type PageRoutes = { [P in PagePath]: ReturnType<typeof routeOf<P, SearchOf<P>>> };
// Each is the route of its path.
const pageRoutes = Object.fromEntries<unknown>(
  allPages.map(({ path }) => [path, routeOf(path)]),
) as PageRoutes;

export const router = createRouter({
  routeTree: root.addChildren({ index, ...pageRoutes }),
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
  interface StaticDataRouteOption {
    /** The tag of the page in the API reference, such as `users`. */
    tag?: string | undefined;
  }
}
