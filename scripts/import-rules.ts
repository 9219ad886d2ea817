// The table of which file may import which. `npm run gen` writes it as rules of the linter (biome.imports.json).
// Each row names what is allowed; everything else is refused.

/** `face`: the public files of a module, by default `service.ts`. `routesSee`: those of them that routes may import. */
export type Modules = Record<string, { uses: string[]; face?: string[]; routesSee?: string[] }>;

/**
 * The server's modules, from the bottom up. A module uses only modules above it in this list, so no two import each
 * other. `uses` names modules, whose public files (`face`) may be imported, or single further files of a module. A folder
 * inside a module has a row below it: its module may import all of it.
 */
export const modules: Modules = {
  audit: { uses: [] },
  'audit/sinks': { uses: [] },
  sessions: { uses: ['audit'] },
  'sessions/browser': {
    uses: [
      'sessions/key-ring.ts',
      'sessions/revoked-keys.ts',
      'sessions/store.ts',
      'sessions/token-lookup.ts',
      'sessions/tokens.ts',
    ],
  },
  'api-keys': { uses: ['audit'] },
  devices: { uses: [] },
  lockout: { uses: ['audit', 'devices'] },
  passwords: { uses: ['audit', 'sessions'] },
  factors: { uses: ['audit', 'devices', 'sessions', 'passwords'] },
  'factors/passkeys': { uses: ['audit', 'factors/attempts-store.ts', 'factors/checks.ts'] },
  authz: {
    uses: ['audit', 'sessions', 'sessions/token-lookup.ts', 'api-keys', 'factors'],
    face: [
      'access-fields.ts',
      'caller.ts',
      'change.ts',
      'delegation.ts',
      'effective.ts',
      'decision.ts',
      'impact/impact.ts',
      'impact/preview.ts',
      'requirement.ts',
      'requirements/account.ts',
      'requirements/call.ts',
      'requirements/changing.ts',
      'requirements/told.ts',
      'requirements/preview.ts',
      'requirements/standing.ts',
      'scope.ts',
      'subjects.ts',
      'graph/graph.ts',
      'graph/needs.ts',
      'guard/authentication.ts',
      'guard/access-limit.ts',
      'unchanged-lists.ts',
    ],
    routesSee: ['access-fields.ts', 'caller.ts', 'unchanged-lists.ts'],
  },
  assignments: { uses: ['authz'], face: ['service.ts', 'unattended.ts'], routesSee: [] },
  'authz/graph': { uses: [] },
  'authz/requirements': { uses: ['audit', 'factors', 'authz'] },
  'authz/impact': { uses: ['audit', 'authz'] },
  'authz/guard': {
    uses: ['audit', 'sessions', 'sessions/token-lookup.ts', 'api-keys', 'factors', 'authz'],
  },
  'group-trees': { uses: ['authz'] },
  permissions: { uses: ['factors', 'authz'], face: ['service.ts', 'presentation.ts'] },
  'permission-groups': { uses: ['authz', 'group-trees', 'permissions'] },
  roles: { uses: ['factors', 'authz', 'permissions'] },
  'role-groups': { uses: ['authz', 'group-trees', 'roles'] },
  users: {
    uses: [
      'audit',
      'sessions',
      'lockout',
      'passwords',
      'factors',
      'authz',
      'assignments',
      'permission-groups',
      'roles',
    ],
  },
  'users/lists': { uses: ['authz', 'users', 'users/presentation.ts', 'users/search.ts'] },
  'users/changes': {
    uses: [
      'sessions',
      'lockout',
      'passwords',
      'factors',
      'authz',
      'assignments',
      'users',
      'users/names.ts',
      'users/presentation.ts',
      'users/protection.ts',
      'users/store.ts',
    ],
  },
  'users/second-factors': {
    uses: [
      'audit',
      'devices',
      'sessions',
      'factors',
      'authz',
      'users',
      'users/protection.ts',
      'users/superuser-store.ts',
      'users/changes/administration.ts',
      'users/changes/change-store.ts',
      'users/store.ts',
    ],
  },
  'users/sessions': {
    uses: [
      'sessions',
      'lockout',
      'factors',
      'authz',
      'users',
      'users/presentation.ts',
      'users/protection.ts',
      'users/search.ts',
      'users/store.ts',
      'users/changes/administration.ts',
      'users/changes/change-input.ts',
      'users/changes/change-store.ts',
      'users/changes/roles.ts',
      'users/lists/list-store.ts',
    ],
  },
  'required-providers': { uses: [] },
  auth: {
    uses: [
      'required-providers',
      'audit',
      'sessions',
      'sessions/browser/cookie.ts',
      'sessions/refresh.ts',
      'sessions/tokens.ts',
      'devices',
      'lockout',
      'passwords',
      'factors',
      'authz',
      'assignments',
      'users',
    ],
  },
  'auth/devices': {
    uses: [
      'audit',
      'sessions',
      'sessions/browser/cookie.ts',
      'sessions/tokens.ts',
      'devices',
      'passwords',
      'authz',
      'users',
      'auth/mail-language.ts',
      'auth/mails.ts',
      'auth/refresh-cookie.ts',
      'auth/warn.ts',
    ],
  },
  'auth/second-factors': {
    uses: [
      'audit',
      'sessions',
      'sessions/browser/cookie.ts',
      'devices',
      'passwords',
      'factors',
      'authz',
      'users',
      'devices',
      'auth/abuse.ts',
      'auth/devices/begin-session.ts',
      'auth/devices/cookie.ts',
      'auth/login.ts',
      'auth/mail-language.ts',
      'auth/one-time-tokens.ts',
      'auth/password-change.ts',
      'auth/refresh-cookie.ts',
      'auth/warn.ts',
    ],
  },
  'auth/second-factors/passkeys': {
    uses: [
      'audit',
      'sessions',
      'sessions/browser/cookie.ts',
      'devices',
      'passwords',
      'factors',
      'authz',
      'users',
      'devices',
      'auth/abuse.ts',
      'auth/devices/begin-session.ts',
      'auth/devices/cookie.ts',
      'auth/login.ts',
      'auth/mail-language.ts',
      'auth/one-time-tokens.ts',
      'auth/password-change.ts',
      'auth/refresh-cookie.ts',
      'auth/warn.ts',
      'auth/second-factors/changes.ts',
      'auth/second-factors/deps.ts',
      'auth/second-factors/proofs.ts',
      'auth/second-factors/route-deps.ts',
      'auth/second-factors/tokens.ts',
    ],
  },
  'auth/mails': { uses: [] },
  'service-accounts': { uses: ['authz', 'assignments'] },
  openid: {
    uses: [],
    face: ['id-token-hint.ts', 'plain-page.ts', 'session-sid.ts', 'subjects.ts', 'told-applications.ts'],
    routesSee: ['plain-page.ts'],
  },
  'application-grants': {
    uses: ['audit', 'authz', 'users/protection.ts', 'openid/told-applications.ts'],
    face: ['preview.ts'],
  },
  applications: {
    uses: [
      'audit',
      'api-keys/use-notes.ts',
      'api-keys/wrong-key-limit.ts',
      'authz',
      'sessions/key-ring.ts',
      'application-grants',
    ],
    face: ['service.ts', 'authentication.ts', 'allowed-origins.ts'],
  },
  proofs: { uses: ['applications', 'applications/key-set.ts'] },
  'api-resources': { uses: ['authz'] },
  'identity-providers': { uses: ['audit', 'sessions', 'authz'], face: ['store.ts', 'vault.ts'] },
  'identity-providers/upstream': {
    uses: [],
    face: ['assertion.ts', 'check.ts', 'exchange.ts', 'logout-token.ts', 'sending.ts', 'upstreams.ts'],
    routesSee: [],
  },
  'openid/claims': { uses: ['sessions/key-ring.ts', 'applications', 'authz', 'openid'] },
  'openid/interactions': { uses: [], face: ['service.ts', 'waiting.ts'] },
  'openid/authorize': {
    uses: [
      'audit',
      'sessions',
      'sessions/browser/cookie.ts',
      'sessions/browser/presentation.ts',
      'sessions/browser/session.ts',
      'sessions/key-ring.ts',
      'factors',
      'applications',
      'proofs',
      'authz',
      'openid',
      'openid/claims',
      'openid/interactions',
    ],
  },
  'openid/tokens': {
    uses: ['audit', 'sessions/key-ring.ts', 'applications', 'proofs', 'authz', 'openid', 'openid/claims'],
  },
  'openid/device': {
    uses: [
      'audit',
      'sessions',
      'sessions/browser/cookie.ts',
      'sessions/browser/presentation.ts',
      'sessions/browser/session.ts',
      'applications',
      'proofs',
      'authz',
      'openid',
      'openid/interactions',
      'openid/authorize/decision.ts',
      'openid/authorize/deps.ts',
      'openid/authorize/interactions.ts',
      'openid/authorize/request.ts',
      'openid/authorize/store.ts',
      'openid/tokens',
      'openid/tokens/exchange.ts',
      'openid/tokens/standing.ts',
      'openid/tokens/store.ts',
    ],
  },
  'openid/notices': {
    uses: [
      'audit',
      'sessions/key-ring.ts',
      'applications',
      'authz',
      'openid',
      'openid/claims',
      'openid/tokens/signed-jwt.ts',
    ],
  },
  'openid/sign-out': {
    uses: [
      'audit',
      'sessions',
      'sessions/browser/cookie.ts',
      'sessions/browser/presentation.ts',
      'sessions/browser/session.ts',
      'sessions/key-ring.ts',
      'auth/refresh-cookie.ts',
      'openid',
      'openid/authorize/deps.ts',
      'openid/interactions',
    ],
  },
  access: { uses: ['authz'] },
  forward: { uses: ['factors', 'authz'] },
  requirements: { uses: ['authz'] },
  oauth: {
    uses: [
      'audit',
      'sessions',
      'sessions/key-ring.ts',
      'sessions/token-lookup.ts',
      'sessions/token-revocation.ts',
      'sessions/tokens.ts',
      'api-keys',
      'authz',
      'applications',
      'openid/authorize/pushed.ts',
      'openid/claims',
      'openid/device',
      'openid/tokens',
      'proofs',
    ],
  },
  identities: {
    uses: [
      'audit',
      'sessions',
      'sessions/browser/cookie.ts',
      'passwords',
      'factors',
      'authz',
      'users/changes/change-store.ts',
      'users/protection.ts',
      'users/store.ts',
      'required-providers',
      'auth/mails.ts',
      'auth/refresh-cookie.ts',
      'auth/warn.ts',
      'identity-providers',
      'identity-providers/upstream',
      'oauth/error-shape.ts',
    ],
  },
  'access-changes': {
    uses: [
      'authz',
      'assignments',
      'roles/deletion.ts',
      'roles/permission-plans.ts',
      'service-accounts/role-changes.ts',
      'users/changes/change-plans.ts',
      'users/changes/changes.ts',
    ],
  },
  dashboard: { uses: ['authz'] },
  health: { uses: ['sessions/key-ring.ts'] },
  console: { uses: [] },
  settings: { uses: [] },
  seed: { uses: ['audit', 'sessions/key-ring.ts', 'assignments/unattended.ts'] },
  transfer: { uses: ['audit', 'assignments/unattended.ts', 'users/lists/page-marks.ts', 'users/names.ts'] },
  demo: {
    uses: ['audit', 'passwords', 'factors', 'assignments/unattended.ts', 'seed', 'users/lists/page-marks.ts'],
  },
  backup: { uses: ['audit'] },
};

