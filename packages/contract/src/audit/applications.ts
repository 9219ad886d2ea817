// Applications, what people gave them, and what they are told: audit actions, and what their entries hold in `details`.
// It must not declare a secret, a token or a link.
import { ApiResource } from '../applications/api-resources.ts';
import { Application } from '../applications/applications.ts';
import type { AuditActionEntry } from './entry.ts';
import {
  changed,
  count,
  created,
  deleted,
  fieldsOf,
  flag,
  type Members,
  nullable,
  optional,
  senderTextOrNull,
  text,
  texts,
  time,
  userAgent,
  uuid,
  uuids,
} from './members.ts';

const { id, created_at, updated_at, created_by_id, ...application } = Application.properties;
const applicationFields = fieldsOf(application);
const {
  id: _id,
  created_at: _created,
  updated_at: _updated,
  created_by_id: _creator,
  ...resource
} = ApiResource.properties;
const resourceFields = fieldsOf(resource);
const secret: Members = { secret_id: uuid, prefix: text, secret_name: text };
const device: Members = { device_address: senderTextOrNull, device_user_agent: userAgent };

export const applicationActions = {
  application_created: {
    about: ['application'],
    text: 'An application was created.',
    details: created(applicationFields),
  },
  application_updated: {
    about: ['application'],
    text: 'An application was changed.',
    details: changed(applicationFields),
  },
  application_deleted: {
    about: ['application'],
    text: 'An application was deleted, with its secrets and all access to it.',
    details: deleted(applicationFields),
  },
  application_secret_created: {
    about: ['application'],
    text: 'A secret was created for an application. details: secret_id, prefix, expires_at.',
    details: { ...secret, expires_at: nullable(time) },
  },
  application_secret_revoked: {
    about: ['application'],
    text: 'A secret of an application was revoked. details: secret_id, prefix.',
    details: { ...secret, expires_at: nullable(time) },
  },
  api_resource_created: {
    about: ['api_resource'],
    text: 'An API resource was created.',
    details: created(resourceFields),
  },
  api_resource_updated: {
    about: ['api_resource'],
    text: 'An API resource was changed.',
    details: changed(resourceFields),
  },
  api_resource_deleted: {
    about: ['api_resource'],
    text: 'An API resource was deleted.',
    details: deleted(resourceFields),
  },
  application_authentication_failed: {
    about: ['application'],
    text: 'An application did not authenticate itself at the token services. details.reason: unknown_application, inactive, wrong_method, wrong_secret, wrong_assertion or rate_limited. details.fault, of an assertion: form, issuer, audience, time, signature or used.',
    failure: true,
    bounded: true,
    details: { reason: text, fault: optional(text) },
  },
  application_sign_in: {
    about: ['application'],
    text: 'A user signed in to an application. details: application_id, scopes, session_id, consent: whether they agreed just now.',
    bounded: true,
    routine: true,
    details: { application_id: uuid, scopes: texts, session_id: uuid, consent: flag },
  },
  application_sign_in_refused: {
    about: ['application'],
    text: 'A sign-in to an application was refused. details: application_id, reason: not_permitted, denied, other_network or the error that the application was told; code.',
    failure: true,
    bounded: true,
    details: { application_id: uuid, reason: text, code: optional(text), session_id: optional(uuid) },
  },
  consent_given: {
    about: ['application'],
    text: 'A user agreed to what an application asked for. details: application_id, scopes, permissions.',
    details: { application_id: uuid, scopes: texts, permissions: uuids },
  },
  consent_withdrawn: {
    about: ['application'],
    text: 'A user took back what they agreed to for an application. details: scopes, permission_ids.',
    details: { scopes: texts, permission_ids: uuids },
  },
  device_sign_in_allowed: {
    about: ['application'],
    text: 'A user allowed a device to sign in to an application as them. details: application_id, scopes, permissions, session_id, device_address, device_user_agent.',
    details: { application_id: uuid, scopes: texts, permissions: uuids, session_id: uuid, ...device },
  },
  device_sign_in_denied: {
    about: ['application'],
    text: 'A user denied a device that asked to sign in to an application as them. details: application_id, device_address, device_user_agent.',
    details: { application_id: uuid, ...device },
  },
  application_tokens_refreshed: {
    about: ['application'],
    text: 'An application got new tokens for a refresh token. details: grant_id.',
    bounded: true,
    routine: true,
    details: { grant_id: uuid },
  },
  authorization_code_reuse: {
    about: ['application'],
    text: 'A code was used again: everything that the application got for it ended. details: grant_id.',
    failure: true,
    details: { grant_id: uuid },
  },
  application_refresh_token_reuse: {
    about: ['application'],
    text: 'An exchanged refresh token of an application was used again: what the sign-in gave it ended. details: grant_id.',
    failure: true,
    details: { grant_id: uuid },
  },
  application_access_ended: {
    about: ['application'],
    text: 'What an application got by sign-ins of a user ended. details: grants (their number), reason; user_id, grant_id.',
    details: { grants: count, reason: text, user_id: optional(uuid), grant_id: optional(uuid) },
  },
  logout_notice_failed: {
    about: ['application'],
    text: 'An application was not told that a session has ended, and is not told again. details: state (refused or given_up), user_id, sid, status of its last answer, error, attempts.',
    failure: true,
    bounded: true,
    details: {
      state: text,
      user_id: nullable(uuid),
      sid: nullable(text),
      status: nullable(count),
      error: nullable(text),
      attempts: count,
    },
  },
} as const satisfies Record<string, AuditActionEntry>;
