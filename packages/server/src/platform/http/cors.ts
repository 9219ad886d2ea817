// Allows pages of the listed origins to call the API with cookies.
// It must not reflect an origin unless the list contains it character by character.
import { vary } from './accept.ts';
import type { App } from './server.ts';

const METHODS = 'GET, POST, PUT, DELETE';
const EXPOSED_HEADERS =
  'x-request-id, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset, etag, idempotency-replayed';
/** How long a browser may cache the response to a preflight. */
const MAX_AGE_SECONDS = 600;

/** Adds nothing if no origin is listed: OPTIONS is then a method like any other. */
export function addCors(
  app: App,
  options: { origins: readonly string[]; requestHeaders: readonly string[] },
): void {
  const allowed = new Set(options.origins);
  if (allowed.size === 0) return;
  app.addHook('onRequest', (request, reply, done) => {
    vary(reply, 'origin');
    const { origin } = request.headers;
    if (origin === undefined || !allowed.has(origin)) return done();
    reply.header('access-control-allow-origin', origin);
    reply.header('access-control-allow-credentials', 'true');
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      reply.header('access-control-expose-headers', EXPOSED_HEADERS);
      return done();
    }
    reply.header('access-control-allow-methods', METHODS);
    reply.header('access-control-allow-headers', options.requestHeaders.join(', '));
    reply.header('access-control-max-age', String(MAX_AGE_SECONDS));
    reply.code(204).send();
  });
}
