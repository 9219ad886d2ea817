// The catalogue of error codes, with the HTTP status and the default `detail` of each.
// Programs use `code`, people read `detail`. No other file chooses a status.

export const errorCatalogue = {
  // 400
  malformed_json: [400, 'The request body is not valid JSON. Send one JSON value, UTF-8 encoded.'],
  malformed_request: [400, 'The request could not be read.'],
  invalid_text: [
    400,
    'The request contains NUL characters or ill-formed Unicode. Remove them and try again.',
  ],
  invalid_id: [400, 'An id in the request is not a UUID. Send ids as UUIDs.'],
  invalid_input: [
    400,
    'The request lacks a required field or contains a value that is not allowed. See errors.',
  ],
  invalid_email: [400, 'This is not an email address that can be used here. Check its spelling.'],
  sanitization_failed: [400, 'The email or password contains characters that are not allowed. Remove them.'],
  verification_token_invalid: [400, 'The verification link is invalid or has expired. Request a new one.'],
  already_verified: [400, 'This email address is already verified. Sign in.'],
  registration_not_pending: [
    400,
    'This account is not a pending registration and cannot be declined. Contact an administrator.',
  ],
  reset_token_invalid: [400, 'The reset link is invalid or has expired. Request a new one.'],
  invitation_token_invalid: [
    400,
    'The invitation is invalid, has expired, was withdrawn or was accepted before. Ask for a new one.',
  ],
  wrong_current_password: [400, 'The current password is wrong.'],
  no_password: [400, 'This account has no password. Set one with the link of a password reset.'],
  password_rejected: [400, 'The password does not meet the password policy.'],
  registration_refused: [400, 'Too many registrations from this network or for this email. Try again later.'],
  field_not_allowed: [400, 'A field in the body cannot be changed by this operation. See errors.'],
  hierarchy_too_deep: [400, 'Groups can be nested at most 32 levels deep.'],
  use_change_password: [
    400,
    'Change your own password with /api/v1/auth/change_password, which requires the current one.',
  ],
  password_in_bulk: [400, 'Passwords cannot be set in bulk. Set them one at a time.'],
  use_own_factors: [400, 'Change your own factors under /api/v1/auth/factors.'],
  // 401
  token_missing: [401, 'Sign in: send Authorization: Bearer <access token>.'],
  token_invalid: [401, 'The access token is invalid.'],
  token_expired: [401, 'The access token has expired. Refresh it.'],
  token_revoked: [401, 'The access token has been revoked. Sign in again.'],
  api_key_invalid: [401, 'The API key is wrong.'],
  api_key_expired: [401, 'The API key has expired. Use a new one.'],
  api_key_revoked: [401, 'The API key has been revoked. Use another one.'],
  service_account_inactive: [401, 'The service account of this API key is not active.'],
  refresh_token_invalid: [401, 'The refresh token is invalid or has expired. Sign in again.'],
  // 403
  csrf_invalid: [
    403,
    'The CSRF token is missing or invalid. Get one from /api/v1/auth/csrf-token and send it as X-CSRF-Token with the cookie that came with it.',
  ],
  password_change_required: [
    403,
    'Change your password first, with /api/v1/auth/change_password. Until then, other operations are refused.',
  ],
  second_factor_enrolment_required: [
    403,
    'Your account needs a second factor. Set one up under /api/v1/auth/factors; until then, other operations are refused.',
  ],
  step_up_required: [403, 'Confirm that it is you, then repeat the request.'],
  permission_denied: [403, 'You do not have the permission that this operation requires.'],
  user_required: [403, 'Only a signed-in user can do this: it concerns the account of a person.'],
  privilege_escalation: [403, 'This requires permissions that you do not hold.'],
  superuser_required: [403, 'Only a superuser can do this.'],
  self_delete: [403, 'You cannot delete your own account.'],
  system_role: [
    403,
    'The name and permissions of a system role cannot be changed, and it cannot be deleted.',
  ],
  admin_required: [403, 'Only administrators can see this.'],
  // 404, 405
  route_not_found: [404, 'There is no resource at this path.'],
  user_not_found: [404, 'There is no user with this id.'],
  session_not_found: [404, 'There is no live session with this id.'],
  role_not_found: [404, 'There is no role with this id.'],
  service_account_not_found: [404, 'There is no service account with this id.'],
  api_key_not_found: [404, 'There is no API key with this id at this service account.'],
  permission_not_found: [404, 'There is no permission with this id.'],
  role_group_not_found: [404, 'There is no role group with this id.'],
  permission_group_not_found: [404, 'There is no permission group with this id.'],
  application_not_found: [404, 'There is no application with this id.'],
  api_resource_not_found: [404, 'There is no API resource with this id.'],
  user_attribute_not_found: [404, 'There is no user attribute with this id.'],
  identity_not_found: [404, 'There is no such identity of this account.'],
  identity_provider_not_found: [404, 'There is no such identity provider, or it is not active.'],
  pending_identity_not_found: [
    404,
    'No sign-in with a provider waits in this browser, or it has expired. Begin again on the sign-in page.',
  ],
  interaction_not_found: [
    404,
    'This request of an application is finished or has expired. Begin again there.',
  ],
  user_code_unknown: [404, 'No device waits for this code. Check it, or ask for a new one on the device.'],
  application_secret_not_found: [404, 'There is no secret with this id at this application.'],
  access_grant_not_found: [404, 'There is no live authorization with this id at this application.'],
  factor_not_found: [404, 'There is no such factor of this account.'],
  device_not_found: [404, 'There is no such device of this account.'],
  method_not_allowed: [405, 'This method is not allowed for this path. See the Allow header.'],
  // 408 to 415
  request_timeout: [408, 'The request took too long to arrive. Send it again.'],
  email_taken: [409, 'An account with this email address already exists.'],
  external_id_taken: [409, 'Another record of this kind has this external id.'],
  name_taken: [409, 'This name is already taken. Names are compared case-insensitively.'],
  passkeys_unavailable: [409, 'Passkeys are switched off, or this address cannot have them.'],
  passkey_taken: [409, 'This passkey is registered already.'],
  too_many_factors: [409, 'An account has at most 20 passkeys. Remove one first.'],
  enrolment_expired: [409, 'The set-up is over, or was begun elsewhere. Start again.'],
  no_factor: [409, 'The account has no second factor.'],
  last_factor: [409, 'Your roles need a second factor. Add another one before you remove this.'],
  key_ended: [409, 'This API key has expired or was revoked. Create a new one.'],
  too_many_keys: [
    409,
    'The service account has as many API keys as it can have. Revoke one that is not used.',
  ],
  user_has_roles: [409, 'The user has roles. Remove them first.'],
  last_superuser: [
    409,
    'This is the last active superuser. The account cannot be deleted, deactivated or demoted.',
  ],
  role_in_use: [409, 'The role still has permissions, users or service accounts. Remove them first.'],
  too_many_secrets: [409, 'An application has at most 5 live secrets. Revoke one that is not used.'],
  api_resource_in_use: [409, 'An application has this API resource. Remove it there first.'],
  user_attribute_in_use: [
    409,
    'Users have values of this attribute that the change would remove or not allow. See errors.',
  ],
  user_attribute_taken: [409, 'Another user has this value of a unique attribute.'],
  too_many_user_attributes: [409, 'At most 100 attributes can be declared. Delete one that is not used.'],
  identity_taken: [409, 'This identity is connected to another account.'],
  last_sign_in_method: [
    409,
    'There is no other way to sign in to this account. Set a password, add a passkey, or connect another provider first.',
  ],
  provider_in_use: [
    409,
    'Accounts are connected to this identity provider. Delete it with `?force=true` to disconnect them.',
  ],
  permission_in_use: [
    409,
    'The permission belongs to a role, or an application requires it. Remove it there first.',
  ],
  group_in_use: [
    409,
    'The group still has child groups or members, or an API resource has it. Remove them first.',
  ],
  circular_dependency: [409, 'This change would create a cycle.'],
  idempotency_in_progress: [
    409,
    'The first request with this Idempotency-Key is still being processed. Try again in a moment.',
  ],
  not_invited: [409, 'This user is not invited, or has accepted the invitation.'],
  conflict: [409, 'The change conflicts with the current state. Read the record again and retry.'],
  precondition_failed: [412, 'The record has changed since you read it. See `current`.'],
  body_too_large: [413, 'The request body is too large.'],
  uri_too_long: [414, 'The URL is too long.'],
  unsupported_media_type: [415, 'Send the body as Content-Type: application/json.'],
  // 422
  validation_failed: [
    422,
    'The request lacks a required field or contains a value that is not allowed. See errors.',
  ],
  invalid_credentials: [422, 'The email or password is wrong.'],
  account_locked: [422, 'This account is locked after too many failed attempts. Try again later.'],
  email_not_verified: [
    422,
    'The email address is not verified yet. Follow the link in the mail, or request a new one.',
  ],
  code_invalid: [
    422,
    'This code is wrong, was used, or has expired. Check the newest mail, or ask for another code.',
  ],
  provider_required: [422, 'People with this email address sign in with their identity provider.'],
  second_factor_required: [422, 'The password is right. Confirm with your second factor.'],
  second_factor_invalid: [
    422,
    'This code is wrong or was used. Check the time of your device and try the next one.',
  ],
  code_already_used: [422, 'This code was just used. Wait for the next one.'],
  second_factor_locked: [422, 'Too many wrong codes. Use a passkey or a recovery code, or try again later.'],
  sign_in_expired: [422, 'This sign-in is over. Start again with your password.'],
  passkey_unknown: [422, 'This passkey does not belong to an account here. It may have been removed.'],
  passkey_refused: [422, 'The passkey could not be verified. Try again, or sign in another way.'],
  too_many_matches: [
    422,
    'The filter matches more records than one request may change. Nothing was changed. Narrow the filter.',
  ],
  idempotency_key_reused: [422, 'This Idempotency-Key was used with another request. Use a new key.'],
  // 429
  rate_limited: [429, 'Too many requests. Wait before you try again.'],
  // 431, 499, 5xx
  headers_too_large: [431, 'The request headers are too large.'],
  // Never sent. Proxies use this status in their access logs.
  client_gone: [499, 'The client closed the connection before the response.'],
  internal_error: [500, 'Something went wrong in the service. If it happens again, report the request_id.'],
  provider_unavailable: [503, 'The identity provider cannot be reached right now. Try again in a moment.'],
  overloaded: [503, 'The service is busy. Try again in a moment.'],
  database_unavailable: [503, 'The service cannot reach its database right now. Try again in a moment.'],
  // Values of `error` at /api/v1/oauth, where the body is `{error, error_description}` (RFC 6749, 5.2; RFC 6750, 3.1).
  invalid_request: [400, 'The request lacks a parameter, repeats one, or is malformed.'],
  unsupported_grant_type: [400, 'This grant type is not supported. Send grant_type=client_credentials.'],
  invalid_scope: [400, 'This request cannot have that scope. Leave scope out, or ask for less.'],
  invalid_grant: [
    400,
    'The code or the refresh token is unknown, used, expired or of another application. Let the user sign in again.',
  ],
  unauthorized_client: [
    400,
    'This client may not use this grant type. Add it to the record of the application.',
  ],
  invalid_target: [400, 'The application may not have tokens for this resource.'],
  invalid_dpop_proof: [
    400,
    'The DPoP proof is missing or wrong. Send one new JWT in the header DPoP, made for this method and address and signed by the key in its jwk.',
  ],
  unsupported_response_type: [400, 'This response_type is not supported. Send response_type=code.'],
  request_not_supported: [400, 'Request objects are not supported. Send the parameters themselves.'],
  request_uri_not_supported: [400, 'A pushed request has no request_uri. Send the parameters themselves.'],
  authorization_pending: [400, 'Nobody has allowed or denied this device yet. Ask again after the interval.'],
  slow_down: [400, 'The device asked too soon. Wait 5 seconds longer between two requests from now on.'],
  access_denied: [400, 'The person did not allow this device.'],
  expired_token: [400, 'The device code has expired. Begin again.'],
  browser_session_required: [401, 'Nobody is signed in in this browser. Sign in, then try again.'],
  invalid_token: [401, 'The access token is missing, has ended, or is not for this operation.'],
  invalid_client: [
    401,
    'The client is not authenticated. Send the id of a service account and one of its live API keys.',
  ],
  insufficient_scope: [403, 'The client does not have the permission that this operation requires.'],
  server_error: [500, 'Something went wrong in the service. If it happens again, report the X-Request-ID.'],
  temporarily_unavailable: [503, 'The service is busy or cannot reach its database. Try again in a moment.'],
} as const satisfies Record<string, readonly [status: number, detail: string]>;

export type ErrorCode = keyof typeof errorCatalogue;

export const statusOf = (code: ErrorCode): number => errorCatalogue[code][0];
export const defaultDetailOf = (code: ErrorCode): string => errorCatalogue[code][1];
