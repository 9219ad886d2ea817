// Every page of the app, declared once, in the order of the menu: its address, its file, who may open it and what its
// address holds. The router, the menu, the palette, the keys, refusals and links to the API reference follow from it.
// It must not import a page, except on demand, nor a library: it runs before the app has loaded.
import type { ComponentType } from 'react';
import type { AppPath } from '../common/paths.ts';
import { pageSizes } from './page-size.ts';
import {
  choiceIn,
  conditionIn,
  dayIn,
  flagIn,
  type Given,
  momentIn,
  numberIn,
  optional,
  sequenceIn,
  textIn,
  uuidIn,
} from './search.ts';
import { t, withLaterTexts } from './text.ts';

export type Declared = {
  title: () => string;
  /** Loads the file of the page when it is opened. */
  load: () => Promise<{ default: ComponentType }>;
  /** One of these permissions opens the page. Empty: everybody may. What needs more is disabled on the page, with the reason. */
  anyOf: readonly string[];
  /** Puts the page into the menu: the second key after `g`. */
  menuKey?: string;
  /** The tag of the operations that the page uses most, as the API reference has it in its address. */
  tag?: string;
  /** Returns what the page takes from its address. Without, it takes nothing. */
  search?: (given: Given) => object;
};

export type Page = Declared & { path: PagePath };

/** `/roles/:id` as the router writes it: `/roles/$id`. */
type RouterPath<P extends string> = P extends `${infer Before}:${infer After}` ? `${Before}$${After}` : P;

const MAX_PAGE = 1_000_000;
/** The service takes no longer ids, actions, types and addresses. */
const MAX_NAME = 100;
/** Of the name of an attribute, and the longest value of one. */
const MAX_CONDITION = 4_051;
/** Of the name of a permission. */
const MAX_PERMISSION = 400;

const userSorts = ['created_at', '-created_at', 'email', '-email', 'last_name', '-last_name'] as const;

/** Whether the activity of a record has its routine entries, in the address of every page that shows one. */
const activity = (given: Given) => ({ routine: choiceIn(given, 'routine', ['show']) });

/** What every paged list has in its address. */
const paging = (given: Given) => ({
  q: textIn(given, 'q'),
  page: numberIn(given, 'page', 1, MAX_PAGE),
  size: pageSizes.find((one) => String(one) === textIn(given, 'size')),
});

