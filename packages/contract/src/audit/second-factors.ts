// Second factors, passkeys and what must be proved: audit actions, and what their entries hold in `details`.
// It must not declare a secret, a token or a link.
import Type from 'typebox';
import type { AuditActionEntry } from './entry.ts';
import {
  changed,
  count,
  flag,
  type Members,
  nullable,
  optional,
  personal,
  text,
  texts,
  time,
  userAgent,
  uuid,
  via,
} from './members.ts';

const passkey: Members = { passkey_id: uuid, name: personal, kind: text };

export const secondFactorActions = {
  second_factor_requested: {
    text: 'A password was right, and the account has a second factor: the sign-in waits for it. details: email, methods; method: provider and provider, if one vouched instead of the password.',
    bounded: true,
    details: {
      email: personal,
      methods: texts,
      user_agent: userAgent,
      method: optional(text),
      provider: optional(text),
      email_differs: optional(flag),
      claim_missing: optional(texts),
    },
  },
  second_factor_failed: {
    text: 'A second factor was refused. details.method, and details.reason: wrong_code, used_code, locked, expired, passkey_unknown or passkey_refused.',
    failure: true,
    bounded: true,
    details: { email: optional(personal), method: text, reason: text },
  },
  second_factor_locked: {
    text: 'Too many wrong codes closed the authenticator app of an account. details: until, failures.',
    failure: true,
    details: { email: personal, until: time, failures: count },
  },
  second_factor_unlocked: {
    text: 'An administrator opened a closed authenticator app.',
    details: { email: personal, reason: text },
  },
  totp_enrolled: {
    text: 'A user set up an authenticator app. details.replaced: whether it took the place of another.',
    details: { email: personal, replaced: flag },
  },
  totp_removed: {
    text: 'A user removed their authenticator app.',
    details: { email: personal, sessions_ended: count },
  },
  totp_suspended: {
    text: 'An authenticator app was suspended after too many wrong codes in a row, or because SECRET_KEY does not open it.',
    failure: true,
    details: { email: personal, reason: text, failures: optional(count), via },
  },
  passkey_added: {
    text: 'A user added a passkey or a security key. details: passkey_id, name, kind.',
    details: { email: personal, ...passkey },
  },
  passkey_renamed: {
    text: 'A user renamed a passkey or a security key. details: passkey_id, before, after.',
    details: { email: personal, passkey_id: uuid, before: personal, after: personal },
  },
  passkey_removed: {
    text: 'A user removed a passkey or a security key. details: passkey_id, name, kind.',
    details: { email: personal, ...passkey, sessions_ended: count },
  },
  passkey_backup_changed: {
    text: 'A passkey can be synced to further devices since this use, or no longer. details: passkey_id, name, backup_eligible, backed_up.',
    bounded: true,
    details: { email: personal, passkey_id: uuid, name: personal, backup_eligible: flag, backed_up: flag },
  },
  passkey_counter_regressed: {
    text: 'The counter of a passkey or a security key did not rise: somebody may have a copy of it. details: passkey_id, name, accepted.',
    failure: true,
    details: { email: personal, passkey_id: uuid, name: personal, accepted: flag },
  },
  second_factor_reset: {
    text: 'An administrator removed the second factors of a user; every session ended. details: deliver, removed, sessions_ended, reason.',
    details: {
      email: personal,
      deliver: text,
      removed: Type.Object({ totp: flag, passkeys: count, recovery_codes: count }),
      sessions_ended: count,
      reason: optional(personal),
      via,
    },
  },
  recovery_link_used: {
    text: 'A user signed in with the password and a recovery link.',
    details: { email: personal },
  },
  recovery_codes_created: {
    text: 'A user got new recovery codes; the former ones ended.',
    details: { email: personal, count },
  },
  recovery_code_used: {
    text: 'A recovery code was used in the place of a factor. details: left.',
    details: { email: personal, left: count },
  },
  step_up_required: {
    text: 'A request needed a stronger or younger proof than its token has. details: required_acr, max_age, route.',
    failure: true,
    bounded: true,
    details: {
      email: optional(personal),
      required_acr: nullable(text),
      max_age: nullable(count),
      method: text,
      route: text,
    },
  },
  role_authentication_changed: {
    about: ['role'],
    text: 'It was set how holders of a role must sign in, and from when. before and after: required_acr, enforced_from.',
    details: changed({ required_acr: nullable(text), enforced_from: nullable(time) }),
  },
  permission_authentication_changed: {
    about: ['permission'],
    text: 'It was set what a call that uses a permission must have proved. before and after: required_acr, max_auth_age.',
    details: changed({ required_acr: nullable(text), max_auth_age: nullable(count) }),
  },
} as const satisfies Record<string, AuditActionEntry>;
