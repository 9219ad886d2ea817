import type { Requirement } from './requirement.ts';

/** What a guard answers instead of letting a request through, with its HTTP status. */
const statuses = {
  missing_token: 401,
  invalid_token: 401,
  insufficient_user_authentication: 401,
  permission_denied: 403,
  rate_limited: 429,
  unavailable: 503,
} as const;

export type GuardErrorCode = keyof typeof statuses;

type Details = {
  requiredPermission?: string | undefined;
  requirement?: Requirement;
  retryAfterSeconds?: number;
  cause?: unknown;
};

/**
 * A refusal. `code` is `unavailable` whenever there is no trustworthy answer from Castellan: no connection, a timeout, an
 * unexpected status, redirect or body, or clocks that differ. `message` is for logs; it contains no token.
 */
export class GuardError extends Error {
  override readonly name = 'GuardError';
  readonly code: GuardErrorCode;
  readonly status: 401 | 403 | 429 | 503;
  /** The permission that the caller lacks, with `permission_denied`; or may not use yet, with `insufficient_user_authentication`. */
  readonly requiredPermission: string | undefined;
  /** What the user must prove first, with `insufficient_user_authentication`. */
  readonly requirement: Requirement | undefined;
  /** When to try again, with `rate_limited` and if Castellan said so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: GuardErrorCode, message: string, details: Details = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = statuses[code];
    this.requiredPermission = details.requiredPermission;
    this.requirement = details.requirement;
    this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

/** Returns the refusal for whatever was thrown while a decision was made. */
export const refusalOf = (error: unknown): GuardError =>
  error instanceof GuardError
    ? error
    : new GuardError('unavailable', 'The decision failed unexpectedly.', { cause: error });
