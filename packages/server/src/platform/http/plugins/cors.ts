// Allows pages of the listed origins to call the API with cookies, and every page to read `/.well-known/` and the key set of
// applications without. The services for applications have the origins of those: modules/applications/allowed-origins.ts.
// It must not reflect an origin unless the list contains it character by character.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { vary } from '../accept.ts';
import { decodedPath } from '../method-table.ts';
import type { App } from '../server/server.ts';

const METHODS = 'GET, POST, PUT, PATCH, DELETE';
/** The header parameters of the OpenAPI document, credentials, the type of the body, and the id of the request. */
const requestHeaders = [
  'authorization',
  'content-type',
  'x-csrf-token',
  'if-match',
  'if-none-match',
  'idempotency-key',
  'x-request-id',
];
/** Tracing libraries add these to every request of a page: W3C Trace Context, W3C Baggage, Sentry. */
const traceHeaders = ['traceparent', 'tracestate', 'baggage', 'sentry-trace'];
/** No wildcard: with credentials, browsers take `*` for the name of a header. */
const exposedHeaders = [
  'x-request-id',
  'retry-after',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'etag',
  'age',
  'idempotency-replayed',
  'content-disposition',
  'www-authenticate',
].join(', ');
/** How long a browser may cache the response to a preflight. */
const MAX_AGE_SECONDS = 600;

/** `headers`: further request headers that preflights allow. Without origins, only public documents get headers. */
export function addCors(
  app: App,
  { origins, headers }: { origins: readonly string[]; headers: readonly string[] },
): void {
  const listed = new Set(origins);
  const allowedHeaders = [
    ...new Set([...requestHeaders, ...traceHeaders, ...headers.map((name) => name.toLowerCase())]),
  ].join(', ');
  app.addHook('onRequest', (request, reply, done) => {
    if (isApplicationService(request)) return answerApplications(request, reply, allowedHeaders, done);
    const isOpen = isPublicDocument(request);
    if (isOpen) reply.header('access-control-allow-origin', '*');
    else if (listed.size === 0) return done();
    else {
      vary(reply, 'origin');
      const { origin } = request.headers;
      if (origin === undefined || !listed.has(origin)) return done();
      reply.header('access-control-allow-origin', origin);
      reply.header('access-control-allow-credentials', 'true');
    }
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      reply.header('access-control-expose-headers', exposedHeaders);
      return done();
    }
    reply.header('access-control-allow-methods', isOpen ? 'GET' : METHODS);
    reply.header('access-control-allow-headers', allowedHeaders);
    reply.header('access-control-max-age', String(MAX_AGE_SECONDS));
    reply.code(204).send();
  });
}

/** By the route where there is one: a URL has many spellings. */
const pathOf = ({ is404, routeOptions, url }: FastifyRequest): string =>
  is404 ? decodedPath(url) : (routeOptions.url ?? '');

function isPublicDocument(request: FastifyRequest): boolean {
  const path = pathOf(request);
  return path.startsWith('/.well-known/') || path === '/api/v1/oauth/jwks.json';
}

/** Operations for applications: pages call them without cookies, from origins that the record of the application names. */
const applicationServices: ReadonlySet<string> = new Set(
  ['token', 'par', 'device_authorization', 'introspect', 'revoke', 'userinfo'].map(
    (name) => `/api/v1/oauth/${name}`,
  ),
);
const isApplicationService = (request: FastifyRequest): boolean => applicationServices.has(pathOf(request));

/**
 * Answers a preflight for every origin, because it names no application. The response itself gets its headers when the operation
 * knows whose origin to compare.
 */
function answerApplications(
  request: FastifyRequest,
  reply: FastifyReply,
  allowedHeaders: string,
  done: () => void,
): void {
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
    done();
    return;
  }
  reply.header('access-control-allow-origin', '*');
  reply.header('access-control-allow-methods', 'GET, POST');
  reply.header('access-control-allow-headers', `${allowedHeaders}, dpop`);
  reply.header('access-control-max-age', String(MAX_AGE_SECONDS));
  reply.code(204).send();
}
