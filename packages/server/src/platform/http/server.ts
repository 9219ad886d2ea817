// The HTTP server without any route: parsing, limits, ids, headers, error answers, access log.
// It must not know an operation; plugins and modules add those.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '@castellan/contract/errors';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Logger } from '../log.ts';
import { clientAddress, type TrustedProxies } from '../security/client-address.ts';
import { acceptJsonOnly } from './body-parsing.ts';
import { answerBrokenRequest, refuseTunnel } from './broken-requests.ts';
import { cleanUserAgent, isSaneRequestId } from './client.ts';
import { createErrorHandler } from './error-answers.ts';
import { closeWithGrace } from './graceful-close.ts';
import { createMethodTable, decodedPath } from './method-table.ts';
import { refuseOddMessage } from './odd-messages.ts';
import { trackRequests } from './pipelining.ts';
import type { DeclaredRoute } from './route-config.ts';
import { securityHeaders } from './security-headers.ts';
import { compileSchema, refuseHostileText, ShapeError, shapeRefusal } from './validation.ts';
import './route-config.ts';

export type ServerOptions = {
  log: Logger;
  publicUrl: string;
  trustedProxies: TrustedProxies;
  constraintCodes: Readonly<Record<string, ErrorCode>>;
  /** Runs before a refusal is answered, after whatever it undid. */
  onRefused: (code: ErrorCode, request: FastifyRequest) => Promise<void>;
};

/** Body size of routes that say nothing: 1 MiB. */
const BODY_LIMIT_BYTES = 1_048_576;
// Slow senders are cut: they would hold connections for nothing.
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
// Silence on a connection whose answer is being made or taken: longer than any answer takes, so what it cuts off are
// readers that stopped reading. Node counts it twice where they took a part.
const SEND_TIMEOUT_MS = 60_000;
// Node looks for slow senders only so often; its own 30 s would make of the 15 s above up to 45.
const CONNECTIONS_CHECK_MS = 2_000;
// Longest id that is looked at before it is refused as no UUID.
const MAX_PARAM_LENGTH = 1_000;

export type App = ReturnType<typeof createServer>;

export function createServer(options: ServerOptions) {
  const handleError = createErrorHandler(options);
  // Nothing in the access line can be a secret, and looking for one costs more than writing it (bench/README.md).
  const accessLog = options.log.child({}, { redact: [] });
  const app = Fastify<Server, IncomingMessage, ServerResponse, FastifyBaseLogger>({
    loggerInstance: options.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: SEND_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTIONS_CHECK_MS,
      // Node's own refusal would lack our headers and body; the first hook refuses instead.
      requireHostHeader: false,
    },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: (raw) => (isSaneRequestId(raw.headers['x-request-id']) ? raw.headers['x-request-id'] : newId()),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      addHeaders(request, reply);
      handleError(error, request, reply);
      // No hook runs for a path that cannot be decoded.
      logAnswer(accessLog, request, reply);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.setValidatorCompiler(compileSchema);
  closeWithGrace(app);
  trackRequests(app.server);
  // An expectation that is not known may be ignored (RFC 9110, 10.1.1); Node's own 417 would lack our headers.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  app.server.on('connect', (_request, socket) => refuseTunnel(socket as Socket));
  app.decorateRequest('client', null as never);
  app.decorateRequest('refusal', null);
  app.addHook('onRequest', async (request, reply) => {
    addHeaders(request, reply);
    request.client = {
      requestId: request.id,
      address: clientAddress(request.raw.socket.remoteAddress, forwardingOf(request), options.trustedProxies),
      userAgent: cleanUserAgent(request.headers['user-agent']),
      secure: cameOverHttps(request, options.trustedProxies),
    };
    // Node drops what was pipelined behind an Upgrade that it does not follow; the sender must not wait for it.
    if (request.headers.upgrade !== undefined) reply.header('connection', 'close');
    refuseOddMessage(request.raw);
  });
  app.addHook('preValidation', async (request) => {
    refuseHostileText(request.query);
    refuseHostileText(request.params);
    refuseHostileText(request.body);
  });
  app.setErrorHandler(async (thrown, request, reply) => {
    const invalidInput = request.routeOptions.config.invalidInput ?? 'validation_failed';
    const error = thrown instanceof ShapeError ? shapeRefusal(thrown, invalidInput) : thrown;
    if (error instanceof AppError) await options.onRefused(error.code, request);
    handleError(error, request, reply);
    return reply;
  });

  const methodTable = createMethodTable();
  const declaredRoutes: DeclaredRoute[] = [];
  app.decorate('declaredRoutes', declaredRoutes);
  app.addHook('onRoute', ({ method, url, schema, config = {} }) => {
    const methods = [method].flat();
    const takesBody = schema?.body !== undefined;
    methodTable.add(url, methods);
    declaredRoutes.push(...methods.map((one) => ({ method: one, url, takesBody, config })));
  });
  const nothingHere = (request: FastifyRequest): AppError => {
    const allow = methodTable.methodsOf(decodedPath(request.url));
    return allow
      ? new AppError('method_not_allowed', { headers: { allow } })
      : new AppError('route_not_found');
  };
  // Before the body: what nobody will read is not parsed, and cannot change the answer.
  app.addHook('preParsing', async (request) => {
    if (request.is404) throw nothingHere(request);
  });
  acceptJsonOnly(app);
  app.setNotFoundHandler((request, reply) => handleError(nothingHere(request), request, reply));
  app.addHook('onResponse', async (request, reply) => logAnswer(accessLog, request, reply));
  return app;
}

const forwardingOf = ({ headers }: FastifyRequest) => ({
  'x-forwarded-for': headers['x-forwarded-for'],
  'x-real-ip': headers['x-real-ip'],
});

function cameOverHttps(request: FastifyRequest, trusted: TrustedProxies): boolean {
  const { socket } = request.raw;
  if ('encrypted' in socket && socket.encrypted === true) return true;
  return trusted.matches(socket.remoteAddress ?? '') && request.headers['x-forwarded-proto'] === 'https';
}

function logAnswer(log: Logger, request: FastifyRequest, reply: FastifyReply): void {
  log.info({
    request_id: request.id,
    method: request.method,
    // The pattern, not the path: paths may hold what people typed.
    route: request.routeOptions.url ?? null,
    status: reply.statusCode,
    ...(request.refusal ? { code: request.refusal } : {}),
    duration_ms: Math.round(reply.elapsedTime * 10) / 10,
    address: request.client?.address,
  });
}

function addHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(securityHeaders);
  reply.header('x-request-id', request.id);
  // Whatever a cache may keep says so itself: an address has too many spellings to tell by it.
  reply.header('cache-control', 'no-store');
}