export const pages = {
  '/overview': {
    title: () => t.common.nav.overview,
    load: () => import('./pages/overview/Overview.tsx').then(({ Overview }) => ({ default: Overview })),
    anyOf: [],
    menuKey: 'o',
    tag: 'dashboard',
  },
  '/users': {
    title: () => t.common.nav.users,
    load: () => import('./pages/users/Users.tsx').then(({ Users }) => ({ default: Users })),
    anyOf: ['user.read', 'users.read'],
    menuKey: 'u',
    tag: 'users',
    search: (given: Given) =>
      optional({
        ...paging(given),
        status: choiceIn(given, 'status', ['active', 'inactive', 'locked', 'unverified']),
        role: uuidIn(given, 'role'),
        roles: choiceIn(given, 'roles', ['none']),
        verified: flagIn(given, 'verified'),
        is_active: flagIn(given, 'is_active'),
        removal_within_hours: numberIn(given, 'removal_within_hours', 1, 8_760),
        second_factor: choiceIn(given, 'second_factor', ['on', 'off', 'missing']),
        invited: flagIn(given, 'invited'),
        invitation: choiceIn(given, 'invitation', ['open', 'ended']),
        attribute: conditionIn(given, 'attribute', MAX_CONDITION),
        sort: choiceIn(given, 'sort', userSorts),
        user: uuidIn(given, 'user'),
        tab: choiceIn(given, 'tab', [
          'profile',
          'attributes',
          'access',
          'security',
          'identities',
          'sessions',
          'applications',
          'activity',
        ]),
        ...activity(given),
      }),
  },
  '/users/new': {
    title: () => t.users.new.title,
    load: () => import('./pages/users/NewUser.tsx').then(({ NewUser }) => ({ default: NewUser })),
    anyOf: ['users.create'],
    tag: 'users',
  },
  '/user-attributes': {
    title: () => t.common.nav.userAttributes,
    load: () =>
      withLaterTexts(import('./pages/user-attributes/UserAttributes.tsx')).then(({ UserAttributes }) => ({
        default: UserAttributes,
      })),
    anyOf: ['user_attribute.read'],
    menuKey: 'b',
    tag: 'user-attributes',
    search: (given: Given) => optional({ q: textIn(given, 'q') }),
  },
  '/roles': {
    title: () => t.common.nav.roles,
    load: () => import('./pages/roles/Roles.tsx').then(({ Roles }) => ({ default: Roles })),
    anyOf: ['role.read'],
    menuKey: 'r',
    tag: 'roles',
    search: (given: Given) =>
      optional({
        ...paging(given),
        holders: choiceIn(given, 'holders', ['none']),
        permissions: choiceIn(given, 'permissions', ['none']),
        compare: textIn(given, 'compare'),
      }),
  },
  '/roles/$id': {
    title: () => t.common.nav.roles,
    load: () => import('./pages/roles/RolePage.tsx').then(({ RolePage }) => ({ default: RolePage })),
    anyOf: ['role.read'],
    tag: 'roles',
    search: (given: Given) =>
      optional({
        q: textIn(given, 'q'),
        tab: choiceIn(given, 'tab', ['permissions', 'users', 'activity']),
        ...activity(given),
      }),
  },
  '/matrix': {
    title: () => t.common.nav.matrix,
    load: () => import('./pages/matrix/Matrix.tsx').then(({ Matrix }) => ({ default: Matrix })),
    anyOf: ['role.read'],
    menuKey: 'm',
    tag: 'roles',
    search: (given: Given) =>
      optional({
        f: textIn(given, 'f'),
        roles: choiceIn(given, 'roles', ['custom']),
        group: uuidIn(given, 'group'),
      }),
  },
  '/role-groups': {
    title: () => t.common.nav.roleGroups,
    load: () =>
      import('./pages/role-groups/RoleGroups.tsx').then(({ RoleGroups }) => ({ default: RoleGroups })),
    anyOf: ['role_group.read'],
    menuKey: 'g',
    tag: 'role-groups',
    search: (given: Given) =>
      optional({
        q: textIn(given, 'q'),
        g: uuidIn(given, 'g'),
        tab: choiceIn(given, 'tab', ['roles', 'activity']),
        ...activity(given),
      }),
  },
  '/permissions': {
    title: () => t.common.nav.permissions,
    load: () =>
      import('./pages/permissions/Permissions.tsx').then(({ Permissions }) => ({ default: Permissions })),
    anyOf: ['permission.read'],
    menuKey: 'p',
    tag: 'permissions',
    search: (given: Given) =>
      optional({
        ...paging(given),
        group: uuidIn(given, 'group'),
        roles: choiceIn(given, 'roles', ['none']),
        is_builtin: flagIn(given, 'is_builtin'),
        permission: uuidIn(given, 'permission'),
        tab: choiceIn(given, 'tab', ['access', 'activity']),
        ...activity(given),
      }),
  },
  '/access': {
    title: () => t.common.nav.access,
    load: () => import('./pages/access/Access.tsx').then(({ Access }) => ({ default: Access })),
    anyOf: [],
    menuKey: 'x',
    tag: 'access',
    search: (given: Given) =>
      optional({
        user: uuidIn(given, 'user'),
        permission: textIn(given, 'permission', MAX_PERMISSION),
        other: uuidIn(given, 'other'),
        view: choiceIn(given, 'view', ['check', 'holders', 'compare']),
      }),
  },
  '/sessions': {
    title: () => t.common.nav.sessions,
    load: () => import('./pages/sessions/Sessions.tsx').then(({ Sessions }) => ({ default: Sessions })),
    anyOf: ['session.read'],
    menuKey: 's',
    tag: 'sessions',
    search: (given: Given) =>
      optional({
        q: textIn(given, 'q'),
        user: uuidIn(given, 'user'),
        address: textIn(given, 'address', MAX_NAME),
        older_than: momentIn(given, 'older_than'),
      }),
  },
  '/audit': {
    title: () => t.common.nav.audit,
    load: () => import('./pages/audit/Audit.tsx').then(({ Audit }) => ({ default: Audit })),
    anyOf: ['audit_log.read'],
    menuKey: 'a',
    tag: 'audit-logs',
    search: (given: Given) =>
      optional({
        actor: uuidIn(given, 'actor'),
        acted_by: uuidIn(given, 'acted_by'),
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
  },
  '/service-accounts': {
    title: () => t.common.nav.serviceAccounts,
    load: () =>
      import('./pages/service-accounts/ServiceAccounts.tsx').then(({ ServiceAccounts }) => ({
        default: ServiceAccounts,
      })),
    anyOf: ['service_account.read'],
    menuKey: 'v',
    tag: 'service-accounts',
    search: (given: Given) =>
      optional({
        ...paging(given),
        account: uuidIn(given, 'account'),
        tab: choiceIn(given, 'tab', ['keys', 'access', 'activity']),
        ...activity(given),
      }),
  },
  '/applications': {
    title: () => t.common.nav.applications,
    load: () =>
      withLaterTexts(import('./pages/applications/Applications.tsx')).then(({ Applications }) => ({
        default: Applications,
      })),
    anyOf: ['application.read'],
    menuKey: 'c',
    tag: 'applications',
    search: (given: Given) =>
      optional({
        ...paging(given),
        type: choiceIn(given, 'type', ['web', 'spa', 'native', 'device']),
        is_active: flagIn(given, 'is_active'),
      }),
  },
  '/applications/new': {
    title: () => t.common.nav.newApplication,
    load: () =>
      withLaterTexts(import('./pages/applications/connect/Connect.tsx')).then(({ Connect }) => ({
        default: Connect,
      })),
    anyOf: ['application.create'],
    tag: 'applications',
    search: (given: Given) => optional({ recipe: textIn(given, 'recipe', MAX_NAME) }),
  },
  '/applications/$id': {
    title: () => t.common.nav.applications,
    load: () =>
      withLaterTexts(import('./pages/applications/record/ApplicationPage.tsx')).then(
        ({ ApplicationPage }) => ({ default: ApplicationPage }),
      ),
    anyOf: ['application.read'],
    tag: 'applications',
    search: (given: Given) =>
      optional({
        tab: choiceIn(given, 'tab', [
          'settings',
          'access',
          'tokens',
          'secrets',
          'people',
          'notices',
          'claims',
          'activity',
        ]),
        person: uuidIn(given, 'person'),
        ...activity(given),
      }),
  },
  '/api-resources': {
    title: () => t.common.nav.apiResources,
    load: () =>
      withLaterTexts(import('./pages/api-resources/ApiResources.tsx')).then(({ ApiResources }) => ({
        default: ApiResources,
      })),
    anyOf: ['api_resource.read'],
    menuKey: 'e',
    tag: 'api-resources',
    search: (given: Given) => optional(paging(given)),
  },
  '/identity-providers': {
    title: () => t.common.nav.identityProviders,
    load: () =>
      withLaterTexts(import('./pages/identity-providers/list/IdentityProviders.tsx')).then(
        ({ IdentityProviders }) => ({ default: IdentityProviders }),
      ),
    anyOf: ['identity_provider.read'],
    menuKey: 'n',
    tag: 'identity-providers',
  },
  '/identity-providers/new': {
    title: () => t.common.nav.identityProviders,
    load: () =>
      withLaterTexts(import('./pages/identity-providers/NewProvider.tsx')).then(({ NewProvider }) => ({
        default: NewProvider,
      })),
    anyOf: ['identity_provider.read'],
    tag: 'identity-providers',
    search: (given: Given) =>
      optional({ kind: choiceIn(given, 'kind', ['oidc', 'google', 'microsoft', 'github', 'apple']) }),
  },
  '/identity-providers/$id': {
    title: () => t.common.nav.identityProviders,
    load: () =>
      withLaterTexts(import('./pages/identity-providers/record/ProviderPage.tsx')).then(
        ({ ProviderPage }) => ({ default: ProviderPage }),
      ),
    anyOf: ['identity_provider.read'],
    tag: 'identity-providers',
    search: (given: Given) =>
      optional({ tab: choiceIn(given, 'tab', ['settings', 'activity']), ...activity(given) }),
  },
  '/webhooks': {
    title: () => t.common.nav.webhooks,
    load: () =>
      withLaterTexts(import('./pages/webhooks/list/Webhooks.tsx')).then(({ Webhooks }) => ({
        default: Webhooks,
      })),
    anyOf: ['webhook.read'],
    menuKey: 'w',
    tag: 'webhooks',
  },
  '/webhooks/new': {
    title: () => t.common.nav.webhooks,
    load: () =>
      withLaterTexts(import('./pages/webhooks/NewWebhook.tsx')).then(({ NewWebhook }) => ({
        default: NewWebhook,
      })),
    anyOf: ['webhook.create'],
    tag: 'webhooks',
  },
  '/webhooks/$id': {
    title: () => t.common.nav.webhooks,
    load: () =>
      withLaterTexts(import('./pages/webhooks/record/WebhookPage.tsx')).then(({ WebhookPage }) => ({
        default: WebhookPage,
      })),
    anyOf: ['webhook.read'],
    tag: 'webhooks',
    search: (given: Given) =>
      optional({
        tab: choiceIn(given, 'tab', ['deliveries', 'settings', 'secrets', 'activity']),
        state: choiceIn(given, 'state', ['waiting', 'sent', 'dead']),
        type: textIn(given, 'type', MAX_NAME),
        from: dayIn(given, 'from'),
        to: dayIn(given, 'to'),
        delivery: sequenceIn(given, 'delivery'),
        ...activity(given),
      }),
  },
  '/settings': {
    title: () => t.common.nav.settings,
    load: () => import('./pages/settings/Settings.tsx').then(({ Settings }) => ({ default: Settings })),
    anyOf: ['settings.read'],
    menuKey: 't',
    tag: 'settings',
    search: (given: Given) => optional({ q: textIn(given, 'q') }),
  },
  '/reference': {
    title: () => t.common.nav.reference,
    load: () => import('./pages/reference/Reference.tsx').then(({ Reference }) => ({ default: Reference })),
    anyOf: [],
    menuKey: 'd',
  },
  '/account': {
    title: () => t.common.nav.account,
    load: () => import('./pages/account/Account.tsx').then(({ Account }) => ({ default: Account })),
    anyOf: [],
    menuKey: 'i',
    tag: 'auth',
  },
} satisfies Record<RouterPath<AppPath>, Declared>;

export type PagePath = keyof typeof pages;

/** The pages that the menu has. */
export type MenuPath = {
  [P in PagePath]: (typeof pages)[P] extends { menuKey: string } ? P : never;
}[PagePath];

/** All pages, in the order of the menu. */
export const allPages: readonly Page[] = Object.entries(pages).map(([path, page]) => ({
  ...page,
  path: path as PagePath,
}));

/** The pages of the menu, in its order. */
export const menuPages = allPages.filter(
  (page): page is Page & { path: MenuPath; menuKey: string } => page.menuKey !== undefined,
);

/** Returns the page with this path, such as `/roles/$id` for `/roles/7`. */
export const pageAt = (path: string): Page | undefined =>
  allPages.find((page) => page.path === path) ??
  allPages.find((page) => new RegExp(`^${page.path.replace(/\$\w+/, '[^/]+')}$`).test(path));

/** Returns the page with this path, or the one that it is below. */
export const pageOf = (path: string): Page | undefined =>
  pageAt(path) ?? allPages.find((page) => path.startsWith(`${page.path}/`));
