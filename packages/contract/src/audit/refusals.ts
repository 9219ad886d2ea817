// Requests that were refused: audit actions, and what their entries hold in `details`.
// It must not declare a secret, a token or a link.
import type { AuditActionEntry } from './entry.ts';
import { optional, personal, text, uuid } from './members.ts';

export const refusalActions = {
  permission_denied: {
    text: 'A caller lacked the permission of an operation, or attempted a change that their permissions do not allow. details: permission or code, method, route.',
    failure: true,
    bounded: true,
    details: {
      email: optional(personal),
      permission: optional(text),
      code: optional(text),
      method: text,
      route: text,
    },
  },
  csrf_refused: {
    text: 'A state-changing request had no valid CSRF token.',
    failure: true,
    bounded: true,
    details: { method: text, route: optional(text) },
  },
  rate_limited: {
    about: ['application', 'security_event'],
    text: 'A request exceeded a rate limit. details.limit: which one.',
    failure: true,
    bounded: true,
    details: {
      email: optional(personal),
      limit: optional(text),
      session_id: optional(uuid),
      application_id: optional(uuid),
    },
  },
} as const satisfies Record<string, AuditActionEntry>;
