// The client of the HTTP API, for browsers and for programs.

import { createBrowserSender } from './calls/browser.ts';
import { type AnyInput, callOf, readBaseUrl, readTimeout } from './calls/call.ts';
import { type Credential, createMachineSender } from './calls/machine.ts';
import type {
  Arguments,
  Method,
  Operation,
  OperationOf,
  PathOf,
  PreviewInputOf,
  PreviewOf,
  PreviewOperation,
  ResultOf,
} from './calls/operations.ts';
import { type ItemOf, type ListPath, type Page, readPages } from './calls/pages.ts';
import type { Answer, RetryOptions, Send, Settings } from './calls/transport.ts';
import { type Environment, hostEnvironment } from './environment.ts';
import { type Auth, createAuth } from './session/auth.ts';
import type { Ceremonies } from './session/ceremonies.ts';
import { createServiceFetch, readOrigins } from './session/service-fetch.ts';
import { createStepUps, type OnStepUp } from './session/step-ups.ts';

type Options = {
  /**
   * Where the service is, such as `https://accounts.example.com` or `https://example.com/accounts`.
   */
  baseUrl: string;
  /** The time that one attempt may take. Default: 10,000 ms. `Infinity` for no limit. */
  timeoutMs?: number | undefined;
  /**
   * How often a call is repeated, and how long it waits. 429 is repeated for every method; 503 for GET, PUT, DELETE and
   * requests with an Idempotency-Key; network errors for GET and requests with an
   * Idempotency-Key, except those that return an API key, which only their first response has. 429 and 503 are
   * repeated only with `Retry-After`. Timeouts are not repeated.
   */
  retry?: RetryOptions | undefined;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
};

/** For web pages. The browser keeps the refresh cookie; Node.js keeps no cookies, so a server needs `MachineOptions`. */
export type BrowserOptions = Options & {
  apiKey?: undefined;
  accessToken?: undefined;
  /** Origins of your services that `auth.fetch` may send the access token to, besides that of the page. */
  services?: readonly string[];
  /**
   * Is called when a request needs a stronger or newer proof of who the person is, once for all requests that wait. Let them prove it
   * with `auth.stepUp` and return true: the requests are repeated once. With false they end with their refusal. A request that needs
   * a step-up itself must not be awaited in it.
   */
  onStepUp?: OnStepUp | undefined;
  /** `passkeys` of `@castellan/sdk/passkeys`, for `auth.signInWithPasskey` and `auth.factors.passkeys`. */
  passkeys?: Ceremonies | undefined;
};

/** For programs: one credential of a service account, sent as a bearer token. No cookies, no CSRF token, no refresh. */
export type MachineOptions = Options & {
  services?: undefined;
  onStepUp?: undefined;
  passkeys?: undefined;
} & (
    | { apiKey: string; accessToken?: undefined }
    | {
        /** A function is called for each request, so that it can replace a token that expires. */
        accessToken: Credential;
        apiKey?: undefined;
      }
  );

type Calls<M extends Method> = {
  <P extends PathOf<M>>(path: P, ...args: Arguments<OperationOf<M, P>>): Promise<ResultOf<OperationOf<M, P>>>;
  /** With `dry_run`, nothing changes and the result is a preview. */
  <P extends PathOf<M>, O extends PreviewOperation & OperationOf<M, P>>(
    path: P,
    input: PreviewInputOf<O>,
  ): Promise<PreviewOf<O>>;
};

/**
 * Calls operations of the API. A call rejects with a `CastellanError`, with the reason of its signal, or with a TypeError
 * if its input is not allowed.
 */
export type Client = {
  get: Calls<'GET'>;
  post: Calls<'POST'>;
  put: Calls<'PUT'>;
  patch: Calls<'PATCH'>;
  delete: Calls<'DELETE'>;
  /** Resolves with the headers along with the result, such as the `etag` for a later `if-match`. */
  request<O extends Operation>(operation: O, ...args: Arguments<O>): Promise<Answer<ResultOf<O>>>;
  request<O extends PreviewOperation>(operation: O, input: PreviewInputOf<O>): Promise<Answer<PreviewOf<O>>>;
  /** Reads a list page by page, from `query.page` or `query.cursor` on. */
  pages<P extends ListPath>(
    path: P,
    ...args: Arguments<OperationOf<'GET', P>>
  ): AsyncGenerator<Page<ItemOf<P>>, void, undefined>;
  /** Reads the elements of a list, fetching pages as needed. */
  items<P extends ListPath>(
    path: P,
    ...args: Arguments<OperationOf<'GET', P>>
  ): AsyncGenerator<ItemOf<P>, void, undefined>;
};

