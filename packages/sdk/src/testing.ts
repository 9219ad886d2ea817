// A stand-in for Castellan in the memory of a test: the real client and the real guard over a `fetch` that answers here.
import type { Operations } from './api.ts';
import { type BrowserClient, createClientIn } from './client.ts';
import { hostEnvironment } from './environment.ts';
import { checkRequirement, type Requirement } from './guard/requirement.ts';
import { createGuard, type Guard, type LiveOptions } from './guard.ts';
import type { Acr } from './levels.ts';
import { type Account, Accounts, shownName } from './testing/accounts.ts';
import { failure, type StandInAnswer, type StandInRequest, unauthenticated } from './testing/answers.ts';
import { contextOf } from './testing/contexts.ts';
import { Factors } from './testing/factors.ts';
import { feedRefusal, operations, ownAccountRefusal } from './testing/operations.ts';
import { toldFirst } from './testing/told-guard.ts';

export { type SampleEvent, type SignedEvent, signWebhook, TEST_WEBHOOK_SECRET } from './testing/webhooks.ts';

export type TestUser = {
  readonly id: string;
  /** As the service shows it: in lower case, an internationalized domain with its letters. */
  readonly email: string;
  readonly password: string;
  /**
   * Signs in and returns an access token, to be sent as `Authorization: Bearer …`. Default: the token of a sign-in now, with the
   * second factor if there is one. `authTime`: when the proof was made, in ms since 1970.
   */
  accessToken(proof?: { acr?: Acr; authTime?: number }): Promise<string>;
  /** Returns an access token of `actor`, who acts as this user. The guard names the actor as `actedBy`. */
  actingToken(actor: TestUser): Promise<string>;
  /** Returns a personal access token, to be sent as an access token. `permissions`: narrows it to some of the user's. */
  personalToken(of?: { permissions?: readonly string[] }): string;
  /**
   * Returns an access token that an application got for an API, to be sent as `Authorization: Bearer …` to a guard with this `audience`.
   * It may do what is in `scopes` and the user holds.
   */
  applicationToken(of: { clientId: string; audience: string; scopes: readonly string[] }): Promise<string>;
  /** Returns the code that the authenticator app shows; a code works once. Throws for a user without `factors: ['totp']`. */
  code(): string;
  /** Each replaces a code of the app once. Empty for a user without a factor. */
  readonly recoveryCodes: readonly string[];
  grant(...permissions: string[]): void;
  revoke(...permissions: string[]): void;
  /** Ends the session of one of the user's access tokens. */
  endSession(accessToken: string): void;
  /** As an administrator does: ends the personal access tokens too. */
  endSessions(): void;
  /** Ends the sessions too. */
  deactivate(): void;
};

export type TestProgram = {
  readonly id: string;
  readonly name: string;
  readonly apiKey: string;
  grant(...permissions: string[]): void;
  revoke(...permissions: string[]): void;
  deactivate(): void;
};

export type TestCastellan = {
  readonly baseUrl: string;
  /** Answers requests to `baseUrl`. Every call of a function made by `browserFetch` shares the cookies of one browser. */
  readonly fetch: typeof globalThis.fetch;
  browserFetch(): typeof globalThis.fetch;
  /** A guard that asks this stand-in. */
  readonly guard: Guard;
  /** Returns a guard that asks this stand-in and takes tokens of applications for this API, too. */
  guardFor(audience: string): Guard;
  /** Returns a guard that follows the changes of this stand-in. Close it at the end of the test. */
  liveGuard(live?: LiveOptions): Guard;
  /** Returns the client of a new browser. It shares nothing with other browsers. */
  browser(): BrowserClient;
  /** Adds a verified user. The default password is `TestPassword!47`. `factors`: what the second step of a sign-in asks for. */
  addUser(user: {
    email: string;
    password?: string;
    permissions?: readonly string[];
    factors?: readonly 'totp'[];
  }): TestUser;
  /** Makes a permission require a proof of people who use it; null ends that. */
  requireAuthentication(permission: string, requirement: Requirement | null): void;
  /** Returns the user who registered with this email, verified. */
  verify(email: string): TestUser;
  addProgram(program: { name: string; permissions?: readonly string[] }): TestProgram;
  /**
   * Makes every request fail with this status of an overloaded or broken service, or without an answer, until `recover`. Live guards
   * lose their streams.
   */
  fail(how: OutageStatus | 'no answer'): void;
  /** Makes the feed say nothing more to live guards, on connections that stay open, until `recover`. */
  silence(): void;
  recover(): void;
  /**
   * Answers an operation that the stand-in does not have, such as `GET /api/v1/roles/{role_id}`, for every caller with a live
   * token. Its status is 200.
   */
  on<O extends keyof Operations>(
    operation: O,
    answer: (request: CustomRequest) => Operations[O]['result'],
  ): void;
};