/** The folders of platform/, from the bottom up, and the folders that each may use. */
export const platform: Record<string, string[]> = {
  '.': [],
  logging: ['.'],
  config: ['.'],
  jobs: ['.', 'logging'],
  limits: ['.'],
  'security/password-hashes': [],
  security: ['.', 'security/password-hashes'],
  'security/factors': ['.', 'security'],
  delivery: [],
  outbound: ['.', 'security'],
  mail: ['.', 'logging', 'delivery'],
  db: ['.', 'logging'],
  tracing: ['.', 'logging', 'db'],
  http: ['.', 'limits', 'security', 'db'],
  'http/bodies': ['.', 'http'],
  'http/answers': ['.', 'logging', 'limits', 'security', 'db', 'http', 'http/bodies'],
  'http/connections': ['.', 'logging', 'http', 'http/answers'],
  'http/server': [
    '.',
    'logging',
    'limits',
    'security',
    'db',
    'tracing',
    'http',
    'http/bodies',
    'http/answers',
    'http/connections',
  ],
  'http/plugins': [
    '.',
    'logging',
    'limits',
    'security',
    'db',
    'http',
    'http/bodies',
    'http/answers',
    'http/server',
  ],
  metrics: ['.', 'logging', 'db', 'http', 'http/server'],
};

