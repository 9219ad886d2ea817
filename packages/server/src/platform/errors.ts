// The one error that services throw on purpose. Its code decides the status (contract/errors.ts).
// Anything else that reaches the error handler is a fault of ours and answers 500.

import type { FieldError } from '@castellan/contract/envelope';
import { defaultDetailOf, type ErrorCode, statusOf } from '@castellan/contract/errors';

export type ErrorExtras = {
  /** Replaces the code's own sentence. */
  detail?: string | { message: string; errors: string[] };
  errors?: FieldError[];
  /** Seconds; becomes the Retry-After header. */
  retryAfterSeconds?: number;
  headers?: Record<string, string>;
  /** On 412: the record as it is now. */
  current?: object;
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
