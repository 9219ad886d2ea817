// The catalogue of error codes: each code's HTTP status and its default sentence.
// Programs switch on `code`, people read `detail`. A status is never chosen anywhere else.

export const errorCatalogue = {
  // 400
  malformed_json: [400, 'The request body is not valid JSON. Send one JSON value, UTF-8 encoded.'],
  malformed_request: [400, 'The request could not be read.'],
  invalid_text: [
    400,
    'The request contains NUL characters or ill-formed Unicode. Remove them and try again.',
  ],
  invalid_id: [400, 'An id in the request is not a UUID.'],
  invalid_input: [400, 'The request is missing a field or has a value that is not allowed. See errors.'],
  invalid_email: [400, 'This is not an e-mail address that can be used here.'],
  sanitization_failed: [400, 'The e-mail or password contains characters that are never part of one.'],
  verification_token_invalid: [400, 'The verification link is invalid or has expired. Ask for a new one.'],
  already_verified: [400, 'This e-mail address is verified already. Sign in.'],
  reset_token_invalid: [400, 'The reset link is invalid or has expired. Ask for a new one.'],
  wrong_current_password: [400, 'The current password is wrong.'],
  password_rejected: [400, 'The password does not meet the password policy.'],
  registration_refused: [400, 'Too many registrations from here. Try again later.'],
  field_not_allowed: [400, 'A field in the body cannot be changed here. See errors.'],
  hierarchy_too_deep: [400, 'Groups can be nested 32 levels deep at most.'],
  password_in_bulk: [400, 'Passwords cannot be set in bulk. Set them one by one.'],
  // 401
  token_missing: [401, 'Sign in: send Authorization: Bearer <access token>.'],
  token_invalid: [401, 'The access token is invalid.'],
  token_expired: [401, 'The access token has expired. Refresh it.'],
  token_revoked: [401, 'The access token has been revoked. Sign in again.'],
  refresh_token_invalid: [401, 'The refresh token is invalid or has expired. Sign in again.'],
  // 403
  csrf_invalid: [
    403,
    'The CSRF token is missing or invalid. Get one from /api/v1/auth/csrf-token and send it as X-CSRF-Token with the cookie that came with it.',
  ],
  permission_denied: [403, 'You do not have the permission for this operation.'],
  privilege_escalation: [403, 'You cannot hand out a permission that you do not have yourself.'],
  superuser_required: [403, 'Only a superuser may do this.'],
  self_delete: [403, 'You cannot delete your own account.'],
  system_role: [403, 'A system role cannot be changed in this way.'],
  admin_required: [403, 'Only administrators may see this.'],
  // 404, 405
  route_not_found: [404, 'There is nothing at this address.'],
  user_not_found: [404, 'There is no user with this id.'],
  session_not_found: [404, 'There is no live session with this id.'],
  role_not_found: [404, 'There is no role with this id.'],
  permission_not_found: [404, 'There is no permission with this id.'],
  role_group_not_found: [404, 'There is no role group with this id.'],
  permission_group_not_found: [404, 'There is no permission group with this id.'],
  method_not_allowed: [405, 'This method is not allowed here. See the Allow header.'],
  // 408 to 415
  request_timeout: [408, 'The request took too long to arrive.'],
  email_taken: [409, 'An account with this e-mail address exists already.'],
  name_taken: [409, 'This name is taken already; names compare without regard to case.'],
  user_has_roles: [409, 'The user has roles. Remove them first.'],
  last_superuser: [
    409,
    'This is the last active superuser: it can be neither deleted, deactivated nor demoted.',
  ],
  role_in_use: [409, 'The role still has permissions or users. Remove them first.'],
  permission_in_use: [409, 'The permission belongs to a role. Remove it there first.'],
  group_in_use: [409, 'The group still has child groups or members. Remove them first.'],
  circular_dependency: [409, 'This would make a circle.'],
  idempotency_in_progress: [409, 'The first request with this Idempotency-Key is still being worked on.'],
  conflict: [409, 'The change conflicts with the present state. Read the record again and retry.'],
  precondition_failed: [412, 'The record has changed since you read it. See `current`.'],
  body_too_large: [413, 'The request body is too large.'],
  uri_too_long: [414, 'The address is too long.'],
  unsupported_media_type: [415, 'Send the body as Content-Type: application/json.'],
  // 422
  validation_failed: [422, 'The request is missing a field or has a value that is not allowed. See errors.'],
  invalid_credentials: [422, 'The e-mail or password is wrong.'],
  account_locked: [422, 'This account is locked after too many failed attempts. Try again later.'],
  email_not_verified: [
    422,
    'The e-mail address is not verified yet. Follow the link in the mail, or ask for a new one.',
  ],
  idempotency_key_reused: [422, 'This Idempotency-Key was used with another request. Take a new key.'],
  // 429
  rate_limited: [429, 'Too many requests. Wait before you try again.'],
  // 431, 5xx
  headers_too_large: [431, 'The request headers are too large.'],
  internal_error: [500, 'Something went wrong on our side. Tell us the request_id if it keeps happening.'],
  overloaded: [503, 'The service is busy. Try again in a moment.'],
  database_unavailable: [503, 'The service cannot reach its database right now. Try again in a moment.'],
} as const satisfies Record<string, readonly [status: number, detail: string]>;

export type ErrorCode = keyof typeof errorCatalogue;

export const statusOf = (code: ErrorCode): number => errorCatalogue[code][0];
export const defaultDetailOf = (code: ErrorCode): string => errorCatalogue[code][1];
