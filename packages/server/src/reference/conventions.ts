// What holds for every operation of the service, for the OpenAPI document: errors, authentication, examples.
// It must not state a rule that the hooks do not enforce, nor a code that only a refused connection or an unknown path
// gets.
import { ErrorBody } from '@castellan/contract/envelope';
import { defaultDetailOf, type ErrorCode, errorCatalogue } from '@castellan/contract/errors';
import { fieldExamples } from '@castellan/contract/examples';
import { type Conventions, schemaOf } from '@castellan/openapi';
import { CSRF_COOKIE } from '../platform/http/plugins/csrf-protection.ts';

export const conventions: Omit<Conventions<ErrorCode>, 'cookiePrefix' | 'tags'> = {
  errors: errorCatalogue,
  implied: {
    always: ['internal_error', 'invalid_text'],
    // The last two are limits per user: requests per minute (RATE_LIMIT_USER), and concurrent requests.
    signedIn: [
      'token_missing',
      'token_invalid',
      'token_expired',
      'token_revoked',
      'api_key_invalid',
      'api_key_expired',
      'api_key_revoked',
      'service_account_inactive',
      'personal_token_invalid',
      'personal_token_expired',
      'personal_token_revoked',
      'user_session_required',
      'personal_tokens_off',
      'rate_limited',
      'overloaded',
    ],
    permission: ['permission_denied'],
    personal: ['user_required'],
    csrf: ['csrf_invalid'],
    limited: ['rate_limited'],
    body: ['malformed_json', 'body_too_large'],
    idempotent: ['malformed_request', 'idempotency_key_reused', 'idempotency_in_progress'],
    uuid: ['invalid_id'],
    // Everything below /api needs the database; probes and public keys do not.
    below: { '/api/': ['database_unavailable'] },
  },
  retryAfter: [
    'rate_limited',
    'account_locked',
    'overloaded',
    'idempotency_in_progress',
    'database_unavailable',
    'temporarily_unavailable',
  ],
  failure: schemaOf(ErrorBody),
  // RFC 9457, for clients that send `Accept: application/problem+json`.
  problem: {
    title: 'Problem',
    description: 'RFC 9457. Returned instead of Error if `Accept` names application/problem+json.',
    type: 'object',
    required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
    properties: {
      ...schemaOf(ErrorBody).properties,
      type: { type: 'string', format: 'uri', description: 'Explains the code.' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
      password_errors: { type: 'array', items: { type: 'string' }, description: 'Every broken rule.' },
    },
  },
  failureExample,
  examples: fieldExamples,
  bearer: 'The access token of a live session, an API key, or an access token made from one.',
  basic: 'The id of a service account and one of its API keys.',
  csrf: {
    header: 'X-CSRF-Token',
    headerIs: 'A token issued to the browser that sends it. State-changing requests require it.',
    cookie: CSRF_COOKIE,
    cookieIs: 'The cookie that was set with the CSRF token.',
  },
};

const withFields: Partial<Record<ErrorCode, { field: string; code: string; message: string }>> = {
  validation_failed: { field: 'email', code: 'required', message: 'is required' },
  invalid_input: { field: 'email', code: 'required', message: 'is required' },
  invalid_id: { field: 'path.id', code: 'invalid_uuid', message: 'must be a UUID' },
};

function failureExample(code: ErrorCode): object {
  const field = withFields[code];
  const sentence = field ? `${field.field} ${field.message}.` : defaultDetailOf(code);
  return {
    detail:
      code === 'password_rejected'
        ? { message: sentence, errors: ['Use at least 12 characters.', 'Add a digit.'] }
        : sentence,
    code,
    request_id: fieldExamples.request_id,
    ...(field ? { errors: [field] } : {}),
    ...(code === 'permission_denied' ? { required_permission: fieldExamples.required_permission } : {}),
  };
}