/** The parts of the contract that platform/ may import: the shape of answers, but no record. */
export const contractOfPlatform = ['envelope', 'errors', 'permissions', 'common', 'etags', 'examples'];

const forTests = ['@castellan/testing/**', '@castellan/hardening/**', '@castellan/embedded-postgres/testing'];

/** What no file of the server may import. */
export const aboveServer = [...forTests, '@castellan/cli/**'];

/** `files`: globs of the files; `refused`: what they must not import; `message`: why. */
export type Row = { files: string[]; refused: string[]; message: string };

/** What no client of the service may import. */
const ofServer = ['@castellan/server/**', '@castellan/cli/**', '**/server/**', '**/cli/**', ...forTests];

/** The parts of the console, from the bottom up. Each row also refuses what every client is refused. */
const consoleRows = (rows: readonly Row[]): Row[] =>
  rows.map(({ files, refused, message }) => ({
    files,
    refused: [...refused, ...ofServer],
    message: `${message} A client of the service imports only its contract.`,
  }));
const ofPages =
  'A page imports no other page and no part of the shell: what two pages need is in components/ or data/.';

/** In the app of the console, only data/ knows the client: its functions wait for a sign-in or a step-up, and repeat the request. */
const theClient = '**/common/client.ts';
const overData = 'Requests go through data/api.ts, signing in and out through data/auth.ts.';

