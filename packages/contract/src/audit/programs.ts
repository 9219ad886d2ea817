// Service accounts, API keys and personal access tokens: audit actions, and what their entries hold in `details`.
// It must not declare a secret, a token or a link.
import type { AuditActionEntry } from './entry.ts';
import {
  changed,
  created,
  deleted,
  flag,
  type Members,
  nullable,
  optional,
  personal,
  text,
  texts,
  time,
  uuid,
} from './members.ts';

const accountFields: Members = {
  name: text,
  description: text,
  is_active: flag,
  external_id: nullable(text),
};

export const programActions = {
  service_account_created: {
    about: ['service_account'],
    text: 'A service account was created.',
    details: created({ ...accountFields, roles: texts }),
  },
  service_account_updated: {
    about: ['service_account'],
    text: 'A service account was changed.',
    details: changed(accountFields),
  },
  service_account_roles_changed: {
    about: ['service_account'],
    text: 'The roles of a service account were changed.',
    details: { ...changed({ roles: texts }), change_id: optional(uuid) },
  },
  service_account_deleted: {
    about: ['service_account'],
    text: 'A service account was deleted; its API keys and access tokens ended.',
    details: deleted(accountFields),
  },
  personal_token_created: {
    text: 'A person made a personal access token. details: personal_token_id, prefix, token_name, expires_at, permissions, narrowed_by.',
    details: {
      personal_token_id: uuid,
      prefix: text,
      token_name: personal,
      expires_at: time,
      permissions: nullable(texts),
      narrowed_by: nullable(text),
    },
  },
  personal_token_ended: {
    text: 'A personal access token was ended, by its owner or by an administrator. details: personal_token_id, prefix, token_name.',
    details: { personal_token_id: uuid, prefix: text, token_name: personal },
  },
  personal_token_refused: {
    text: 'A personal access token was refused. details.reason: personal_token_invalid, personal_token_expired, personal_token_revoked or rate_limited. details.token_id, if the token is known.',
    failure: true,
    bounded: true,
    details: { reason: text },
  },
  api_key_created: {
    about: ['service_account'],
    text: 'An API key was created for a service account. details: api_key_id, prefix, narrowed_by.',
    details: {
      api_key_id: uuid,
      prefix: text,
      key_name: text,
      expires_at: nullable(time),
      permissions: nullable(texts),
      narrowed_by: nullable(text),
    },
  },
  api_key_rotated: {
    about: ['service_account'],
    text: 'An API key was replaced by a new one. details: api_key_id, prefix, replaced_key_id, ends_at of the replaced key.',
    details: { api_key_id: uuid, prefix: text, key_name: text, replaced_key_id: uuid, ends_at: time },
  },
  api_key_revoked: {
    about: ['service_account'],
    text: 'An API key was revoked; its access tokens ended. details: api_key_id, prefix; descends_from_key_id, if it ended with the key that made it.',
    details: { api_key_id: uuid, prefix: text, key_name: text, descends_from_key_id: optional(uuid) },
  },
  api_key_refused: {
    text: 'An API key was refused. details.reason: api_key_invalid, api_key_expired, api_key_revoked, service_account_inactive or rate_limited. details.key_id, if the key is known.',
    failure: true,
    bounded: true,
    details: { reason: text },
  },
  client_token_issued: {
    text: 'A service account got an access token for an API key. details: key_id.',
    bounded: true,
    routine: true,
    details: {},
  },
  feed_opened: {
    about: ['service_account'],
    text: 'A service account began to read the change feed. details: key_id, stream, resumed: whether it went on from a cursor.',
    bounded: true,
    details: { stream: flag, resumed: flag },
  },
  access_token_revoked: {
    text: 'The holder of an access token revoked it. details: session_id or key_id.',
    bounded: true,
    details: { session_id: optional(uuid), application_id: optional(uuid), grant_id: optional(uuid) },
  },
} as const satisfies Record<string, AuditActionEntry>;
