// Roles, permissions and their groups: audit actions, and what their entries hold in `details`.
// It must not declare a secret, a token or a link.
import { RoleAuthentication } from '../access/requirements.ts';
import { PermissionAuthentication } from '../permission-records.ts';
import type { AuditActionEntry } from './entry.ts';
import {
  changed,
  count,
  created,
  deleted,
  fieldsOf,
  type Members,
  nullable,
  optional,
  text,
  texts,
  uuid,
  via,
} from './members.ts';

const groupFields: Members = { name: text, description: text, parent_id: nullable(uuid) };
const roleFields: Members = {
  name: text,
  description: text,
  role_group_id: nullable(uuid),
  permissions: texts,
  ...fieldsOf({ authentication: RoleAuthentication }),
};
const permissionFields: Members = {
  name: text,
  description: text,
  group_id: uuid,
  ...fieldsOf({ authentication: PermissionAuthentication }),
};

export const accessActions = {
  role_created: { about: ['role'], text: 'A role was created.', details: { ...created(roleFields), via } },
  role_updated: { about: ['role'], text: 'A role was changed.', details: changed(roleFields) },
  role_deleted: {
    about: ['role'],
    text: 'A role was deleted.',
    details: { ...deleted(roleFields), change_id: optional(uuid) },
  },
  role_permissions_changed: {
    about: ['role'],
    text: 'The permissions of a role were replaced or reduced.',
    details: { ...changed({ permissions: texts }), change_id: optional(uuid) },
  },
  access_previewed: {
    about: ['access', 'application', 'identity_provider', 'permission', 'role', 'service_account', 'user'],
    text: 'A change of access was previewed with dry_run; nothing was changed. details: operation, and the numbers gaining, losing and inactive, or the error code would_be_refused.',
    bounded: true,
    details: {
      operation: text,
      would_be_refused: optional(text),
      gaining: optional(count),
      losing: optional(count),
      inactive: optional(count),
      holders: optional(count),
      without_factor: optional(count),
      users: optional(count),
      grants: optional(count),
      sessions: optional(count),
      identities: optional(count),
      left_without: optional(count),
    },
  },
  role_group_created: {
    about: ['role_group'],
    text: 'A role group was created.',
    details: { ...created(groupFields), via },
  },
  role_group_updated: {
    about: ['role_group'],
    text: 'A role group was changed.',
    details: changed(groupFields),
  },
  role_group_moved: {
    about: ['role_group'],
    text: 'A role group was moved to another parent.',
    details: changed(groupFields),
  },
  role_group_deleted: {
    about: ['role_group'],
    text: 'A role group was deleted.',
    details: deleted(groupFields),
  },
  role_group_cloned: {
    about: ['role_group'],
    text: 'A role group was cloned with its roles.',
    details: created({ ...groupFields, cloned_from: uuid, roles: count }),
  },
  role_group_roles_changed: {
    about: ['role_group'],
    text: 'Roles were added to a role group or removed from it.',
    details: changed({ roles: texts }),
  },
  role_groups_synced: {
    about: ['role_group'],
    text: "Links were repaired from each role's role_group_id.",
    details: { created: count, skipped: count },
  },
  permission_group_created: {
    about: ['permission_group'],
    text: 'A permission group was created.',
    details: { ...created(groupFields), via },
  },
  permission_group_updated: {
    about: ['permission_group'],
    text: 'A permission group was changed. If its name changed, its permissions were renamed.',
    details: changed(groupFields),
  },
  permission_group_moved: {
    about: ['permission_group'],
    text: 'A permission group was moved to another parent.',
    details: changed(groupFields),
  },
  permission_group_deleted: {
    about: ['permission_group'],
    text: 'A permission group was deleted.',
    details: deleted(groupFields),
  },
  permission_created: {
    about: ['permission'],
    text: 'A permission was created.',
    details: { ...created(permissionFields), via },
  },
  permission_deleted: {
    about: ['permission'],
    text: 'A permission was deleted.',
    details: deleted(permissionFields),
  },
  permission_renamed: {
    about: ['permission'],
    text: 'An upgrade added a built-in permission with the name of one of your permissions; yours was renamed.',
    details: changed({ name: text }),
  },
} as const satisfies Record<string, AuditActionEntry>;
