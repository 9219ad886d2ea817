import { type GuardError, refusalOf } from './errors.ts';
import { isRecord, isText } from './json.ts';
import { challengeFor } from './requirement.ts';

/** What carries the headers of a request: a Fetch `Request`, or a request of Node, Fastify or Express. */
export type HeaderCarrier = { readonly headers: Headers | Readonly<Record<string, unknown>> };

/** A request of Node.js, or one of Fastify around it. */
type NodeRequest = HeaderCarrier & { readonly rawHeaders?: unknown; readonly raw?: unknown };

type FastifyReply = {
  readonly sent?: boolean;
  code(status: number): unknown;
  header(name: string, value: string): unknown;
  send(body: unknown): unknown;
};
type NodeResponse = {
  statusCode: number;
  readonly headersSent?: boolean;
  readonly writableEnded?: boolean;
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
  destroy(): unknown;
};
type HonoContext = { req: { raw: Request } };

/** One check for every framework. The handler runs only if the check let the request through. */
export type Middleware = {
  /** A hook for `onRequest` or `preHandler`. */
  fastify(request: HeaderCarrier, reply: FastifyReply): Promise<unknown>;
  /**
   * Also for other frameworks with `(request, response, next)` over the HTTP server of Node. Never rejects, and calls `next`
   * only to let a request through.
   */
  express(request: HeaderCarrier, response: NodeResponse, next: () => void): Promise<void>;
  hono(context: HonoContext, next: () => Promise<void>): Promise<Response | undefined>;
  /** Wraps a handler of Next, Bun, Deno or an edge runtime. */
  fetch<R extends Request, Rest extends unknown[]>(
    handler: (request: R, ...rest: Rest) => Response | Promise<Response>,
  ): (request: R, ...rest: Rest) => Promise<Response>;
};

const isHeaders = (headers: HeaderCarrier['headers']): headers is Headers =>
  typeof headers.get === 'function';

/** An inherited header is not of the request, but of a polluted `Object.prototype`. */
const ownAuthorization = (headers: Readonly<Record<string, unknown>>): unknown =>
  Object.hasOwn(headers, 'authorization') ? headers.authorization : undefined;

/** Node.js drops all but the first of several Authorization headers, except in `rawHeaders`: names and values in turn. */
function isRepeated(request: HeaderCarrier): boolean {
  const { raw, rawHeaders = isRecord(raw) ? raw.rawHeaders : undefined }: NodeRequest = request;
  if (!Array.isArray(rawHeaders)) return false;
  let found = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name: unknown = rawHeaders[at];
    // The length first: this runs at every check.
    if (String(name).length === 13 && /^authorization$/i.test(String(name))) found += 1;
  }
  return found > 1;
}

/**
 * Returns the value of the Authorization header, or a text that is no bearer token if there is none or more than one: `Headers`
 * join several with commas.
 */
export function authorizationOf(request: HeaderCarrier): string {
  const { headers } = request;
  // Not instanceof: the Headers of a framework may be another class.
  const value = isHeaders(headers) ? headers.get('authorization') : ownAuthorization(headers);
  return typeof value === 'string' && !isRepeated(request) ? value : '';
}

/**
 * Returns the address of the client: `ip` of Fastify and Express, which know their proxies, else that of the connection. Fetch requests
 * have none.
 */
export function addressOf(request: HeaderCarrier): string | undefined {
  const { ip, socket }: HeaderCarrier & { ip?: unknown; socket?: unknown } = request;
  if (isText(ip)) return ip;
  const address = socket instanceof Object ? Reflect.get(socket, 'remoteAddress') : undefined;
  return isText(address) ? address : undefined;
}

/** `check` rejects for a refusal; otherwise it makes the caller known under the request and everything else that is passed. */
export function middlewareOf(
  check: (request: HeaderCarrier, ...known: object[]) => Promise<unknown>,
): Middleware {
  const refusal = (request: HeaderCarrier, ...known: object[]): Promise<GuardError | undefined> =>
    check(request, ...known).then(() => undefined, refusalOf);

  return {
    async fastify(request, reply) {
      const refused = await refusal(request);
      if (!refused) return undefined;
      if (reply.sent) return reply;
      reply.code(refused.status);
      for (const [name, value] of headersOf(refused)) reply.header(name, value);
      return reply.send(bodyOf(refused));
    },
    async express(request, response, next) {
      const refused = await refusal(request);
      if (!refused) {
        // Outside this promise: what a handler throws is no rejection of the guard, which Express 4 would not handle.
        queueMicrotask(() => next());
        return;
      }
      // For example by a middleware that limits the time of a request.
      if (response.headersSent || response.writableEnded) return;
      try {
        response.statusCode = refused.status;
        for (const [name, value] of headersOf(refused)) response.setHeader(name, value);
        response.end(bodyOf(refused));
      } catch {
        // Something else has broken the response. The handler must not run all the same.
        response.destroy();
      }
    },
    async hono(context, next) {
      const refused = await refusal(context.req.raw, context);
      if (refused) return responseOf(refused);
      await next();
      return undefined;
    },
    fetch(handler) {
      return async (request, ...rest) => {
        const refused = await refusal(request);
        return refused ? responseOf(refused) : handler(request, ...rest);
      };
    },
  };
}

const responseOf = (refused: GuardError): Response =>
  new Response(bodyOf(refused), { status: refused.status, headers: headersOf(refused) });

/** `Retry-After` only if a time is known. */
function headersOf(refused: GuardError): [name: string, value: string][] {
  const { status, retryAfterSeconds } = refused;
  const headers: [string, string][] = [
    ['content-type', 'application/json; charset=utf-8'],
    ['cache-control', 'no-store'],
  ];
  if (status === 401) headers.push(['www-authenticate', challengeOf(refused)]);
  if (retryAfterSeconds !== undefined) headers.push(['retry-after', String(retryAfterSeconds)]);
  return headers;
}

/** RFC 6750, section 3. */
function challengeOf({ code, requirement }: GuardError): string {
  if (requirement) return challengeFor(requirement);
  return code === 'missing_token' ? 'Bearer' : 'Bearer error="invalid_token"';
}

/** The text for callers says nothing about Castellan or this service. */
const details = {
  missing_token: 'Sign in: this request needs a bearer token.',
  invalid_token: 'The token is invalid or has ended. Sign in again.',
  insufficient_user_authentication: 'Confirm that it is you, then repeat the request.',
  permission_denied: 'You do not have the permission for this.',
  rate_limited: 'Too many unknown API keys or access tokens came from your network. Try again later.',
  unavailable: 'Permissions cannot be checked right now. Try again later.',
};

function bodyOf({ code, requiredPermission, requirement }: GuardError): string {
  const step_up = requirement && {
    required_acr: requirement.acr ?? 'aal1',
    max_age: requirement.maxAgeSeconds ?? null,
  };
  return JSON.stringify({ detail: details[code], code, required_permission: requiredPermission, step_up });
}
