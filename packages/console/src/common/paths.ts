// The addresses of the pages. The service serves the light entry at the first list and the app at the second.
// It must not import anything: the build and the service read it, too.

/** Pages of people who are not signed in. `/` leads on to the app or to the sign-in page. */
export const authPaths: readonly string[] = [
  '/',
  '/login',
  '/register',
  '/check-email',
  '/verify-email',
  '/forgot',
  '/reset',
  '/invitation',
  '/confirm-email',
  '/undo-email',
  '/undo-deletion',
  '/consent',
  '/device',
  '/sign-out',
  '/provider',
];

const paths = [
  '/overview',
  '/account',
  '/users',
  '/users/new',
  '/user-attributes',
  '/roles',
  '/roles/:id',
  '/matrix',
  '/role-groups',
  '/permissions',
  '/access',
  '/sessions',
  '/audit',
  '/service-accounts',
  '/applications',
  '/applications/new',
  '/applications/:id',
  '/api-resources',
  '/identity-providers',
  '/identity-providers/new',
  '/identity-providers/:id',
  '/webhooks',
  '/webhooks/new',
  '/webhooks/:id',
  '/settings',
  '/reference',
] as const;

/** Pages of the app. A segment that begins with a colon stands for any text. `src/app/pages.ts` declares what each is. */
export const appPaths: readonly string[] = paths;
export type AppPath = (typeof paths)[number];
