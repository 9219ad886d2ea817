// What administrators do with users and the attributes of users: audit actions, and what their entries hold in `details`.
// It must not declare a secret, a token or a link.
import Type from 'typebox';
import { UserAttribute } from '../attributes/user-attributes.ts';
import type { AuditActionEntry } from './entry.ts';
import {
  attributes,
  changed,
  count,
  created,
  deleted,
  deletedOrErased,
  fieldsOf,
  flag,
  optional,
  personal,
  text,
  texts,
  userMembers,
  uuid,
  via,
} from './members.ts';

const { id, created_at, updated_at, created_by_id, ...attribute } = UserAttribute.properties;
const attributeFields = fieldsOf(attribute);

/** Without roles, whose changes have another action. */
const { roles: _roles, ...ownMembers } = userMembers;

export const userActions = {
  users_imported: {
    about: ['user'],
    text: 'Users were imported at the command line. details: count, source. A long import has several entries.',
    details: { count, source: text, via },
  },
  users_exported: {
    about: ['user'],
    text: 'Users were exported at the command line. details: count; password_hashes: whether their hashes were; interrupted: whether the export ended early.',
    details: { count, password_hashes: flag, interrupted: optional(flag), via },
  },
  user_created: {
    about: ['user'],
    text: 'An administrator created a user.',
    details: { ...created(userMembers), via },
  },
  user_invited: {
    about: ['user'],
    text: 'An administrator invited somebody by mail. after: email, first_name, last_name, roles, expires_in_hours.',
    details: created({ ...userMembers, expires_in_hours: count }),
  },
  invitation_sent: {
    about: ['user'],
    text: 'An administrator sent an invitation again; its earlier link ended. details: email.',
    details: { email: personal },
  },
  invitation_accepted: {
    text: 'An invited person chose a password, made a passkey or came by a provider, or an administrator set a password for them. details: email; method (passkey, provider), provider.',
    afterCommit: true,
    details: {
      email: personal,
      method: optional(text),
      provider: optional(text),
      by: optional(text),
      sessions_ended: optional(count),
    },
  },
  invitation_withdrawn: {
    about: ['user'],
    text: 'An administrator withdrew an invitation; the account was removed. before: its record.',
    details: deleted(userMembers),
  },
  user_updated: {
    about: ['user'],
    text: 'An administrator changed a user, or, with details.via: provider, a sign-in by an identity provider changed the names.',
    details: { ...changed(ownMembers), sessions_ended: optional(count), provider: optional(text), via },
  },
  user_attributes_updated: {
    about: ['user'],
    text: 'An administrator changed attributes of a user. before, after: those that changed; `…` for a sensitive one.',
    details: changed({ attributes }),
  },
  user_erased: {
    about: ['user'],
    text: 'The erasure of an account is finished: an administrator had it deleted with the personal data in its audit entries. details: roles, sessions, audit_entries (their numbers).',
    details: { roles: count, sessions: count, audit_entries: count },
  },
  user_deleted: {
    about: ['user'],
    text: 'An administrator deleted a user, or erased one (details.reason: erasure), or, with details.reason: self_deletion, the clean-up removed the account of one who had deleted it.',
    details: {
      ...deletedOrErased(userMembers),
      reason: optional(text),
      roles: optional(Type.Union([texts, count])),
    },
  },
  user_roles_changed: {
    about: ['user'],
    text: 'An administrator changed the roles of a user, or, with details.via: provider, a sign-in by an identity provider did. details.claim_missing: claims of its mapping that it did not send.',
    details: {
      ...changed({ roles: texts }),
      provider: optional(text),
      claim_missing: optional(texts),
      change_id: optional(uuid),
      via,
    },
  },
  user_attribute_created: {
    about: ['user_attribute'],
    text: 'An attribute of users was declared.',
    details: created(attributeFields),
  },
  user_attribute_updated: {
    about: ['user_attribute'],
    text: 'The declaration of an attribute of users was changed.',
    details: changed(attributeFields),
  },
  user_attribute_deleted: {
    about: ['user_attribute'],
    text: 'An attribute of users was deleted. details.values: how many values were removed with it.',
    details: { ...deleted(attributeFields), values: count },
  },
} as const satisfies Record<string, AuditActionEntry>;
