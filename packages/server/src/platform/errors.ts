// The error that services throw on purpose. Its code decides the status (contract/errors.ts).
// Any other error that reaches the error handler is a bug and answers 500.

import type { ErrorBody, FieldError } from '@castellan/contract/envelope';
import { defaultDetailOf, type ErrorCode, statusOf } from '@castellan/contract/errors';

export type ErrorExtras = {
  /** Replaces the default sentence of the code. */
  detail?: string | { message: string; errors: string[] };
  errors?: FieldError[];
  /** Seconds; becomes the Retry-After header. */
  retryAfterSeconds?: number;
  headers?: Record<string, string>;
  /** With `permission_denied`: the permission that the operation requires. */
  requiredPermission?: string;
  /** On 412: the current record. */
  current?: Record<string, unknown>;
  /** Members of the body that belong to this code alone. */
  members?: Pick<
    ErrorBody,
    'second_factor' | 'attempts_left' | 'step_up' | 'required_acr' | 'provider' | 'users'
  >;
};

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly extras: ErrorExtras;

  constructor(code: ErrorCode, extras: ErrorExtras = {}) {
    super(typeof extras.detail === 'string' ? extras.detail : defaultDetailOf(code));
    this.name = 'AppError';
    this.code = code;
    this.status = statusOf(code);
    this.extras = extras;
  }
}
