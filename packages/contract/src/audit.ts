// The catalogue of audit actions, and the schemas to read the audit log. Which of their members are personal: leaving/audit-members.ts.
// An action that is not listed here cannot be written.
import Type from 'typebox';
import { Timestamp, Uuid } from './http/common.ts';

type AuditActionEntry = {
  /** What happened, for the documentation. `details` always holds the client address and request id of a request. */
  text: string;
  /** Found by `result=failure`; every other action is a success. */
  failure?: true;
  /**
   * One user, one email or one network can cause it at will. Of each such action, 60 entries a minute are written. The
   * others are counted, and reported within a minute by an entry whose `details.more_left_out` is their number.
   */
  bounded?: true;
  /**
   * Happens by itself, and often: left out by `routine=exclude`. After adding one here, put it into the predicates of
   * audit_logs_notable_*_idx too (a migration), or they hold entries that nobody reads there.
   */
  routine?: true;
  /** Written after the commit of its change: what the specification requires of passwords, and what follows from them. */
  afterCommit?: true;
};

export const auditActionCatalogue = {
  login_succeeded: {
    text: 'A user signed in. details: email, session_id, user_agent; methods, if it took more than a password; method: provider and provider, if one vouched for them, with email_differs if it knows another address, and claim_missing.',
    bounded: true,
  },
  login_failed: {
    text: 'A sign-in was refused. details.reason: unknown_user, wrong_password, locked, unverified, inactive or sanitization.',
    failure: true,
    bounded: true,
  },
  account_locked: {
    text: 'Too many failed sign-ins locked an email address, whether or not an account has it.',
    failure: true,
  },
  account_unlocked: {
    text: 'The lock ended. details.reason: expired, password_set or administrator.',
    afterCommit: true,
  },
  second_factor_requested: {
    text: 'A password was right, and the account has a second factor: the sign-in waits for it. details: email, methods; method: provider and provider, if one vouched instead of the password.',
    bounded: true,
  },
  second_factor_failed: {
    text: 'A second factor was refused. details.method, and details.reason: wrong_code, used_code, locked, expired, passkey_unknown or passkey_refused.',
    failure: true,
    bounded: true,
  },
  second_factor_locked: {
    text: 'Too many wrong codes closed the authenticator app of an account. details: until, failures.',
    failure: true,
  },
  second_factor_unlocked: {
    text: 'An administrator opened a closed authenticator app.',
  },
  totp_enrolled: {
    text: 'A user set up an authenticator app. details.replaced: whether it took the place of another.',
  },
  totp_removed: { text: 'A user removed their authenticator app.' },
  totp_suspended: {
    text: 'An authenticator app was suspended after too many wrong codes in a row, or because SECRET_KEY does not open it.',
    failure: true,
  },
  passkey_added: {
    text: 'A user added a passkey or a security key. details: passkey_id, name, kind.',
  },
  passkey_renamed: {
    text: 'A user renamed a passkey or a security key. details: passkey_id, before, after.',
  },
  passkey_removed: {
    text: 'A user removed a passkey or a security key. details: passkey_id, name, kind.',
  },
  passkey_backup_changed: {
    text: 'A passkey can be synced to further devices since this use, or no longer. details: passkey_id, name, backup_eligible, backed_up.',
    bounded: true,
  },
  passkey_counter_regressed: {
    text: 'The counter of a passkey or a security key did not rise: somebody may have a copy of it. details: passkey_id, name, accepted.',
    failure: true,
  },
  second_factor_reset: {
    text: 'An administrator removed the second factors of a user; every session ended. details: deliver, removed, sessions_ended, reason.',
  },
  recovery_link_used: {
    text: 'A user signed in with the password and a recovery link.',
  },
  recovery_codes_created: {
    text: 'A user got new recovery codes; the former ones ended.',
  },
  recovery_code_used: {
    text: 'A recovery code was used in the place of a factor. details: left.',
  },
  device_trusted: {
    text: 'A user trusted a device: for a time their password alone signs in on it. details: device_id, days.',
    bounded: true,
  },
  device_forgotten: {
    text: 'A device is no longer known or trusted. details: device_id or devices (their number); reason, if an administrator did it.',
    bounded: true,
  },
  new_device_sign_in: {
    text: 'A user who has known devices signed in from another one. details: device_id, network, user_agent.',
    bounded: true,
  },
  step_up_succeeded: {
    text: 'A user confirmed in a session who they are. details: method, acr.',
    bounded: true,
  },
  step_up_failed: {
    text: 'A confirmation in a session was refused. details: method, reason.',
    failure: true,
    bounded: true,
  },
  step_up_required: {
    text: 'A request needed a stronger or younger proof than its token has. details: required_acr, max_age, route.',
    failure: true,
    bounded: true,
  },
  role_authentication_changed: {
    text: 'It was set how holders of a role must sign in, and from when. before and after: required_acr, enforced_from.',
  },
  permission_authentication_changed: {
    text: 'It was set what a call that uses a permission must have proved. before and after: required_acr, max_auth_age.',
  },
  user_registered: {
    text: 'A user registered an account, or, with details.method: provider, an identity provider vouched for one.',
  },
  registration_refused: {
    text: 'A registration was refused. details.reason: abuse_limit, email_taken or password_rejected.',
    failure: true,
    bounded: true,
  },
  email_verified: { text: 'A user verified the email of the account.' },
  registration_declined: {
    text: 'The owner of the email declined a registration; the account was removed. details: email.',
  },
  verification_refused: {
    text: 'A verification link was refused. details.reason: the error code.',
    failure: true,
    bounded: true,
  },
  verification_email_sent: {
    text: 'A verification mail was requested. details.outcome: queued, already_verified, invited (the invitation is sent again), no_account or limited.',
    bounded: true,
  },
  password_reset_requested: {
    text: 'A reset mail was requested. details.outcome: queued, invited (the invitation is sent again), no_account or limited.',
    bounded: true,
  },
  email_change_requested: {
    text: 'A user asked to change their email address. details: email, new_email, session_id, outcome: queued, or limited (too many mails to the new address; nothing was sent).',
  },
  email_changed: {
    text: 'A user confirmed a new email address with the link that was mailed to it; every session ended but the one that asked. before, after: email.',
  },
  email_change_reverted: {
    text: 'The former email address was restored with the link that was mailed to it; every session and the password ended. before, after: email. details.removed: what was added to sign in with since the change was requested.',
  },
  password_changed: { text: 'A user changed their password; every session ended.', afterCommit: true },
  password_reset: { text: 'A password was set with a mailed link; every session ended.', afterCommit: true },
  password_set_by_admin: {
    text: "An administrator set a user's password; every session of that user ended.",
    afterCommit: true,
  },
  password_refused: {
    text: 'A new password was rejected, or the current password or the link was wrong.',
    failure: true,
    bounded: true,
  },
  session_refreshed: {
    text: 'New tokens were issued for a refresh token. details.rotated: whether the refresh token was replaced. details.new_origin: true if the session now remembers the address as its origin of that address family.',
    bounded: true,
    routine: true,
  },
  refresh_failed: {
    text: 'A refresh was refused. details.reason: unknown, or the security event recorded with it.',
    failure: true,
    bounded: true,
  },
  refresh_origin_network_mismatch: {
    text: 'A refresh came from another network than the sign-in; the session ended.',
    failure: true,
  },
  refresh_token_reuse: {
    text: 'An exchanged refresh token was used again; the session ended.',
    failure: true,
  },
  session_revoked: {
    text: 'A session was ended by its owner, by an administrator or by the session limit. See details.reason.',
    bounded: true,
  },
  logout: { text: 'A user ended one session.', bounded: true },
  act_as_started: {
    text: 'Somebody began to act as another user. details: email, reason, session_id, expires_at. Entries of what they do have acted_by_id.',
  },
  act_as_ended: {
    text: 'Somebody ended acting as another user before its time was up. details: email, session_id.',
  },
  logout_all: { text: 'A user ended every session.', bounded: true },
  unverified_account_deleted: {
    text: 'The clean-up removed an account that was not verified in time.',
  },
  permission_denied: {
    text: 'A caller lacked the permission of an operation, or attempted a change that their permissions do not allow. details: permission or code, method, route.',
    failure: true,
    bounded: true,
  },
  api_key_refused: {
    text: 'An API key was refused. details.reason: api_key_invalid, api_key_expired, api_key_revoked, service_account_inactive or rate_limited. details.key_id, if the key is known.',
    failure: true,
    bounded: true,
  },
  personal_token_refused: {
    text: 'A personal access token was refused. details.reason: personal_token_invalid, personal_token_expired, personal_token_revoked or rate_limited. details.token_id, if the token is known.',
    failure: true,
    bounded: true,
  },
  client_token_issued: {
    text: 'A service account got an access token for an API key. details: key_id.',
    bounded: true,
    routine: true,
  },
  access_token_revoked: {
    text: 'The holder of an access token revoked it. details: session_id or key_id.',
    bounded: true,
  },
  csrf_refused: {
    text: 'A state-changing request had no valid CSRF token.',
    failure: true,
    bounded: true,
  },
  rate_limited: {
    text: 'A request exceeded a rate limit. details.limit: which one.',
    failure: true,
    bounded: true,
  },
  user_profile_updated: {
    text: 'A user changed their names, or attributes of their own.',
    bounded: true,
  },
  users_imported: {
    text: 'Users were imported at the command line. details: count, source. A long import has several entries.',
  },
  users_exported: {
    text: 'Users were exported at the command line. details: count; password_hashes: whether their hashes were; interrupted: whether the export ended early.',
  },
  user_created: {
    text: 'An administrator created a user.',
  },
  user_invited: {
    text: 'An administrator invited somebody by mail. after: email, first_name, last_name, roles, expires_in_hours.',
  },
  invitation_sent: {
    text: 'An administrator sent an invitation again; its earlier link ended. details: email.',
  },
  invitation_accepted: {
    text: 'An invited person chose a password, made a passkey or came by a provider, or an administrator set a password for them. details: email; method (passkey, provider), provider.',
    afterCommit: true,
  },
  invitation_withdrawn: {
    text: 'An administrator withdrew an invitation; the account was removed. before: its record.',
  },
  user_updated: {
    text: 'An administrator changed a user, or, with details.via: provider, a sign-in by an identity provider changed the names.',
  },
  user_attributes_updated: {
    text: 'An administrator changed attributes of a user. before, after: those that changed; `…` for a sensitive one.',
  },
  user_erased: {
    text: 'The erasure of an account is finished: an administrator had it deleted with the personal data in its audit entries. details: roles, sessions, audit_entries (their numbers).',
  },
  self_deletion_requested: {
    text: 'A user deleted their own account; it is not active until the clean-up removes it. details: email, deletion_due_at, sessions_ended.',
  },
  self_deletion_undone: {
    text: 'A user kept their account, with the link of the mail. details: email.',
  },
  data_exported: { text: 'A user downloaded their own data.', bounded: true },
  user_deleted: {
    text: 'An administrator deleted a user, or erased one (details.reason: erasure), or, with details.reason: self_deletion, the clean-up removed the account of one who had deleted it.',
  },
  user_roles_changed: {
    text: 'An administrator changed the roles of a user, or, with details.via: provider, a sign-in by an identity provider did. details.claim_missing: claims of its mapping that it did not send.',
  },
  user_attribute_created: { text: 'An attribute of users was declared.' },
  user_attribute_updated: { text: 'The declaration of an attribute of users was changed.' },
  user_attribute_deleted: {
    text: 'An attribute of users was deleted. details.values: how many values were removed with it.',
  },
  role_created: { text: 'A role was created.' },
  role_updated: { text: 'A role was changed.' },
  role_deleted: { text: 'A role was deleted.' },
  role_permissions_changed: { text: 'The permissions of a role were replaced or reduced.' },
  access_previewed: {
    text: 'A change of access was previewed with dry_run; nothing was changed. details: operation, and the numbers gaining, losing and inactive, or the error code would_be_refused.',
    bounded: true,
  },
  role_group_created: { text: 'A role group was created.' },
  role_group_updated: { text: 'A role group was changed.' },
  role_group_moved: { text: 'A role group was moved to another parent.' },
  role_group_deleted: { text: 'A role group was deleted.' },
  role_group_cloned: { text: 'A role group was cloned with its roles.' },
  role_group_roles_changed: { text: 'Roles were added to a role group or removed from it.' },
  role_groups_synced: { text: "Links were repaired from each role's role_group_id." },
  permission_group_created: { text: 'A permission group was created.' },
  permission_group_updated: {
    text: 'A permission group was changed. If its name changed, its permissions were renamed.',
  },
  permission_group_moved: { text: 'A permission group was moved to another parent.' },
  permission_group_deleted: { text: 'A permission group was deleted.' },
  permission_created: { text: 'A permission was created.' },
  permission_deleted: { text: 'A permission was deleted.' },
  permission_renamed: {
    text: 'An upgrade added a built-in permission with the name of one of your permissions; yours was renamed.',
  },
  service_account_created: { text: 'A service account was created.' },
  service_account_updated: { text: 'A service account was changed.' },
  service_account_roles_changed: { text: 'The roles of a service account were changed.' },
  service_account_deleted: { text: 'A service account was deleted; its API keys and access tokens ended.' },
  personal_token_created: {
    text: 'A person made a personal access token. details: personal_token_id, prefix, token_name, expires_at, permissions, narrowed_by.',
  },
  personal_token_ended: {
    text: 'A personal access token was ended, by its owner or by an administrator. details: personal_token_id, prefix, token_name.',
  },
  api_key_created: {
    text: 'An API key was created for a service account. details: api_key_id, prefix, narrowed_by.',
  },
  api_key_rotated: {
    text: 'An API key was replaced by a new one. details: api_key_id, prefix, replaced_key_id, ends_at of the replaced key.',
  },
  api_key_revoked: {
    text: 'An API key was revoked; its access tokens ended. details: api_key_id, prefix; descends_from_key_id, if it ended with the key that made it.',
  },
  application_created: { text: 'An application was created.' },
  application_updated: { text: 'An application was changed.' },
  application_deleted: {
    text: 'An application was deleted, with its secrets and all access to it.',
  },
  application_secret_created: {
    text: 'A secret was created for an application. details: secret_id, prefix, expires_at.',
  },
  application_secret_revoked: {
    text: 'A secret of an application was revoked. details: secret_id, prefix.',
  },
  api_resource_created: { text: 'An API resource was created.' },
  api_resource_updated: { text: 'An API resource was changed.' },
  api_resource_deleted: { text: 'An API resource was deleted.' },
  identity_disconnected: {
    text: 'An identity was disconnected from an account. details: provider, subject, sessions (their number).',
  },
  identity_provider_created: {
    text: 'An identity provider was created. Secrets are not shown.',
  },
  identity_provider_updated: {
    text: 'An identity provider was changed. Secrets are not shown. details: secret_changed; identities, sessions: how many ended, because the issuer changed or because it was asked for.',
  },
  identity_provider_deleted: {
    text: 'An identity provider was deleted. details: identities, sessions: how many ended with it.',
  },
  identity_connected: {
    text: 'An identity was connected to an account. details: provider, subject, email (as the provider said), automatic: without a sign-in to the account; taken_over: the account was not verified and lost its password, sessions and factors.',
  },
  provider_sign_in_failed: {
    text: 'A sign-in with an identity provider failed. details: provider, reason, code.',
    failure: true,
    bounded: true,
  },
  application_authentication_failed: {
    text: 'An application did not authenticate itself at the token services. details.reason: unknown_application, inactive, wrong_method, wrong_secret, wrong_assertion or rate_limited. details.fault, of an assertion: form, issuer, audience, time, signature or used.',
    failure: true,
    bounded: true,
  },
  application_sign_in: {
    text: 'A user signed in to an application. details: application_id, scopes, session_id, consent: whether they agreed just now.',
    bounded: true,
    routine: true,
  },
  application_sign_in_refused: {
    text: 'A sign-in to an application was refused. details: application_id, reason: not_permitted, denied, other_network or the error that the application was told; code.',
    failure: true,
    bounded: true,
  },
  consent_given: {
    text: 'A user agreed to what an application asked for. details: application_id, scopes, permissions.',
  },
  device_sign_in_allowed: {
    text: 'A user allowed a device to sign in to an application as them. details: application_id, scopes, permissions, session_id, device_address, device_user_agent.',
  },
  device_sign_in_denied: {
    text: 'A user denied a device that asked to sign in to an application as them. details: application_id, device_address, device_user_agent.',
  },
  application_tokens_refreshed: {
    text: 'An application got new tokens for a refresh token. details: grant_id.',
    bounded: true,
    routine: true,
  },
  authorization_code_reuse: {
    text: 'A code was used again: everything that the application got for it ended. details: grant_id.',
    failure: true,
  },
  application_refresh_token_reuse: {
    text: 'An exchanged refresh token of an application was used again: what the sign-in gave it ended. details: grant_id.',
    failure: true,
  },
  application_access_ended: {
    text: 'What an application got by sign-ins of a user ended. details: grants (their number), reason; user_id, grant_id.',
  },
  consent_withdrawn: {
    text: 'A user took back what they agreed to for an application. details: scopes, permission_ids.',
  },
  logout_notice_failed: {
    text: 'An application was not told that a session has ended, and is not told again. details: state (refused or given_up), user_id, sid, status of its last answer, error, attempts.',
    failure: true,
    bounded: true,
  },
  signing_key_rotated: { text: 'A new signing key was created.' },
  signing_key_revoked: {
    text: 'A signing key was revoked, with every token that it signed. details.successor: the new key, if one was created.',
  },
  signing_keys_reset: {
    text: 'Every signing key was revoked and a new one was created. details.revoked: their ids.',
  },
  database_restored: {
    text: 'The database was restored from a backup. Entries between details.backup_time and this one are lost.',
  },
} as const satisfies Record<string, AuditActionEntry>;

