// The names of the events in the audit log, and how the log is read.
// An action that is not listed here cannot be written.
import Type from 'typebox';
import { Timestamp, Uuid } from './common.ts';

/** Action → what happened. `details` always holds the client address and request id where a request caused it. */
export const auditActionCatalogue = {
  login_succeeded: 'A user signed in. details: email, session_id, user_agent.',
  login_failed:
    'A sign-in was refused. details.reason: unknown_user, wrong_password, locked, unverified, inactive or sanitization.',
  account_locked: 'Too many failed attempts locked an e-mail address, whether or not an account has it.',
  account_unlocked: 'The lock ended. details.reason: expired, password_set or administrator.',
  user_registered: 'Somebody opened an account.',
  registration_refused:
    'A registration was refused. details.reason: abuse_limit, email_taken or password_rejected.',
  email_verified: 'A user confirmed his e-mail address.',
  verification_refused: 'A verification link was refused. details.reason: the error code.',
  verification_email_sent:
    'A verification mail was asked for. details.outcome: queued, already_verified, no_account or limited.',
  password_reset_requested: 'A reset mail was asked for. details.outcome: queued, no_account or limited.',
  password_changed: 'A user changed the own password; every session ended.',
  password_reset: 'A password was set through a mailed link; every session ended.',
  password_set_by_admin: "An administrator set a user's password; every session of that user ended.",
  password_refused: 'A new password was refused, or the current one was wrong, or the link was.',
  session_refreshed: 'New tokens were given for a refresh token. details.rotated tells which path.',
  refresh_failed: 'A refresh was refused. details.reason: unknown or the security event beside it.',
  refresh_origin_network_mismatch: 'A refresh came from another network than the login; the session ended.',
  refresh_token_reuse: 'An exchanged refresh token was used again; the session ended.',
  session_revoked: 'A session was ended by its owner, by an administrator or by the cap. details.reason.',
  logout: 'A user ended one session.',
  logout_all: 'A user ended every session.',
  unverified_account_deleted: 'The clean-up removed an account that nobody verified in time.',
  permission_denied:
    'Somebody lacked the permission of an operation, or tried what his rights do not reach. details: permission or code, method, route.',
  csrf_refused: 'A state-changing request had no valid CSRF token.',
  rate_limited: 'A request was over its limit. details.limit.',
  user_profile_updated: 'A user changed the own names.',
  user_created: 'An administrator made a user.',
  user_updated: 'An administrator changed a user.',
  user_deleted: 'An administrator deleted a user.',
  user_roles_changed: 'An administrator changed the roles of a user.',
  role_created: 'A role was made.',
  role_updated: 'A role was changed.',
  role_deleted: 'A role was deleted.',
  role_permissions_changed: 'The permissions of a role were replaced or reduced.',
  role_group_created: 'A role group was made.',
  role_group_updated: 'A role group was changed.',
  role_group_moved: 'A role group got another parent.',
  role_group_deleted: 'A role group was deleted.',
  role_group_cloned: 'A role group was copied with its roles.',
  role_group_roles_changed: 'Roles were added to a group or taken out of it.',
  role_groups_synced: "Links were repaired from each role's role_group_id.",
  permission_group_created: 'A permission group was made.',
  permission_group_updated: 'A permission group was changed; with its name its permissions changed theirs.',
  permission_group_moved: 'A permission group got another parent.',
  permission_group_deleted: 'A permission group was deleted.',
  permission_created: 'A permission was made.',
  permission_deleted: 'A permission was deleted.',
  signing_key_rotated: 'A new signing key was made.',
} as const;

export type AuditAction = keyof typeof auditActionCatalogue;
export const auditActions = Object.keys(auditActionCatalogue) as AuditAction[];

/** What `result=failure` finds; every other action is a success. */
export const failureActions: readonly AuditAction[] = [
  'login_failed',
  'account_locked',
  'registration_refused',
  'verification_refused',
  'password_refused',
  'refresh_failed',
  'refresh_origin_network_mismatch',
  'refresh_token_reuse',
  'permission_denied',
  'csrf_refused',
  'rate_limited',
];

export const AuditLogEntry = Type.Object(
  {
    id: Uuid,
    actor_id: Type.Union([Uuid, Type.Null()]),
    actor_email: Type.Union([Type.String(), Type.Null()], {
      description: 'The address that the actor had then; it stays when the account goes.',
    }),
    action: Type.String(),
    resource_type: Type.String(),
    resource_id: Type.String(),
    details: Type.Object({}, { additionalProperties: true }),
    timestamp: Timestamp,
  },
  { title: 'AuditLogEntry' },
);
export type AuditLogEntry = Type.Static<typeof AuditLogEntry>;

export const AuditLogQuery = Type.Object({
  actor_id: Type.Optional(Uuid),
  resource_type: Type.Optional(Type.String({ maxLength: 100 })),
  resource_id: Type.Optional(
    Type.String({ maxLength: 100, description: 'The target: a record id as text.' }),
  ),
  action: Type.Optional(
    Type.Array(Type.Enum([...auditActions]), { maxItems: 20, description: 'May be repeated.' }),
  ),
  address: Type.Optional(Type.String({ maxLength: 100, description: 'Client address.' })),
  result: Type.Optional(Type.Enum(['success', 'failure'])),
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Inclusive.' })),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'Exclusive.' })),
  size: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`next_cursor` of the page before.' })),
});
export type AuditLogQuery = Type.Static<typeof AuditLogQuery>;

/** Newest first. `next_cursor` is null on the last page. */
export const AuditLogPage = Type.Object(
  {
    data: Type.Array(AuditLogEntry),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
    message: Type.String(),
  },
  { title: 'AuditLogPage' },
);
