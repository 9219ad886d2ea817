// A service in memory, and hosts on which clients of it run: single ones, and tabs of one browser.
// It knows only what the client's tests need: sessions, CSRF tokens and prepared responses.
import { createClientIn } from '../src/client.ts';
import type { Environment } from '../src/environment.ts';

export const BASE_URL = 'https://accounts.example.com';
export const USER = { email: 'ada@example.com', password: 'Vexing#Quartz82Lime' };

type Seen = {
  method: string;
  path: string;
  search: string;
  headers: Headers;
  body: string;
  init: RequestInit;
};
type Respond = (request: Seen) => Response | Promise<Response>;

export type FakeService = ReturnType<typeof createService>;

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });

export const refusal = (
  status: number,
  code: string,
  headers: Record<string, string> = {},
  more: Record<string, unknown> = {},
): Response =>
  json(
    status,
    { detail: `text of ${code}`, code, request_id: 'r-1', ...more },
    {
      'x-request-id': 'r-1',
      ...headers,
    },
  );

/** Rejects when the signal aborts, and never before. */
export const hang = (signal: AbortSignal | null | undefined): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Lets a test hold a response back until it calls `open`. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

export function createService() {
  const requests: Seen[] = [];
  const prepared = new Map<string, Respond[]>();
  const liveTokens = new Set<string>();
  let serial = 0;
  let csrfToken = '';
  let subject = 'u-1';
  /** The refresh cookie of the browser, which scripts cannot see. */
  let hasRefreshCookie = false;

  const issueToken = (claims: { sub?: string; iat?: number } = {}): string => {
    serial += 1;
    const token = `head.${btoa(JSON.stringify({ sub: subject, iat: serial, n: serial, ...claims }))}.sign`;
    liveTokens.add(token);
    return token;
  };
  const newSession = () => {
    hasRefreshCookie = true;
    return json(200, {
      data: { access_token: issueToken(), refresh_token: 'refresh', user: { id: subject } },
      message: '',
    });
  };
  const routes: Record<string, Respond> = {
    'GET /api/v1/auth/csrf-token': () => {
      serial += 1;
      csrfToken = `csrf-${serial}`;
      return json(200, { data: { csrf_token: csrfToken }, message: '' });
    },
    'POST /api/v1/auth/login': newSession,
    'POST /api/v1/auth/change_password': newSession,
    'POST /api/v1/auth/new_access_token': () =>
      hasRefreshCookie
        ? json(200, { data: { access_token: issueToken(), token_type: 'bearer' }, message: '' })
        : refusal(401, 'refresh_token_invalid'),
    'POST /api/v1/auth/logout': () => {
      service.endSession();
      return json(200, { message: '' });
    },
  };
  const isOpen = (path: string) =>
    /\/auth\/(csrf-token|login|new_access_token|register|password-policy)$/.test(path);

  function answer(seen: Seen): Response | Promise<Response> {
    const operation = `${seen.method} ${seen.path}`;
    const first = prepared.get(operation)?.shift();
    if (first) return first(seen);
    const authorization = seen.headers.get('authorization') ?? '';
    const isMachine = authorization.startsWith('Bearer castellan_') || seen.path.includes('/oauth/');
    if (!isMachine && seen.method !== 'GET' && seen.headers.get('x-csrf-token') !== csrfToken)
      return refusal(403, 'csrf_invalid');
    if (!isMachine && !isOpen(seen.path) && !liveTokens.has(authorization.replace('Bearer ', '')))
      return refusal(401, 'token_expired');
    return routes[operation]?.(seen) ?? json(200, { data: { echo: seen.body }, message: 'done' });
  }

  const service = {
    requests,
    fetch: async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
      const url = new URL(String(input));
      const seen: Seen = {
        method: init.method ?? 'GET',
        path: url.pathname,
        search: url.search,
        headers: new Headers(init.headers),
        body: typeof init.body === 'string' ? init.body : '',
        init,
      };
      requests.push(seen);
      // A round trip, so that parallel requests overlap.
      await new Promise((resolve) => setImmediate(resolve));
      return answer(seen);
    },
    /** Answers the next requests of an operation in this order. */
    next: (operation: string, ...responses: Respond[]) =>
      void prepared.set(operation, [...(prepared.get(operation) ?? []), ...responses]),
    always: (operation: string, respond: Respond) => {
      routes[operation] = respond;
    },
    /** Drops the responses of `next` that were not used. */
    clear: (operation: string) => void prepared.delete(operation),
    count: (operation: string) => requests.filter((one) => `${one.method} ${one.path}` === operation).length,
    expireTokens: () => liveTokens.clear(),
    endSession: () => {
      hasRefreshCookie = false;
      liveTokens.clear();
    },
    replaceCsrf: () => {
      csrfToken = 'of another browser';
    },
    signInAs: (id: string) => {
      subject = id;
    },
    issueToken,
  };
  return service;
}

export const REFRESH = 'POST /api/v1/auth/new_access_token';
export const CSRF = 'GET /api/v1/auth/csrf-token';
export const ME = 'GET /api/v1/users/me';

/** A clock that runs only while somebody sleeps. */
function createTime() {
  const sleeps: number[] = [];
  let nowMs = Date.UTC(2030, 0, 1);
  return {
    sleeps,
    now: () => nowMs,
    sleep: async (ms: number, signal?: AbortSignal): Promise<void> => {
      signal?.throwIfAborted();
      sleeps.push(ms);
      nowMs += ms;
    },
  };
}

export function createStorage(): NonNullable<Environment['storage']> & { values: Map<string, string> } {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (name) => values.get(name) ?? null,
    setItem: (name, value) => void values.set(name, value),
    removeItem: (name) => void values.delete(name),
  };
}

/** A host without other tabs. */
export function createHost(service: FakeService): Environment & { sleeps: number[] } {
  return {
    fetch: service.fetch,
    random: () => 0,
    storage: null,
    tabStorage: null,
    locks: null,
    openChannel: null,
    ...createTime(),
  };
}

/** Returns a browser client on a host of its own. */
export function createTab(service: FakeService, host: Environment = createHost(service)) {
  return createClientIn(host, { baseUrl: BASE_URL });
}

export async function signedInTab(service: FakeService, host: Environment = createHost(service)) {
  const tab = createTab(service, host);
  await tab.auth.signIn(USER);
  return tab;
}

export const machine = (service: FakeService, options: { attempts?: number } = {}) => {
  const host = createHost(service);
  const client = createClientIn(host, { baseUrl: BASE_URL, apiKey: 'castellan_key', retry: options });
  return { client, host };
};
