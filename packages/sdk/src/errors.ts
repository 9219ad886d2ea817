// The error that rejected calls carry. It must never contain a token, a cookie or a request.
import type { ErrorCode, FieldError, SecondFactorRequest, StepUpRequest } from './api.ts';
import type { StepUpRequirement } from './session/step-ups.ts';

/**
 * Codes that the client itself sets.
 *
 * - `network_error`: no response arrived. The request may have been carried out. `status` is 0.
 * - `timeout`: the response was not complete after `timeoutMs`. The request may have been carried out. `status` is 0.
 * - `malformed_response`: the response is not one of Castellan: a redirect, another content type, invalid or cut JSON, or
 *   a page that repeats.
 * - `not_modified`: the service has the version whose ETag you sent as `if-none-match`. `status` is 304.
 * - `session_changed`: another user signed in while the request ran. It may have been carried out; its result was
 *   dropped. `status` is 0.
 * - `passkey_cancelled`: the person closed the dialog of the browser or did not answer it in time, or another request for a
 *   passkey replaced this one. Browsers do not tell which. `status` is 0.
 * - `passkey_unsupported`: this browser has no passkeys, or none for this page. `status` is 0.
 */
export type ClientErrorCode =
  | 'network_error'
  | 'timeout'
  | 'malformed_response'
  | 'not_modified'
  | 'session_changed'
  | 'passkey_cancelled'
  | 'passkey_unsupported';

/** A newer service may send codes that these types do not list. */
export type CastellanErrorCode = ErrorCode | ClientErrorCode | (string & Record<never, never>);

export type CastellanErrorDetails = {
  status?: number;
  requestId?: string | null;
  fields?: readonly FieldError[];
  reasons?: readonly string[];
  retryAfterMs?: number | null;
  body?: Readonly<Record<string, unknown>> | null;
  cause?: unknown;
};

const noDetails = { status: 0, requestId: null, fields: [], reasons: [], retryAfterMs: null, body: null };

export class CastellanError extends Error {
  override readonly name = 'CastellanError';
  /** Stable: switch on it. */
  declare readonly code: CastellanErrorCode;
  /** The HTTP status; 0 without a response. */
  declare readonly status: number;
  /** Quote it when you report a problem. Null without a response. */
  declare readonly requestId: string | null;
  /** The wrong fields of the request; often empty. */
  declare readonly fields: readonly FieldError[];
  /** Every rule that a rejected password breaks, with `password_rejected`; otherwise empty. */
  declare readonly reasons: readonly string[];
  /** How long the service asked to wait, in milliseconds; null if it did not. */
  declare readonly retryAfterMs: number | null;
  /** The body of the response, for members such as `required_permission`; null if it was not a JSON object. */
  declare readonly body: Readonly<Record<string, unknown>> | null;

  constructor(code: CastellanErrorCode, message: string, details: CastellanErrorDetails = {}) {
    super(message, details);
    // Apps load less of it than of seven assignments; the fields are declared only for the same reason.
    Object.assign(this, noDetails, details, { code });
  }

  /** What completes the sign-in, for `auth.completeSignIn`, with `second_factor_required`; otherwise null. */
  get secondFactor(): SecondFactorRequest | null {
    return (this.body?.second_factor as SecondFactorRequest) ?? null;
  }

  /** What `auth.stepUp` must prove before the call is repeated, with `step_up_required`; otherwise null. */
  get stepUp(): StepUpRequirement | null {
    const wire = this.body?.step_up as StepUpRequest | undefined;
    return wire ? { requiredAcr: wire.required_acr, maxAge: wire.max_age } : null;
  }
}