export type BrowserClient = Client & {
  auth: Auth;
  /** Stops listening to other tabs. Call it when you discard the client before its page. */
  close(): void;
};

/**
 * Returns a client. Throws a TypeError if an option is not valid.
 *
 * With `apiKey` or `accessToken` it acts as that service account. Without, it acts as the person at the browser: the
 * access token stays in memory, the refresh token in an HttpOnly cookie.
 */
export function createClient(options: MachineOptions): Client;
export function createClient(options: BrowserOptions): BrowserClient;
export function createClient(options: BrowserOptions | MachineOptions): Client | BrowserClient {
  return createClientIn(hostEnvironment(credentialOf(options) === undefined), options);
}

const credentialOf = ({ apiKey, accessToken }: BrowserOptions | MachineOptions): Credential | undefined =>
  apiKey ?? accessToken;

/** For tests: like `createClient`, on another host. */
export function createClientIn(host: Environment, options: MachineOptions): Client;
export function createClientIn(host: Environment, options: BrowserOptions): BrowserClient;
export function createClientIn(
  host: Environment,
  options: BrowserOptions | MachineOptions,
): Client | BrowserClient;
export function createClientIn(
  host: Environment,
  options: BrowserOptions | MachineOptions,
): Client | BrowserClient {
  const environment = { ...host, fetch: options.fetch ?? host.fetch };
  const settings = readSettings(options);
  const credential = credentialOf(options);
  if (credential !== undefined)
    return clientOf(settings, createMachineSender(environment, settings, credential));
  const origins = readOrigins(options.services ?? []);
  const stepUps = createStepUps(options.onStepUp);
  const { session, send } = createBrowserSender(environment, settings, stepUps);
  const client = clientOf(settings, send);
  const auth = createAuth(session, {
    run: async (operation: string, input?: AnyInput) =>
      dataIn(await send(callOf(settings, operation, input))),
    fetch: createServiceFetch(environment, { session, stepUps }, origins),
    passkeys: options.passkeys,
  });
  return { ...client, auth, close: () => session.close() };
}

function readSettings({ baseUrl, timeoutMs = 10_000, retry = {} }: Options): Settings {
  const { attempts = 3, maxWaitMs = 30_000 } = retry;
  if (!Number.isInteger(attempts) || attempts < 1)
    throw new TypeError('retry.attempts must be an integer of 1 or more.');
  if (typeof maxWaitMs !== 'number' || !(maxWaitMs >= 0))
    throw new TypeError('retry.maxWaitMs must be 0 or more.');
  return { baseUrl: readBaseUrl(baseUrl), timeoutMs: readTimeout(timeoutMs), attempts, maxWaitMs };
}

const dataIn = ({ result }: Answer): never => (result as { data: never }).data;

function clientOf(settings: Settings, sendCall: Send): Client {
  // The service promises the result of each operation, and nothing else could give it its type.
  const request = async (operation: string, input?: AnyInput): Promise<Answer<never>> =>
    sendCall(callOf(settings, operation, input)) as Promise<Answer<never>>;
  const resultOf = (method: Method) => async (path: string, input?: AnyInput) =>
    (await request(`${method} ${path}`, input)).result;
  const get = resultOf('GET');
  const pages = (path: string, input: AnyInput = {}) => readPages((page) => get(path, page), input);
  return {
    get,
    post: resultOf('POST'),
    put: resultOf('PUT'),
    patch: resultOf('PATCH'),
    delete: resultOf('DELETE'),
    request,
    pages,
    async *items(path: string, input?: AnyInput) {
      for await (const { items } of pages(path, input)) yield* items;
    },
  };
}
