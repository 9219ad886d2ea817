// The HTTP server without any route: parsing, limits, ids, headers, error answers, access log.
// It must not know an operation; plugins and modules add those.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Logger } from '../log.ts';
import { clientAddress, type TrustedProxies } from '../security/client-address.ts';
import { answerBrokenRequest } from './broken-requests.ts';
import { cleanUserAgent, isSaneRequestId } from './client.ts';
import { createErrorHandler } from './error-answers.ts';
import { createMethodTable } from './method-table.ts';
import { securityHeaders } from './security-headers.ts';
import { compileSchema, refuseHostileText, ShapeError, shapeRefusal } from './validation.ts';
import './route-config.ts';

export type ServerOptions = { log: Logger; publicUrl: string; trustedProxies: TrustedProxies };

/** Body size of routes that say nothing: 1 MiB. */
const BODY_LIMIT_BYTES = 1_048_576;
// security rule 20: slow senders are cut.
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
// Longest id that is looked at before it is refused as no UUID.
const MAX_PARAM_LENGTH = 1_000;

export type App = ReturnType<typeof createServer>;

export function createServer(options: ServerOptions) {
  const handleError = createErrorHandler({ publicUrl: options.publicUrl });
  const app = Fastify<Server, IncomingMessage, ServerResponse, FastifyBaseLogger>({
    loggerInstance: options.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: (raw) => (isSaneRequestId(raw.headers['x-request-id']) ? raw.headers['x-request-id'] : newId()),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      addHeaders(request, reply);
      handleError(error, request, reply);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.setValidatorCompiler(compileSchema);
  app.removeContentTypeParser('text/plain');
  acceptEmptyJson(app);
  app.decorateRequest('client', null as never);
  app.addHook('onRequest', async (request, reply) => {
    addHeaders(request, reply);
    request.client = {
      requestId: request.id,
      address: clientAddress(request.raw.socket.remoteAddress, forwardingOf(request), options.trustedProxies),
      userAgent: cleanUserAgent(request.headers['user-agent']),
      secure: cameOverHttps(request, options.trustedProxies),
    };
  });
  app.addHook('preValidation', async (request) => refuseHostileText(request.body));
  app.setErrorHandler((error, request, reply) => {
    const invalidInput = request.routeOptions.config.invalidInput ?? 'validation_failed';
    handleError(error instanceof ShapeError ? shapeRefusal(error, invalidInput) : error, request, reply);
  });

  const methodTable = createMethodTable();
  app.addHook('onRoute', (route) => methodTable.add(route.url, [route.method].flat()));
  app.setNotFoundHandler((request, reply) => {
    const allowed = methodTable.methodsOf(request.url);
    const error = allowed
      ? new AppError('method_not_allowed', { headers: { allow: allowed } })
      : new AppError('route_not_found');
    handleError(error, request, reply);
  });
  app.addHook('onResponse', async (request, reply) => {
    request.log.info({
      method: request.method,
      // The pattern, not the path: paths may hold what people typed.
      route: request.routeOptions.url ?? null,
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime * 10) / 10,
      address: request.client?.address,
    });
  });
  return app;
}

// Many clients name the content type also where they send nothing. An empty body counts as none: validation then
// refuses it where one is needed.
function acceptEmptyJson(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, null);
    else parseJson(request, body as string, done);
  });
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

function addHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(securityHeaders);
  reply.header('x-request-id', request.id);
  if (request.url.startsWith('/api')) reply.header('cache-control', 'no-store');
}
