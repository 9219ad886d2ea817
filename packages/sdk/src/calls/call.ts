// Turns an operation and its input into a call: its URL, headers and body, and whether it may be repeated.
// It must not add credentials.
import { pageAddress, randomId } from '../environment.ts';
import { acceptsIdempotencyKey, isExport, isTokenService, mayBeEmpty, returnsKeyOnce } from './operations.ts';

/** The input of any operation. `InputOf` has its exact type. */
export type AnyInput = {
  path?: object | undefined;
  query?: object | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
  timeoutMs?: number | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  idempotencyKey?: string | undefined;
};

export type Call = {
  method: string;
  /** The path of the operation, with its placeholders. */
  path: string;
  url: string;
  headers: Headers;
  body: string | null;
  /** Whether the caller sends credentials of its own. */
  isAuthenticated: boolean;
  result: 'json' | 'json or nothing' | 'stream';
  /** May be repeated after 503, because a second execution changes nothing more. */
  isIdempotent: boolean;
  /** May be repeated although nobody knows whether the service carried it out, and has the same result. */
  isRepeatable: boolean;
  signal: AbortSignal | undefined;
  timeoutMs: number;
};

/** Returns the URL without a slash at the end. A page may give a path of its own origin. Throws a TypeError unless it is an HTTP URL without credentials. */
export function readBaseUrl(text: string): string {
  const url = new URL(text, pageAddress()?.origin);
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new TypeError('baseUrl must be an http or https URL without credentials, query and fragment.');
  return url.origin + url.pathname.replace(/\/+$/, '');
}

/** Throws a TypeError unless it is a number above 0. */
export function readTimeout(timeoutMs: number): number {
  if (typeof timeoutMs === 'number' && timeoutMs > 0) return timeoutMs;
  throw new TypeError('timeoutMs must be above 0, or Infinity.');
}

/** Throws a TypeError if a path parameter is missing or could leave its segment, or a header or timeout is not allowed. */
export function callOf(
  { baseUrl, timeoutMs }: { baseUrl: string; timeoutMs: number },
  operation: string,
  input: AnyInput = {},
): Call {
  const space = operation.indexOf(' ');
  const [method, path] = [operation.slice(0, space), operation.slice(space + 1)];
  const headers = readHeaders(input.headers);
  const body = bodyOf(path, input.body, headers);
  if (!isExport(path) && !headers.has('accept')) headers.set('accept', 'application/json');
  const isKeyed = acceptsIdempotencyKey(operation);
  if (isKeyed)
    headers.set('idempotency-key', input.idempotencyKey ?? headers.get('idempotency-key') ?? randomId());
  return {
    method,
    path,
    url: urlOf(baseUrl, path, input),
    headers,
    body,
    isAuthenticated: headers.has('authorization') || hasClientSecret(path, body),
    result: isExport(path) ? 'stream' : mayBeEmpty(path) ? 'json or nothing' : 'json',
    isIdempotent: isKeyed || method !== 'POST',
    isRepeatable: (isKeyed && !returnsKeyOnce(path)) || method === 'GET',
    signal: input.signal,
    timeoutMs: readTimeout(input.timeoutMs ?? timeoutMs),
  };
}

/** Names the header in its error, never the value, which may be a secret. */
function readHeaders(entries: Readonly<Record<string, string>> = {}): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(entries)) {
    if (!/^[\w-]+$/.test(name) || !/^[\x20-\x7e]*$/.test(value))
      throw new TypeError(`The header ${JSON.stringify(name)} must be visible ASCII.`);
    headers.set(name, value);
  }
  return headers;
}

/** Sets the content type. Returns null if there is no body. */
function bodyOf(path: string, body: unknown, headers: Headers): string | null {
  if (body === undefined) return null;
  const isForm = isTokenService(path);
  headers.set('content-type', isForm ? 'application/x-www-form-urlencoded' : 'application/json');
  return isForm ? searchOf(body).toString() : JSON.stringify(body);
}

const hasClientSecret = (path: string, body: string | null): boolean =>
  isTokenService(path) && new URLSearchParams(body ?? '').has('client_secret');

function urlOf(baseUrl: string, path: string, { path: parameters, query }: AnyInput): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(segmentOf(name, parameters)),
  );
  const search = searchOf(query).toString();
  const url = baseUrl + filled;
  // A path that the URL parser changes is not the path of an operation.
  if (!/^(\/[^/?#]+)+$/.test(path) || new URL(url).href !== url)
    throw new TypeError(`${JSON.stringify(path)} is not a path of the API.`);
  return search ? `${url}?${search}` : url;
}

function segmentOf(name: string, parameters: object = {}): string {
  const value: unknown = Object.hasOwn(parameters, name) && Reflect.get(parameters, name);
  if (typeof value !== 'string' || /^\.{0,2}$|[/\\]/.test(value))
    throw new TypeError(`The path parameter ${name} must be an id.`);
  return value;
}

/** Repeats the name for each item of an array, and leaves out what is null or undefined. */
function searchOf(values: unknown): URLSearchParams {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values ?? {}))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null) search.append(name, String(one));
  return search;
}
