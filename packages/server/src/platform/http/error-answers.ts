// Turns whatever was thrown into the error body of the contract.
// The cause of a 500 goes to the log under the request id, never into the answer.

import { STATUS_CODES } from 'node:http';
import type { ErrorBody } from '@castellan/contract/envelope';
import type { ErrorCode } from '@castellan/contract/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { brokenConstraint, isDatabaseUnavailable } from '../db/failures.ts';
import { AppError } from '../errors.ts';
import { HasherBusyError } from '../security/password-hasher.ts';

// What Fastify and its parsers throw by themselves, as codes of ours.
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

/** `constraintCodes`: what a broken constraint of the database means to a caller, by its name. */
export function toAppError(
  error: unknown,
  constraintCodes: Readonly<Record<string, ErrorCode>> = {},
): AppError {
  if (error instanceof AppError) return error;
  const constraint = constraintCodes[brokenConstraint(error) ?? ''];
  if (constraint) return new AppError(constraint);
  if (error instanceof HasherBusyError)
    return new AppError('overloaded', { retryAfterSeconds: error.retryAfterSeconds });
  if (isDatabaseUnavailable(error)) return new AppError('database_unavailable', { retryAfterSeconds: 2 });
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  const known = frameworkCodes[code ?? ''];
  if (known) return new AppError(known);
  // The JSON parser's own refusals (a `__proto__` key, for one) carry a status and no code.
  if (statusCode === 400)
    return new AppError(error instanceof SyntaxError ? 'malformed_json' : 'malformed_request');
  return new AppError('internal_error');
}

export function errorBody(error: AppError, requestId: string): ErrorBody {
  return {
    detail: error.extras.detail ?? error.message,
    code: error.code,
    request_id: requestId,
    ...(error.extras.errors ? { errors: error.extras.errors } : {}),
    ...(error.extras.current ? { current: error.extras.current as Record<string, unknown> } : {}),
  };
}

/** RFC 9457: the same facts for clients that ask for `application/problem+json`. */
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
}) {
  return function handleError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const error = toAppError(thrown, options.constraintCodes);
    request.refusal = error.code;
    if (error.status >= 500) request.log.error({ err: thrown }, 'request failed');
    if (error.status === 401) reply.header('www-authenticate', wwwAuthenticate(error));
    if (error.extras.retryAfterSeconds !== undefined)
      reply.header('retry-after', String(Math.max(1, Math.ceil(error.extras.retryAfterSeconds))));
    for (const [name, value] of Object.entries(error.extras.headers ?? {})) reply.header(name, value);
    const body = errorBody(error, request.id);
    const wantsProblem = String(request.headers.accept ?? '').includes('application/problem+json');
    // A string bypasses the route's response serializers, which know the success shapes.
    reply
      .code(error.status)
      .type(wantsProblem ? 'application/problem+json' : 'application/json; charset=utf-8')
      .send(JSON.stringify(wantsProblem ? problemBody(error, body, options.publicUrl) : body));
  };
}

/** RFC 6750: no error code when no token came, `invalid_token` when a wrong one did. */
const wwwAuthenticate = (error: AppError): string =>
  error.code === 'token_missing' ? 'Bearer' : 'Bearer error="invalid_token"';
