// The HTTP server without routes: parsing, limits, ids, headers, error responses, access log.
// It must not know an operation; plugins and modules add those.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { ErrorCode } from '@castellan/contract/errors';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { AppError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { GateFullError } from '../../limits/gate.ts';
import type { Logger } from '../../logging/log.ts';
import { clientAddress, type TrustedProxies } from '../../security/client-address.ts';
import type { Tracing } from '../../tracing/tracing.ts';
import { createErrorHandler } from '../answers/error-answers.ts';
import { createUnavailableLog } from '../answers/unavailable-log.ts';
import { publicBody, signedInBody } from '../bodies/body-limits.ts';
import { acceptJsonOnly } from '../bodies/body-parsing.ts';
import { compileSerializer } from '../bodies/serialization.ts';
import { compileSchema, refuseHostileText, ShapeError, shapeRefusal } from '../bodies/validation.ts';
import { type Client, cleanUserAgent, isSaneRequestId } from '../client.ts';
import { answerBrokenRequest, refuseTunnel } from '../connections/broken-requests.ts';
import { closeWithGrace } from '../connections/graceful-close.ts';
import { holdBack } from '../connections/hold-back.ts';
import { refuseOddMessage } from '../connections/odd-messages.ts';
import { trackRequests } from '../connections/pipelining.ts';
import { goneSignal } from '../gone.ts';
import { hook } from '../hooks.ts';
import { createMethodTable, decodedPath } from '../method-table.ts';
import { securityHeaders } from '../security-headers.ts';
import { createAccessLog } from './access-log.ts';
import { ignoreMethods } from './any-method.ts';
import { LazyChild } from './request-log.ts';
import type { DeclaredRoute } from './route-config.ts';
import type { Tls } from './tls.ts';
import { addTracing } from './tracing-hooks.ts';
import './route-config.ts';

export type ServerOptions = {
  log: Logger;
  publicUrl: string;
  /** The path of `publicUrl`, which is removed from the addresses of requests that have it; may be empty. */
  basePath: string;
  trustedProxies: TrustedProxies;
  /** Default: HTTP without TLS. */
  tls?: Tls;
  constraintCodes: Readonly<Record<string, ErrorCode>>;
  /** While it returns true, responses end their keep-alive connections. */
  isStopping?: () => boolean;
  /** Makes each request a trace. */
  tracing?: Tracing;
  /** Runs after each answer was sent, and must not throw. */
  onAnswered?: (request: FastifyRequest, reply: FastifyReply) => void;
  /** Answers a browser at an address that no route has. Returns false to send the error. */
  answerMissing?: (request: FastifyRequest, reply: FastifyReply) => boolean;
  /** Runs before a refusal is sent, after its transaction, if any, was rolled back. */
  onRefused: (error: AppError, request: FastifyRequest) => Promise<void>;
};

// Slow senders are disconnected, because they would hold connections.
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
// Longest silence on a connection while a response is prepared or sent. No response takes that long, so it only cuts
// off clients that stopped reading. For a response that was read in part, Node counts the time twice.
const SEND_TIMEOUT_MS = 60_000;
// How often Node looks for slow senders. Its default, 30 s, would turn the 15 s above into up to 45 s.
const CONNECTIONS_CHECK_MS = 2_000;
// Longest path parameter. Longer ones are refused before they are checked to be UUIDs.
const MAX_PARAM_LENGTH = 1_000;

export type App = ReturnType<typeof createServer>;

const serverOptions = {
  headersTimeout: HEADERS_TIMEOUT_MS,
  connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
  // Node's refusal would lack our headers and body, so the first hook refuses instead.
  requireHostHeader: false,
};

/** Sets the timeouts that Fastify sets for servers that it makes itself. */
const secureServer = (tls: Tls) => (listener: RequestListener) => {
  const server = tls.createServer(
    { ...serverOptions, requestTimeout: REQUEST_TIMEOUT_MS, keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS },
    listener,
  );
  server.setTimeout(SEND_TIMEOUT_MS);
  return server;
};

