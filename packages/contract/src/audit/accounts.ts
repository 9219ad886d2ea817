// What people do with accounts of their own, and the links in mails: audit actions, and what their entries hold in `details`.
// It must not declare a secret, a token or a link.
import Type from 'typebox';
import type { AuditActionEntry } from './entry.ts';
import {
  attributes,
  changed,
  count,
  flag,
  optional,
  personal,
  personalOrNull,
  text,
  time,
  uuid,
} from './members.ts';

export const accountActions = {
  user_registered: {
    text: 'A user registered an account, or, with details.method: provider, an identity provider vouched for one.',
    details: { email: personal, method: optional(text), provider: optional(text) },
  },
  registration_refused: {
    text: 'A registration was refused. details.reason: abuse_limit, email_taken or password_rejected.',
    failure: true,
    bounded: true,
    details: { email: personal, reason: text },
  },
  email_verified: { text: 'A user verified the email of the account.', details: { email: personal } },
  registration_declined: {
    text: 'The owner of the email declined a registration; the account was removed. details: email.',
    details: { email: personal },
  },
  verification_refused: {
    text: 'A verification link was refused. details.reason: the error code.',
    failure: true,
    bounded: true,
    details: { email: optional(personal), reason: text, provider: optional(text) },
  },
  verification_email_sent: {
    text: 'A verification mail was requested. details.outcome: queued, already_verified, invited (the invitation is sent again), no_account or limited.',
    bounded: true,
    details: { email: personal, outcome: text, provider: optional(text) },
  },
  password_reset_requested: {
    text: 'A reset mail was requested. details.outcome: queued, invited (the invitation is sent again), no_account or limited.',
    bounded: true,
    details: { email: personal, outcome: text },
  },
  email_change_requested: {
    text: 'A user asked to change their email address. details: email, new_email, session_id, outcome: queued, or limited (too many mails to the new address; nothing was sent).',
    details: { email: personal, new_email: personal, session_id: uuid, outcome: text },
  },
  email_changed: {
    about: ['user'],
    text: 'A user confirmed a new email address with the link that was mailed to it; every session ended but the one that asked. before, after: email.',
    details: { ...changed({ email: personal }), sessions_ended: count },
  },
  email_change_reverted: {
    about: ['user'],
    text: 'The former email address was restored with the link that was mailed to it; every session and the password ended. before, after: email. details.removed: what was added to sign in with since the change was requested.',
    details: {
      ...changed({ email: personal }),
      removed: Type.Object({
        totp: flag,
        passkeys: count,
        recovery_codes: count,
        identities: count,
        devices: count,
      }),
      sessions_ended: count,
    },
  },
  password_changed: {
    text: 'A user changed their password; every session ended.',
    afterCommit: true,
    details: { email: personal, sessions_ended: count },
  },
  password_reset: {
    text: 'A password was set with a mailed link; every session ended.',
    afterCommit: true,
    details: { email: personal, sessions_ended: count },
  },
  password_set_by_admin: {
    text: "An administrator set a user's password; every session of that user ended.",
    afterCommit: true,
    details: { email: personal, sessions_ended: count },
  },
  password_refused: {
    text: 'A new password was rejected, or the current password or the link was wrong.',
    failure: true,
    bounded: true,
    details: {
      email: optional(personal),
      attempted: text,
      reason: optional(text),
      broken_rules: optional(count),
    },
  },
  user_profile_updated: {
    about: ['user'],
    text: 'A user changed their names, or attributes of their own.',
    bounded: true,
    details: changed({ first_name: personal, last_name: personal, attributes }),
  },
  self_deletion_requested: {
    about: ['user'],
    text: 'A user deleted their own account; it is not active until the clean-up removes it. details: email, deletion_due_at, sessions_ended.',
    details: { email: personal, deletion_due_at: time, sessions_ended: count },
  },
  self_deletion_undone: {
    about: ['user'],
    text: 'A user kept their account, with the link of the mail, or with the one that undoes a change of the address (details.reason: email_change_reverted). details: email.',
    details: { email: personal, reason: optional(text) },
  },
  data_exported: { text: 'A user downloaded their own data.', bounded: true, details: {} },
  unverified_account_deleted: {
    text: 'The clean-up removed an account that was not verified in time.',
    details: { email: personal, created_at: time },
  },
  identity_connected: {
    text: 'An identity was connected to an account. details: provider, subject, email (as the provider said), automatic: without a sign-in to the account; taken_over: the account was not verified and lost its password, sessions and factors.',
    details: {
      email: personalOrNull,
      subject: personal,
      provider: text,
      automatic: optional(flag),
      taken_over: optional(flag),
      sessions_ended: optional(count),
    },
  },
  identity_disconnected: {
    text: 'An identity was disconnected from an account. details: provider, subject, sessions (their number).',
    details: { email: personal, subject: personal, provider: text, sessions: count },
  },
} as const satisfies Record<string, AuditActionEntry>;