export type AuditAction = keyof typeof auditActionCatalogue;
const isAction = (key: string): key is AuditAction => Object.hasOwn(auditActionCatalogue, key);
export const auditActions = Object.keys(auditActionCatalogue).filter(isAction);

const marked = (mark: 'failure' | 'bounded' | 'afterCommit' | 'routine'): AuditAction[] =>
  auditActions.filter((action) => mark in auditActionCatalogue[action]);

/** The actions that `result=failure` finds. */
export const failureActions: readonly AuditAction[] = marked('failure');

/** Actions that one subject can cause at will. */
export const boundedActions: readonly AuditAction[] = marked('bounded');
/** Actions that happen by themselves: `routine=exclude` leaves them out. */
export const routineActions: readonly AuditAction[] = marked('routine');
/** Actions that are written after the commit of their change. */
export const afterCommitActions: readonly AuditAction[] = marked('afterCommit');

export const AuditLogEntry = Type.Object(
  {
    id: Uuid,
    actor_id: Type.Union([Uuid, Type.Null()]),
    actor_type: Type.Union([Type.Literal('user'), Type.Literal('service_account'), Type.Null()]),
    actor_name: Type.Union([Type.String(), Type.Null()], {
      description: 'The name of the service account at that time; null for users.',
    }),
    actor_email: Type.Union([Type.String(), Type.Null()], {
      description: "The actor's email address at that time. It is kept when the account is deleted.",
    }),
    action: Type.String(),
    resource_type: Type.String(),
    resource_id: Type.String(),
    resource_name: Type.Union([Type.String(), Type.Null()], {
      description:
        'Name of the affected record at that time: the email of a user, the name of any other record. It is kept when the record is renamed or deleted.',
    }),
    details: Type.Object({}, { additionalProperties: true }),
    timestamp: Timestamp,
    acted_by_id: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'The id of the user who acted as the actor; absent where nobody did.',
      }),
    ),
  },
  { title: 'AuditLogEntry' },
);
export type AuditLogEntry = Type.Static<typeof AuditLogEntry>;

