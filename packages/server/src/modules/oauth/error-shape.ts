// The errors of the token services: `{error, error_description}` (RFC 6749, section 5.2; RFC 6750, section 3.1).
// It must not tell why a client is not authenticated.
import { defaultDetailOf, type ErrorCode, statusOf } from '@castellan/contract/errors';
import { OAuthError } from '@castellan/contract/oauth';
import type { FastifyRequest } from 'fastify';
import type { AppError } from '../../platform/errors.ts';
import type { ErrorShape } from '../../platform/http/error-shape.ts';
import { keyChallenge } from '../proofs/service.ts';

/** Codes that are sent as they are. The standards have none for a rate limit. */
const own: ReadonlySet<ErrorCode> = new Set([
  'invalid_request',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_grant',
  'unauthorized_client',
  'invalid_target',
  'invalid_dpop_proof',
  'unsupported_response_type',
  'request_not_supported',
  'request_uri_not_supported',
  'authorization_pending',
  'slow_down',
  'access_denied',
  'expired_token',
  'rate_limited',
]);

const byStatus: Readonly<Record<number, ErrorCode>> = {
  401: 'invalid_client',
  403: 'insufficient_scope',
  429: 'rate_limited',
  500: 'server_error',
  503: 'temporarily_unavailable',
};

const codeOf = (code: ErrorCode): ErrorCode =>
  own.has(code) ? code : (byStatus[statusOf(code)] ?? 'invalid_request');

/** Returns the text with only the characters that RFC 6749 allows in `error_description`. */
const allowedIn = (text: string): string => text.replaceAll(/["\\]/g, "'").replaceAll(/[^\x20-\x7e]/g, '?');

/** Why credentials were refused is not told: only an error that was thrown with the code itself keeps its text. */
const descriptionOf = (code: ErrorCode, error: AppError): string =>
  code === 'invalid_request' || error.code === code ? error.message : defaultDetailOf(code);

/**
 * The challenge names the scheme that the client used, or Basic if it used none. The refusal of an application has its own, if it
 * used Basic.
 */
function challengeOf(
  code: ErrorCode,
  { headers, routeOptions }: FastifyRequest,
  { extras }: AppError,
): Record<string, string> {
  if (code === 'invalid_client' && extras.headers !== undefined) return {};
  const isBearer = routeOptions.config.access !== 'public' && /^bearer /i.test(headers.authorization ?? '');
  if (code === 'invalid_client')
    return {
      'www-authenticate': isBearer
        ? 'Bearer error="invalid_token"'
        : 'Basic realm="service accounts", charset="UTF-8"',
    };
  return code === 'insufficient_scope' && isBearer
    ? { 'www-authenticate': 'Bearer error="insufficient_scope"' }
    : {};
}

export const oauthErrors: ErrorShape = {
  schema: OAuthError,
  codeOf,
  bodyOf: (code, error) => ({ error: code, error_description: allowedIn(descriptionOf(code, error)) }),
  headersOf: (code, request, error) => ({ pragma: 'no-cache', ...challengeOf(code, request, error) }),
};

/** The challenge answers the scheme that was tried (RFC 9449, 7.1). A token that is bound to a key brings its own. */
function userinfoChallenge({ headers }: FastifyRequest, error: AppError): Record<string, string> {
  if (error.code === 'token_missing') return { 'www-authenticate': 'Bearer' };
  return /^dpop /i.test(headers.authorization ?? '')
    ? keyChallenge
    : { 'www-authenticate': 'Bearer error="invalid_token"' };
}

/** Errors of userinfo: RFC 6750, section 3.1. */
const userinfoByStatus: Readonly<Record<number, ErrorCode>> = { ...byStatus, 401: 'invalid_token' };

export const userinfoErrors: ErrorShape = {
  schema: OAuthError,
  codeOf: (code) => (own.has(code) ? code : (userinfoByStatus[statusOf(code)] ?? 'invalid_request')),
  bodyOf: oauthErrors.bodyOf,
  headersOf: (code, request, error) => ({
    pragma: 'no-cache',
    ...(code === 'invalid_token' ? userinfoChallenge(request, error) : {}),
    ...(code === 'insufficient_scope'
      ? { 'www-authenticate': 'Bearer error="insufficient_scope", scope="openid"' }
      : {}),
  }),
};
