// Headers and security schemes, as components of the document.
// It must not name a cookie: those come from the routes and the conventions.
import type { Conventions } from './conventions.ts';
import type { RouteFacts } from './route-facts.ts';
import type { Answer, Parameter, Ref } from './types.ts';

const header = (description: string, type: 'string' | 'integer' = 'string') => ({
  description,
  schema: { type },
});

export const headerComponents = {
  'X-Request-ID': header('The id of this request; it is also in the log. A valid id that you send is kept.'),
  'RateLimit-Limit': header('The number of requests that the window allows.', 'integer'),
  'RateLimit-Remaining': header('The number of requests left in the window.', 'integer'),
  'RateLimit-Reset': header('Seconds until the window ends.', 'integer'),
  'Retry-After': header('Seconds to wait before the next attempt.', 'integer'),
  ETag: header('The version of the record. Send it as If-Match with a change based on this version.'),
  'Idempotency-Replayed': header(
    '`true` if this is the stored response to an earlier request with the same key.',
  ),
  'WWW-Authenticate': header(
    '`Bearer`, with `error="invalid_token"` when a token was sent. `Basic` where client credentials are accepted.',
  ),
};
type Name = keyof typeof headerComponents;

const rateLimit: Name[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'];

type AnswerFacts = {
  status: number;
  /** The error codes that the answer may carry. Default: none. */
  codes?: readonly string[];
  /** Whether the answer carries the version of a record. Default: false. */
  isVersioned?: boolean;
};

/** Whether the route answers 304 to a client that has the response already. */
const mayBeUnchanged = ({ answers }: RouteFacts): boolean => '304' in answers;

/** Returns the headers of one answer of a route, by name. */
export function headersOf(
  route: RouteFacts,
  { status, codes = [], isVersioned = false }: AnswerFacts,
  { retryAfter, cookiePrefix }: Conventions,
): NonNullable<Answer['headers']> {
  const names: Name[] = ['X-Request-ID'];
  // 403 (CSRF) and 503 (no database) are sent before the request is counted.
  if (status === 429 || (route.limit !== null && status !== 403 && status !== 503)) names.push(...rateLimit);
  if (codes.some((code) => retryAfter.includes(code))) names.push('Retry-After');
  if (status === 401 && (route.access !== 'public' || route.basic)) names.push('WWW-Authenticate');
  if (route.idempotent && status < 300) names.push('Idempotency-Replayed');
  if ((isVersioned && status < 300 && status !== 204) || status === 412) names.push('ETag');
  const headers: NonNullable<Answer['headers']> = Object.fromEntries(
    names.map((name): [Name, Ref] => [name, { $ref: `#/components/headers/${name}` }]),
  );
  if (mayBeUnchanged(route) && status < 400 && !headers.ETag)
    headers.ETag = header('Changes with the response. Send it as If-None-Match with the next request.');
  if (status < 300)
    for (const [name, description] of Object.entries(route.answerHeaders))
      headers[name] = header(description);
  if (status < 300 && route.cookies.sets.length > 0)
    headers['Set-Cookie'] = header(
      `Sets or clears ${route.cookies.sets.map((one) => `\`${cookiePrefix}${one}\``).join(', ')}.`,
    );
  return headers;
}

/** Returns the request headers that an operation honours. All are optional. */
export function headerParameters(route: RouteFacts): Parameter[] {
  const parameter = (name: string, description: string): Parameter => ({
    name,
    in: 'header',
    description,
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  });
  const parameters: Parameter[] = [];
  if (route.conditional)
    parameters.push(
      parameter(
        'If-Match',
        'The ETag of the version to change. If the record has another version, the response is 412.',
      ),
    );
  if (mayBeUnchanged(route))
    parameters.push(
      parameter(
        'If-None-Match',
        'The ETag of an earlier response. If the response would be the same, it is 304 without a body.',
      ),
    );
  if (route.idempotent)
    parameters.push(
      parameter(
        'Idempotency-Key',
        'Any text, new for each record. A retry with the same key returns the first response.',
      ),
    );
  return parameters;
}

const schemeOfCookie = (cookie: string): string =>
  `${cookie.replaceAll(/_(\w)/g, (_match, letter: string) => letter.toUpperCase())}Cookie`;
const CSRF_COOKIE_SCHEME = 'csrfCookie';

/** Returns the security requirements; with and without the cookie where a cookie is optional. */
export function securityOf(route: RouteFacts): Record<string, string[]>[] {
  // Client credentials may also be in the body, which a document cannot say.
  if (route.basic) return [...(route.access === 'public' ? [] : [{ bearer: [] }]), { basic: [] }, {}];
  const base: Record<string, string[]> = {};
  if (route.access !== 'public') base.bearer = [];
  if (route.csrf) Object.assign(base, { csrfToken: [], [CSRF_COOKIE_SCHEME]: [] });
  const cookies = Object.fromEntries(route.cookies.reads.map((one) => [schemeOfCookie(one), []]));
  if (Object.keys(cookies).length > 0) return [{ ...base, ...cookies }, base];
  return Object.keys(base).length > 0 ? [base] : [];
}

export function securitySchemes(
  routes: readonly RouteFacts[],
  { bearer, basic, csrf, cookiePrefix }: Conventions,
): Record<string, unknown> {
  const cookies = [...new Set(routes.flatMap((route) => route.cookies.reads))].sort();
  return {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: bearer,
    },
    ...(routes.some((route) => route.basic)
      ? {
          basic: { type: 'http', scheme: 'basic', description: basic },
        }
      : {}),
    csrfToken: {
      type: 'apiKey',
      in: 'header',
      name: csrf.header,
      description: csrf.headerIs,
    },
    [CSRF_COOKIE_SCHEME]: {
      type: 'apiKey',
      in: 'cookie',
      name: cookiePrefix + csrf.cookie,
      description: csrf.cookieIs,
    },
    ...Object.fromEntries(
      cookies.map((name) => [
        schemeOfCookie(name),
        {
          type: 'apiKey',
          in: 'cookie',
          name: cookiePrefix + name,
          description: `HttpOnly cookie \`${cookiePrefix}${name}\`.`,
        },
      ]),
    ),
  };
}