/** All other rules. A later row replaces an earlier one. */
export const others: Row[] = [
  {
    files: ['packages/contract/src/**'],
    refused: ['@castellan/**', '../../**', 'node:*'],
    message: 'The contract is used by servers and browsers: it imports nothing but typebox.',
  },
  {
    files: ['packages/embedded-postgres/src/**'],
    refused: ['@castellan/**', '../../**'],
    message: 'The embedded PostgreSQL is independent: it imports no other package of the project.',
  },
  {
    files: ['packages/openapi/src/**'],
    refused: ['@castellan/**', '../../**', 'fastify', '@fastify/**'],
    message: 'The OpenAPI builder knows no service: it receives everything specific as conventions.',
  },
  {
    files: ['packages/testing/src/**'],
    refused: ['@castellan/cli/**', '@castellan/hardening/**', '../../**'],
    message: 'Tests of every package use the harness: it imports the service and its parts, but no test.',
  },
  {
    files: ['packages/server/src/schema/**'],
    refused: ['../**', ...aboveServer],
    message: 'schema/ describes the database: it imports nothing else of the server.',
  },
  {
    files: ['packages/sdk/src/**', 'packages/console/src/**'],
    refused: ofServer,
    message: 'A client of the service imports only its contract.',
  },
  ...consoleRows([
    {
      files: ['packages/console/src/common/**'],
      refused: ['**/app/**', '**/auth/**'],
      message: 'common/ is used by both parts of the console: it imports neither.',
    },
    {
      files: ['packages/console/src/auth/**'],
      refused: ['**/app/**'],
      message: 'The pages of people who are not signed in import nothing of the app.',
    },
    {
      files: ['packages/console/src/app/*'],
      refused: [theClient],
      message: overData,
    },
    {
      files: ['packages/console/src/app/{data,messages}/**'],
      refused: ['**/{components,pages,shell}/**'],
      message:
        'data/ and messages/ render nothing: they import no component, no page and no part of the shell.',
    },
    {
      files: ['packages/console/src/app/components/**'],
      refused: ['**/{pages,shell}/**', theClient],
      message: `Components are used by every page: they import no page and no part of the shell. ${overData}`,
    },
    {
      files: ['packages/console/src/app/shell/**'],
      refused: ['**/pages/**', theClient],
      message: `The shell is the frame of every page: it imports none. ${overData}`,
    },
    {
      files: ['packages/console/src/app/pages/*/*'],
      refused: ['../*/**', '!../../**', '**/{pages,shell}/**', theClient],
      message: `${ofPages} ${overData}`,
    },
    {
      files: ['packages/console/src/app/pages/*/*/**'],
      refused: ['../../*/**', '!../../../**', '**/{pages,shell}/**', theClient],
      message: `${ofPages} ${overData}`,
    },
  ]),
  {
    files: ['packages/cli/src/**'],
    refused: forTests,
    message: 'Production code imports nothing that exists for tests.',
  },
  {
    files: [
      'packages/cli/src/{main,program,command,commands,completion}.ts',
      'packages/cli/src/{api,commands,input}/**',
    ],
    refused: ['@castellan/server/**', '**/server/**', ...forTests],
    message: 'Help and usage errors must not load the server: import it in the file of the command.',
  },
];
