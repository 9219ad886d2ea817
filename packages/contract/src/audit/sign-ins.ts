// Signing in, and the lock after wrong passwords: audit actions, and what their entries hold in `details`.
// It must not declare a secret, a token or a link.
import type { AuditActionEntry } from './entry.ts';
import { count, flag, optional, personal, senderText, text, texts, userAgent, uuid } from './members.ts';

export const signInActions = {
  login_succeeded: {
    text: 'A user signed in. details: email, session_id, user_agent; methods, if it took more than a password; method: provider and provider, if one vouched for them, with email_differs if it knows another address, and claim_missing.',
    bounded: true,
    details: {
      email: personal,
      session_id: uuid,
      user_agent: userAgent,
      methods: optional(texts),
      method: optional(text),
      provider: optional(text),
      email_differs: optional(flag),
      claim_missing: optional(texts),
    },
  },
  login_failed: {
    text: 'A sign-in was refused. details.reason: unknown_user, wrong_password, locked, unverified, inactive or sanitization.',
    failure: true,
    bounded: true,
    details: { email: optional(personal), reason: text, user_agent: userAgent },
  },
  account_locked: {
    text: 'Too many failed sign-ins locked an email address, whether or not an account has it.',
    failure: true,
    details: { email: personal, failures: count, minutes: count },
  },
  account_unlocked: {
    text: 'The lock ended. details.reason: expired, password_set or administrator.',
    afterCommit: true,
    details: { email: personal, reason: text },
  },
  new_device_sign_in: {
    text: 'A user who has known devices signed in from another one. details: device_id, network, user_agent.',
    bounded: true,
    details: { email: personal, device_id: uuid, network: senderText, user_agent: userAgent },
  },
  device_trusted: {
    text: 'A user trusted a device: for a time their password alone signs in on it. details: device_id, days.',
    bounded: true,
    details: { email: personal, device_id: uuid, days: count },
  },
  device_forgotten: {
    text: 'A device is no longer known or trusted. details: device_id or devices (their number); reason, if an administrator did it.',
    bounded: true,
    details: { email: personal, device_id: optional(uuid), devices: optional(count), reason: optional(text) },
  },
  step_up_succeeded: {
    text: 'A user confirmed in a session who they are. details: method, acr.',
    bounded: true,
    details: { email: personal, method: text, acr: text, session_id: uuid },
  },
  step_up_failed: {
    text: 'A confirmation in a session was refused. details: method, reason.',
    failure: true,
    bounded: true,
    details: { email: personal, method: text, reason: text, session_id: uuid },
  },
} as const satisfies Record<string, AuditActionEntry>;