/** The statuses of outages, with their codes. */
const outages = { 429: 'rate_limited', 500: 'internal_error', 503: 'database_unavailable' } as const;
type OutageStatus = keyof typeof outages;

type CustomRequest = {
  /** The values of the placeholders of the path. */
  path: Readonly<Record<string, string>>;
  query: URLSearchParams;
  body: unknown;
};
type Custom = { pattern: RegExp; answer: (request: CustomRequest) => unknown };

/** Returns a stand-in without accounts. Passwords are not judged, mails are not sent, and there are no limits. */
export function createTestCastellan(): TestCastellan {
  const baseUrl = 'http://castellan.test';
  const accounts = new Accounts();
  const custom: Custom[] = [];
  let failing: OutageStatus | 'no answer' | undefined;

  async function answer(request: Request, cookies: Map<string, string>): Promise<Response> {
    if (failing === 'no answer') throw new TypeError('fetch failed');
    if (failing !== undefined) return toResponse(failure(failing, outages[failing], 'This is a test.'));
    const url = new URL(request.url);
    const operation = `${request.method} ${url.pathname}`;
    const body = await bodyOf(request);
    const standIn = requestOf(request, body, cookies);
    for (const { pattern, answer } of custom) {
      const match = pattern.exec(operation);
      if (!match) continue;
      const refused = accounts.inspect(standIn.bearer ?? '') ? undefined : unauthenticated(standIn.bearer);
      const path = Object.fromEntries(
        Object.entries(match.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]),
      );
      return toResponse(refused ?? { status: 200, body: answer({ path, query: url.searchParams, body }) });
    }
    if (operation === 'GET /api/v1/access/feed') {
      const refused = await feedRefusal(standIn, accounts, request.headers.get('accept') ?? '');
      return refused ? toResponse(refused) : accounts.feed.open(request.headers.get('last-event-id'));
    }
    const own = ownAccountRefusal(operation, standIn, accounts);
    if (own) return toResponse(own);
    const known = operations[operation];
    if (!known)
      return toResponse(
        failure(
          501,
          'not_implemented',
          `The stand-in has no ${operation}. Answer it with on(), or use a Castellan.`,
        ),
      );
    return toResponse(await known(standIn, accounts));
  }

  const browserFetch = (): typeof globalThis.fetch => {
    const cookies = new Map<string, string>();
    return async (input, init) => {
      const request = new Request(input, init);
      request.signal.throwIfAborted();
      return answer(request, cookies);
    };
  };

  const rights = (account: Account) => ({
    id: account.id,
    grant(...permissions: string[]) {
      accounts.change(account, () => {
        for (const one of permissions) account.permissions.add(one.toLowerCase());
      });
    },
    revoke(...permissions: string[]) {
      accounts.change(account, () => {
        for (const one of permissions) account.permissions.delete(one.toLowerCase());
      });
    },
    deactivate() {
      accounts.change(account, () => {
        account.isActive = false;
      });
      accounts.endSessions(account);
      accounts.endPersonalTokens(account);
    },
  });

  const testUser = (account: Account): TestUser => ({
    ...rights(account),
    email: shownName(account),
    password: account.password,
    async accessToken({ acr, authTime } = {}) {
      const level = acr ?? (account.factors ? 'aal2' : 'aal1');
      const isPlain = level === 'aal1' && authTime === undefined;
      return (await accounts.signIn(account, isPlain ? null : contextOf(level, authTime))).access;
    },
    async actingToken(actor) {
      const found = accounts.find('user', actor.id);
      if (!found || found === account)
        throw new Error('Only another user of this stand-in can act as this one.');
      return accounts.actAs(account, found);
    },
    personalToken: ({ permissions } = {}) => accounts.addPersonalToken(account, permissions),
    applicationToken: (of) => accounts.issueToApplication(account, of),
    code() {
      if (account.factors) return account.factors.code;
      throw new Error(`${account.name} has no authenticator app: pass factors: ['totp'] to addUser.`);
    },
    recoveryCodes: account.factors?.recoveryCodes ?? [],
    endSession(accessToken) {
      const found = accounts.inspectAny(accessToken);
      if (found?.account !== account || found.claims.sid === undefined)
        throw new Error(`This is no live access token of ${account.name}.`);
      accounts.endSession(found.claims.sid);
    },
    endSessions() {
      accounts.endSessions(account);
      accounts.endPersonalTokens(account);
    },
  });

  const addAccount = (
    type: Account['type'],
    name: string,
    permissions: readonly string[],
    own: Pick<Account, 'password' | 'factors'> = { password: '' },
  ): Account =>
    accounts.add({
      type,
      name,
      ...own,
      isVerified: true,
      firstName: 'Test',
      lastName: 'User',
      permissions: new Set(permissions.map((one) => one.toLowerCase())),
    });

  const fetch = browserFetch();
  const guardKey = accounts.addKey(
    addAccount('service_account', 'The guard of this test', [
      'token.introspect',
      'access.check',
      'access.watch',
    ]),
  );
  return {
    baseUrl,
    fetch,
    browserFetch,
    guard: createGuard({ baseUrl, apiKey: guardKey, fetch }),
    guardFor: (audience) => createGuard({ baseUrl, apiKey: guardKey, fetch, audience }),
    liveGuard: (live) =>
      toldFirst(createGuard({ baseUrl, apiKey: guardKey, fetch, live: live ?? true }), accounts.feed),
    browser: () =>
      createClientIn(hostEnvironment(false), { baseUrl, fetch: browserFetch(), retry: { attempts: 1 } }),
    addUser: ({ email, password = 'TestPassword!47', permissions = [], factors = [] }) =>
      testUser(
        addAccount('user', email, permissions, {
          password,
          factors: factors.includes('totp') ? new Factors() : undefined,
        }),
      ),
    requireAuthentication(permission, requirement) {
      if (requirement) checkRequirement(requirement);
      accounts.require(permission, requirement);
    },
    verify(email) {
      const account = accounts.find('user', email);
      if (!account) throw new Error(`Nobody has registered with ${email}.`);
      account.isVerified = true;
      return testUser(account);
    },
    addProgram({ name, permissions = [] }) {
      const account = addAccount('service_account', name, permissions);
      return { ...rights(account), name, apiKey: accounts.addKey(account) };
    },
    fail(how) {
      failing = how;
      accounts.feed.cut();
    },
    silence: () => accounts.feed.silence(),
    recover() {
      failing = undefined;
      accounts.feed.speak();
    },
    on(operation, answer) {
      custom.unshift({ pattern: patternOf(operation), answer });
    },
  };
}

/** Returns what matches the operation, with its placeholders as named groups. */
const patternOf = (operation: string): RegExp =>
  new RegExp(`^${operation.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);

async function bodyOf(request: Request): Promise<unknown> {
  const text = await request.text();
  if (text === '') return undefined;
  return request.headers.get('content-type')?.startsWith('application/x-www-form-urlencoded')
    ? Object.fromEntries(new URLSearchParams(text))
    : JSON.parse(text);
}

const requestOf = (request: Request, body: unknown, cookies: Map<string, string>): StandInRequest => ({
  bearer: /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1],
  body,
  cookies,
  csrfToken: request.headers.get('x-csrf-token'),
  prefer: request.headers.get('prefer'),
});

const toResponse = ({ status, body }: StandInAnswer): Response =>
  body === undefined ? new Response(null, { status }) : Response.json(body, { status });
