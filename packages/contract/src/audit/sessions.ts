// Sessions, and acting as another user: audit actions, and what their entries hold in `details`.
// It must not declare a secret, a token or a link.
import type { AuditActionEntry } from './entry.ts';
import { count, flag, nullable, optional, personal, text, time, uuid, uuids } from './members.ts';

export const sessionActions = {
  session_refreshed: {
    text: 'New tokens were issued for a refresh token. details.rotated: whether the refresh token was replaced. details.new_origin: true if the session now remembers the address as its origin of that address family.',
    bounded: true,
    routine: true,
    details: { session_id: uuid, rotated: flag, new_origin: optional(flag) },
  },
  refresh_failed: {
    text: 'A refresh was refused. details.reason: unknown, or the security event recorded with it.',
    failure: true,
    bounded: true,
    details: { session_id: optional(uuid), reason: text, origin_address: optional(personal) },
  },
  refresh_origin_network_mismatch: {
    text: 'A refresh came from another network than the sign-in; the session ended.',
    failure: true,
    details: { session_id: uuid, origin_address: personal },
  },
  refresh_token_reuse: {
    text: 'An exchanged refresh token was used again; the session ended.',
    failure: true,
    details: { session_id: uuid },
  },
  session_revoked: {
    text: 'A session was ended by its owner, by an administrator or by the session limit. See details.reason.',
    bounded: true,
    details: {
      session_id: optional(uuid),
      session_ids: optional(uuids),
      sessions_ended: optional(count),
      reason: text,
      provider: optional(text),
    },
  },
  logout: {
    text: 'A user ended one session.',
    bounded: true,
    details: { email: personal, session_id: uuid, application_id: optional(nullable(uuid)) },
  },
  act_as_started: {
    text: 'Somebody began to act as another user. details: email, reason, session_id, expires_at. Entries of what they do have acted_by_id.',
    details: { email: personal, reason: personal, session_id: uuid, expires_at: time },
  },
  act_as_ended: {
    text: 'Somebody ended acting as another user before its time was up. details: email, session_id.',
    details: { email: personal, session_id: uuid },
  },
  logout_all: {
    text: 'A user ended every session.',
    bounded: true,
    details: { email: personal, sessions: count },
  },
} as const satisfies Record<string, AuditActionEntry>;