export const AuditLogQuery = Type.Object({
  actor_id: Type.Optional(Uuid),
  acted_by_id: Type.Optional({ ...Uuid, description: 'What this user did while acting as somebody else.' }),
  resource_type: Type.Optional(Type.String({ maxLength: 100 })),
  resource_id: Type.Optional(
    Type.String({ maxLength: 100, description: 'The id of the affected record, as text.' }),
  ),
  action: Type.Optional(
    Type.Array(Type.Enum([...auditActions]), { maxItems: 20, description: 'Can be repeated.' }),
  ),
  address: Type.Optional(Type.String({ maxLength: 100, description: 'Client address.' })),
  result: Type.Optional(Type.Enum(['success', 'failure'])),
  routine: Type.Optional(
    Type.Enum(['exclude'], {
      description:
        'Leaves out refreshes of sessions and sign-ins of service accounts. The first page says how many in `routine_left_out`.',
    }),
  ),
  from: Type.Optional(Type.String({ format: 'date-time', description: 'Inclusive.' })),
  to: Type.Optional(Type.String({ format: 'date-time', description: 'Exclusive.' })),
  size: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: '`next_cursor` of the page before.' })),
});
export type AuditLogQuery = Type.Static<typeof AuditLogQuery>;

/** Newest first. `next_cursor` is null on the last page. A page may be shorter than `size`, or empty, and not be the last. */
export const AuditLogPage = Type.Object(
  {
    data: Type.Array(AuditLogEntry),
    next_cursor: Type.Union([Type.String(), Type.Null()], {
      description:
        'The start of the next page; null on the last one. Filters that rarely match together are searched up to 3,000 entries at a time: then a page may be shorter than `size`, or empty, and not be the last.',
    }),
    routine_left_out: Type.Optional(
      Type.Object(
        {
          count: Type.Integer({ minimum: 0 }),
          is_lower_bound: Type.Boolean({ description: 'There may be more than `count`.' }),
        },
        {
          description:
            'The entries that `routine=exclude` leaves out of all pages together. Only on the first page, and only with `routine=exclude`.',
        },
      ),
    ),
    message: Type.String(),
  },
  { title: 'AuditLogPage' },
);
export type AuditLogPage = Type.Static<typeof AuditLogPage>;
