// The response headers and the ways to prove who calls, as components of the document.
import type { ErrorCode } from '@castellan/contract/errors';
import { CSRF_COOKIE } from '../csrf-protection.ts';
import type { Answer, Parameter, Ref } from './openapi.ts';
import type { RouteFacts } from './route-facts.ts';

const header = (description: string, type: 'string' | 'integer' = 'string') => ({
  description,
  schema: { type },
});

export const headerComponents = {
  'X-Request-ID': header('Id of this request, also in the log. A sane one that you send is kept.'),
  'RateLimit-Limit': header('Requests that the window allows.', 'integer'),
  'RateLimit-Remaining': header('Requests left in the window.', 'integer'),
  'RateLimit-Reset': header('Seconds until the window ends.', 'integer'),
  'Retry-After': header('Seconds to wait before the next attempt.', 'integer'),
  ETag: header('The version of the record; send it as If-Match with the change that it is the ground of.'),
  'Idempotency-Replayed': header(
    '`true` when this is the kept answer of an earlier request with the same key.',
  ),
  'WWW-Authenticate': header('`Bearer`, with `error="invalid_token"` when a token was sent.'),
};
type Name = keyof typeof headerComponents;

const RATE_LIMIT: Name[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];
const WITH_RETRY_AFTER: readonly ErrorCode[] = [
  'rate_limited',
  'account_locked',
  'overloaded',
  'idempotency_in_progress',
  'database_unavailable',
];

export function headersOf(
  route: RouteFacts,
  status: number,
  codes: readonly ErrorCode[],
  isVersioned: boolean,
): NonNullable<Answer['headers']> {
  const names: Name[] = ['X-Request-ID'];
  // A missing CSRF token and a missing database are told before anything is counted.
  if (route.limit !== null && status !== 403 && status !== 503) names.push(...RATE_LIMIT);
  if (codes.some((code) => WITH_RETRY_AFTER.includes(code))) names.push('Retry-After');
  if (status === 401 && route.access !== 'public') names.push('WWW-Authenticate');
  if (route.idempotent && status < 300) names.push('Idempotency-Replayed');
  if ((isVersioned && status < 300 && status !== 204) || status === 412) names.push('ETag');
  const headers: NonNullable<Answer['headers']> = Object.fromEntries(
    names.map((name): [Name, Ref] => [name, { $ref: `#/components/headers/${name}` }]),
  );
  if (status < 300 && route.cookies.sets.length > 0)
    headers['Set-Cookie'] = header(
      `Sets or clears ${route.cookies.sets.map((one) => `\`${one}\``).join(', ')}.`,
    );
  return headers;
}

/** The request headers that an operation honours; all of them may be left out. */
export function headerParameters(route: RouteFacts): Parameter[] {
  const parameter = (name: string, description: string): Parameter => ({
    name,
    in: 'header',
    description,
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  });
  const parameters: Parameter[] = [];
  if (route.conditional)
    parameters.push(parameter('If-Match', 'The ETag of the version to change. Another one is there: 412.'));
  if (route.idempotent)
    parameters.push(
      parameter(
        'Idempotency-Key',
        'Any text of yours, new for each record. A retry with it gets the first answer.',
      ),
    );
  return parameters;
}

const schemeOfCookie = (cookie: string): string =>
  `${cookie.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase())}Cookie`;
const CSRF_COOKIE_SCHEME = 'csrfCookie';

/** What the operation needs; where a cookie may stand in for something else, with and without it. */
export function securityOf(route: RouteFacts): Record<string, string[]>[] {
  const base: Record<string, string[]> = {};
  if (route.access !== 'public') base.bearer = [];
  if (route.csrf) Object.assign(base, { csrfToken: [], [CSRF_COOKIE_SCHEME]: [] });
  const cookies = Object.fromEntries(route.cookies.reads.map((one) => [schemeOfCookie(one), []]));
  if (Object.keys(cookies).length > 0) return [{ ...base, ...cookies }, base];
  return Object.keys(base).length > 0 ? [base] : [];
}

export function securitySchemes(routes: readonly RouteFacts[]): Record<string, unknown> {
  const cookies = [...new Set(routes.flatMap((route) => route.cookies.reads))].sort();
  return {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: 'The access token of a live session.',
    },
    csrfToken: {
      type: 'apiKey',
      in: 'header',
      name: 'X-CSRF-Token',
      description: 'A token made for the browser that sends it. State-changing requests need it.',
    },
    [CSRF_COOKIE_SCHEME]: {
      type: 'apiKey',
      in: 'cookie',
      name: CSRF_COOKIE,
      description: 'The cookie that came with the CSRF token.',
    },
    ...Object.fromEntries(
      cookies.map((name) => [
        schemeOfCookie(name),
        { type: 'apiKey', in: 'cookie', name, description: `HttpOnly cookie \`${name}\`.` },
      ]),
    ),
  };
}
