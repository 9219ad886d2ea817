// Why a provider did not say who somebody is, from what openid-client, jose and outbound requests throw. Their errors hold parts of
// answers, so nothing of them is kept but a code.
import { GateFullError } from '../../../platform/limits/gate.ts';
import { OutboundError } from '../../../platform/outbound/request.ts';
import { errorCode, isObject } from '../../../platform/unknown-values.ts';
import { UpstreamError, type UpstreamFailure } from './assertion.ts';

/** Errors of the person, or of a rule of the provider (RFC 6749, 4.1.2.1; OpenID Connect Core, 3.1.2.6; Apple's and LinkedIn's). */
const denials: ReadonlySet<string> = new Set([
  'access_denied',
  'login_required',
  'consent_required',
  'interaction_required',
  'account_selection_required',
  'unmet_authentication_requirements',
  'user_cancelled_authorize',
  'user_cancelled_login',
]);
const outages: ReadonlySet<string> = new Set(['temporarily_unavailable', 'server_error']);
/** Errors that are told to operators by name. Any other one may be anything. */
const named: ReadonlySet<string> = new Set([
  ...denials,
  ...outages,
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
  // GitHub's.
  'bad_verification_code',
  'incorrect_client_credentials',
  'redirect_uri_mismatch',
  'unverified_user_email',
  'application_suspended',
]);

/** Outbound requests that another try does not help. */
const refusals: ReadonlySet<string> = new Set(['address_refused', 'not_https', 'too_large']);

const TOO_MANY_REQUESTS = 429;

/** Returns the error for whatever was thrown while a provider was asked. */
export function upstreamErrorOf(thrown: unknown): UpstreamError {
  if (thrown instanceof UpstreamError) return thrown;
  if (thrown instanceof GateFullError)
    return new UpstreamError('unavailable', 'overloaded', thrown.retryAfterSeconds);
  const outbound = [thrown, causeOf(thrown), causeOf(causeOf(thrown))].find(
    (one) => one instanceof OutboundError,
  );
  if (outbound)
    return new UpstreamError(refusals.has(outbound.code) ? 'unacceptable' : 'unavailable', outbound.code);
  const code = errorCode(thrown);
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR' || code === 'OAUTH_RESPONSE_BODY_ERROR')
    return ofOAuth(isObject(thrown) ? thrown.error : undefined, code, statusOf(thrown));
  if (code === 'OAUTH_TIMEOUT' || code === 'ERR_JWKS_TIMEOUT')
    return new UpstreamError('unavailable', 'timeout');
  const kind: UpstreamFailure = isOutage(statusOf(causeOf(thrown))) ? 'unavailable' : 'unacceptable';
  // A TypeError is thrown over answers that have the wrong shape.
  return new UpstreamError(kind, code ?? (thrown instanceof Error ? thrown.name : 'failed'));
}

function ofOAuth(error: unknown, code: string, status: number | undefined): UpstreamError {
  const name = typeof error === 'string' ? error : '';
  const kind = denials.has(name)
    ? 'denied'
    : outages.has(name) || isOutage(status)
      ? 'unavailable'
      : 'unacceptable';
  return new UpstreamError(kind, named.has(name) ? name : code);
}

const isOutage = (status: number | undefined): boolean =>
  status !== undefined && (status >= 500 || status === TOO_MANY_REQUESTS);

const causeOf = (thrown: unknown): unknown => (isObject(thrown) ? thrown.cause : undefined);

function statusOf(value: unknown): number | undefined {
  const status = isObject(value) ? value.status : undefined;
  return typeof status === 'number' ? status : undefined;
}
