// Turns anything that was thrown into the error body of the contract.
// The cause of a 500 is logged with the request id and never sent.

import { STATUS_CODES } from 'node:http';
import type { ErrorBody } from '@castellan/contract/envelope';
import { type ErrorCode, statusOf } from '@castellan/contract/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { brokenConstraint, isDatabaseUnavailable, NotReplicatedError } from '../../db/failures.ts';
import { AppError } from '../../errors.ts';
import { GateFullError } from '../../limits/gate.ts';
import { HasherBusyError } from '../../security/password-hasher.ts';
import { errorCode, isObject } from '../../unknown-values.ts';
import { inUnits } from '../bodies/body-limits.ts';
import { FORM_TYPE } from '../bodies/form-type.ts';
import type { ErrorShape } from '../error-shape.ts';
import { ClientGoneError } from '../gone.ts';
import type { UnavailableLog } from './unavailable-log.ts';

// Errors that Fastify and its parsers throw → our error codes.
const frameworkCodes: Record<string, ErrorCode> = {
  FST_ERR_CTP_INVALID_JSON_BODY: 'malformed_json',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'malformed_json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_BAD_URL: 'malformed_request',
  FST_ERR_MAX_PARAM_LENGTH: 'uri_too_long',
  FST_ERR_HANDLER_TIMEOUT: 'overloaded',
};

/** Codes of 503 that are no fault of this service: they are logged as warnings. */
const faultsOfOthers: ReadonlySet<ErrorCode> = new Set(['provider_unavailable']);

/** Returns the error to send. `constraintCodes`: name of a database constraint → the code for its violation. */
function toAppError(error: unknown, constraintCodes: Readonly<Record<string, ErrorCode>> = {}): AppError {
  if (error instanceof AppError) return error;
  const constraint = constraintCodes[brokenConstraint(error) ?? ''];
  if (constraint) return new AppError(constraint);
  if (error instanceof GateFullError || error instanceof HasherBusyError)
    return new AppError('overloaded', { retryAfterSeconds: error.retryAfterSeconds });
  if (error instanceof ClientGoneError) return new AppError('client_gone');
  if (isDatabaseUnavailable(error)) return new AppError('database_unavailable', { retryAfterSeconds: 2 });
  const known = frameworkCodes[errorCode(error) ?? ''];
  if (known) return new AppError(known);
  // Some errors of the JSON parser, such as the one for a `__proto__` key, have a status and no code.
  if (isObject(error) && error.statusCode === 400)
    return new AppError(error instanceof SyntaxError ? 'malformed_json' : 'malformed_request');
  return new AppError('internal_error');
}

/** Returns the error body of the contract. */
export function errorBody(error: AppError, requestId: string): ErrorBody {
  return {
    detail: error.extras.detail ?? error.message,
    code: error.code,
    request_id: requestId,
    ...(error.extras.errors ? { errors: error.extras.errors } : {}),
    ...(error.extras.requiredPermission ? { required_permission: error.extras.requiredPermission } : {}),
    ...(error.extras.current ? { current: error.extras.current } : {}),
    ...error.extras.members,
  };
}

/** Returns the error body of RFC 9457, for clients that accept `application/problem+json`. */
function problemBody(error: AppError, body: ErrorBody, publicUrl: string): Record<string, unknown> {
  const { detail, ...rest } = body;
  return {
    type: `${publicUrl}/docs/errors#${error.code}`,
    title: STATUS_CODES[error.status] ?? 'Error',
    status: error.status,
    detail: typeof detail === 'string' ? detail : detail.message,
    ...(typeof detail === 'string' ? {} : { password_errors: detail.errors }),
    ...rest,
  };
}

export function createErrorHandler(options: {
  publicUrl: string;
  constraintCodes: Readonly<Record<string, ErrorCode>>;
  unavailableLog: UnavailableLog;
  /** Answers a browser at an address that no route has. Returns false to send the error. */
  answerMissing?: (request: FastifyRequest, reply: FastifyReply) => boolean;
}) {
  return function handleError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const error = asDeclared(toAppError(thrown, options.constraintCodes), request);
    request.refusal = error.code;
    if (isMissing(error, thrown) && options.answerMissing?.(request, reply)) return;
    // A full gate is not a failure of the service, and a flood must not fill the log. The access log has the code.
    if (error.status >= 500 && !(thrown instanceof GateFullError)) {
      if (error.status === 503 && !(thrown instanceof NotReplicatedError))
        options.unavailableLog.failed(thrown, request.log, faultsOfOthers.has(error.code) ? 'warn' : 'error');
      else request.log.error({ err: thrown }, 'request failed');
    }
    const shape = request.routeOptions?.config?.errorShape;
    if (error.status === 401 && !shape) reply.header('www-authenticate', wwwAuthenticate(error));
    if (error.extras.retryAfterSeconds !== undefined)
      reply.header('retry-after', String(Math.max(1, Math.ceil(error.extras.retryAfterSeconds))));
    for (const [name, value] of Object.entries(error.extras.headers ?? {})) reply.header(name, value);
    if (shape) {
      answerInShape(shape, error, request, reply);
      return;
    }
    const body = errorBody(error, request.id);
    const wantsProblem = String(request.headers.accept ?? '').includes('application/problem+json');
    // A string bypasses the response serializers of the route, which fit only successful responses.
    reply
      .code(error.status)
      .type(wantsProblem ? 'application/problem+json' : 'application/json; charset=utf-8')
      .send(JSON.stringify(wantsProblem ? problemBody(error, body, options.publicUrl) : body));
  };
}

/** A path that cannot be decoded is no address either. */
const isMissing = (error: AppError, thrown: unknown): boolean =>
  error.code === 'route_not_found' || errorCode(thrown) === 'FST_ERR_BAD_URL';

function answerInShape(
  shape: ErrorShape,
  error: AppError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const code = shape.codeOf(error.code);
  reply
    .code(statusOf(code))
    .headers({ ...shape.headersOf(code, request, error), ...error.extras.headers })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify(shape.bodyOf(code, error)));
}

/** Adds the limit to the refusal of a large body, and the type to that of another one. Uses the codes of the route. */
function asDeclared(error: AppError, { routeOptions }: FastifyRequest): AppError {
  if (error.code === 'body_too_large' && error.extras.detail === undefined)
    return new AppError(error.code, {
      detail: `The request body is larger than ${inUnits(routeOptions.bodyLimit)}.`,
    });
  const { form = false, otherMedia } = routeOptions.config;
  if (error.code === 'unsupported_media_type' && error.extras.detail === undefined && form !== false)
    return new AppError(error.code, {
      ...error.extras,
      detail: `Send the body as Content-Type: ${FORM_TYPE}.`,
    });
  if (error.code === 'unsupported_media_type' && otherMedia !== undefined)
    return new AppError(otherMedia, { ...error.extras, detail: error.message });
  return error;
}

/** Returns WWW-Authenticate (RFC 6750): without an error when no token was sent, else with `invalid_token`. */
const wwwAuthenticate = (error: AppError): string =>
  error.code === 'token_missing' ? 'Bearer' : 'Bearer error="invalid_token"';