export function createServer(options: ServerOptions) {
  const unavailableLog = createUnavailableLog(options.log);
  const handleError = createErrorHandler({ ...options, unavailableLog });
  const answered = eachOf(createAccessLog(options.log), options.onAnswered);
  const app = Fastify<Server, IncomingMessage, ServerResponse, FastifyBaseLogger>({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    childLoggerFactory: (log, bindings, extra) => new LazyChild(log, bindings, extra),
    bodyLimit: publicBody.bytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: SEND_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: serverOptions,
    ...(options.tls ? { serverFactory: secureServer(options.tls) } : {}),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: (raw) => (isSaneRequestId(raw.headers['x-request-id']) ? raw.headers['x-request-id'] : newId()),
    ...(options.basePath === '' ? {} : { rewriteUrl: ({ url = '/' }) => withoutBase(url, options.basePath) }),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      addHeaders(request, reply);
      handleError(error, request, reply);
      // No hook runs if the path cannot be decoded.
      answered(request, reply);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.setValidatorCompiler(compileSchema);
  app.setSerializerCompiler(compileSerializer);
  closeWithGrace(app, options.isStopping);
  const anyMethodPaths = new Set<string>();
  ignoreMethods(app.server, anyMethodPaths);
  trackRequests(app.server);
  // An unknown expectation may be ignored (RFC 9110, 10.1.1). Node's own 417 would lack our headers.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', (_request, socket) => {
    if (socket instanceof Socket) refuseTunnel(socket);
    else socket.destroy();
  });
  app.decorateRequest('client');
  app.decorateRequest('trace', null);
  if (options.tracing) addTracing(app, options.tracing, options.trustedProxies);
  app.decorateRequest('refusal', null);
  app.addHook(
    'onRequest',
    hook((request, reply) => {
      addHeaders(request, reply);
      request.client = new HttpClient(request, reply.raw, options.trustedProxies);
      // Node drops requests that were pipelined after a refused Upgrade. Closing tells the client not to wait for them.
      if (request.headers.upgrade !== undefined) reply.header('connection', 'close');
      refuseOddMessage(request.raw);
    }),
  );
  app.addHook(
    'preValidation',
    hook((request) => {
      // The query may contain many ids, so it gets the larger limit.
      refuseHostileText(request.query, signedInBody.values);
      refuseHostileText(request.params);
      refuseHostileText(request.body, request.routeOptions.config.body?.values);
    }),
  );
  app.setErrorHandler(async (thrown, request, reply) => {
    const invalidInput = request.routeOptions.config.invalidInput ?? 'validation_failed';
    const error = thrown instanceof ShapeError ? shapeRefusal(thrown, invalidInput) : thrown;
    if (error instanceof AppError) await options.onRefused(error, request);
    if (error instanceof GateFullError || (error instanceof AppError && error.code === 'rate_limited'))
      await holdBack(request.client);
    handleError(error, request, reply);
    return reply;
  });

  const methodTable = createMethodTable();
  const declaredRoutes: DeclaredRoute[] = [];
  app.decorate('declaredRoutes', declaredRoutes);
  app.addHook('onRoute', (route) => {
    const { method, url, schema = {} } = route;
    const body = route.config?.body ?? (route.config?.access === 'public' ? publicBody : signedInBody);
    const config = { ...route.config, body, ...(route.config?.readOnly ? { csrf: false } : {}) };
    route.config = config;
    route.bodyLimit = body.bytes;
    const methods = [method].flat();
    if (config.anyMethod) anyMethodPaths.add(url).add(options.basePath + url);
    const takesBody = schema.body !== undefined;
    methodTable.add(url, methods);
    declaredRoutes.push(...methods.map((one) => ({ method: one, url, takesBody, config, schema })));
  });
  const notFound = (request: FastifyRequest): AppError => {
    const allow = methodTable.methodsOf(decodedPath(request.url));
    return allow
      ? new AppError('method_not_allowed', { headers: { allow } })
      : new AppError('route_not_found');
  };
  // Before the body is parsed: the body must not change the response.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (request.is404) throw notFound(request);
    done();
  });
  acceptJsonOnly(app);
  app.setNotFoundHandler((request, reply) => handleError(notFound(request), request, reply));
  app.addHook('onResponse', hook(answered));
  app.addHook('onClose', async () => unavailableLog.flush());
  return app;
}

/** Leaves addresses outside the path as they are: the proxy may have removed it. */
function withoutBase(url: string, basePath: string): string {
  const origin = /^https?:\/\/[^/?#]*/i.exec(url)?.[0] ?? '';
  const rest = url.slice(origin.length);
  if (!rest.startsWith(basePath)) return url;
  const inner = rest.slice(basePath.length);
  if (inner === '' || inner.startsWith('?')) return `${origin}/${inner}`;
  return inner.startsWith('/') ? origin + inner : url;
}

type Answered = (request: FastifyRequest, reply: FastifyReply) => void;

const eachOf = (first: Answered, second: Answered | undefined): Answered =>
  second === undefined
    ? first
    : (request, reply) => {
        first(request, reply);
        second(request, reply);
      };

const forwardingOf = ({ headers }: FastifyRequest) => ({
  'x-forwarded-for': headers['x-forwarded-for'],
  'x-real-ip': headers['x-real-ip'],
});

/** The client of a request. A class, because an object with its own getter costs a microsecond. */
class HttpClient implements Client {
  readonly requestId: string;
  readonly address: string;
  readonly userAgent: string | null;
  readonly acceptLanguage: string | null;
  readonly cookie: string | null;
  readonly secure: boolean;
  actedById?: string;
  readonly #response: ServerResponse;

  constructor(request: FastifyRequest, response: ServerResponse, trusted: TrustedProxies) {
    const { headers } = request;
    this.requestId = request.id;
    this.address = clientAddress(request.raw.socket.remoteAddress, forwardingOf(request), trusted);
    this.userAgent = cleanUserAgent(headers['user-agent']);
    this.acceptLanguage = headers['accept-language'] ?? null;
    this.cookie = headers.cookie ?? null;
    this.secure = cameOverHttps(request, trusted);
    this.#response = response;
  }

  get gone(): AbortSignal {
    return goneSignal(this.#response);
  }
}

function cameOverHttps(request: FastifyRequest, trusted: TrustedProxies): boolean {
  const { socket } = request.raw;
  if ('encrypted' in socket && socket.encrypted === true) return true;
  return request.headers['x-forwarded-proto'] === 'https' && trusted.matches(socket.remoteAddress ?? '');
}

function addHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(securityHeaders);
  reply.header('x-request-id', request.id);
  // The default. Routes whose responses may be cached set the header themselves: a URL has too many spellings to decide
  // by.
  reply.header('cache-control', 'no-store');
}
