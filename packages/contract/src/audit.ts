// The names of the events in the audit log.
// An action that is not listed here cannot be written.

export const auditActions = [
  'login_succeeded',
  'login_failed',
  'account_locked',
  'account_unlocked',
  'user_registered',
  'registration_refused',
  'email_verified',
  'verification_refused',
  'verification_email_sent',
  'password_reset_requested',
  'password_changed',
  'password_reset',
  'password_set_by_admin',
  'password_refused',
  'session_refreshed',
  'refresh_failed',
  'refresh_origin_network_mismatch',
  'refresh_token_reuse',
  'session_revoked',
  'logout',
  'logout_all',
  'unverified_account_deleted',
  'permission_denied',
  'csrf_refused',
  'rate_limited',
  'user_profile_updated',
  'signing_key_rotated',
] as const;

export type AuditAction = (typeof auditActions)[number];
