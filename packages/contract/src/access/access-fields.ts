// Fields that say what somebody may do, or in which state a record is. Every write of an administered record takes them or
// refuses them (`field_not_allowed`); it ignores other unknown fields.
import Type, { type TProperties } from 'typebox';
import { MAX_IDS, Uuid } from '../http/common.ts';

/** Lists of ids that have several names. A body that declares one of them takes the others, too: see `withOtherNames`. */
export const idListNames = [
  ['role_id', 'role_ids', 'roles'],
  ['permission_ids', 'permissions'],
] as const;

export const accessFields = [
  'is_active',
  'is_superuser',
  'is_system',
  'verified',
  'is_verified',
  'must_change_password',
  'password',
  'expires_at',
  'revoked_at',
  'invited_at',
  'deletion_due_at',
  ...idListNames.flat(),
] as const;
export type AccessField = (typeof accessFields)[number];

export const isAccessField = (name: string): name is AccessField =>
  (accessFields as readonly string[]).includes(name);

/** Returns all names of a list of ids; undefined for the name of anything else. */
export const otherNamesOf = (name: string): readonly string[] | undefined =>
  idListNames.find((names: readonly string[]) => names.includes(name));

/**
 * Adds the other names of each list of ids, as optional fields. They are missing in the type, because the server passes
 * what they hold to a handler under the declared name.
 */
export function withOtherNames<T extends TProperties>(properties: T): T {
  const others = idListNames.flatMap((names: readonly string[]) => {
    const declared = names.find((name) => name in properties);
    return declared === undefined
      ? []
      : names.filter((name) => name !== declared).map((name) => [name, declared]);
  });
  const added = others.map(([name = '', declared]) => [
    name,
    Type.Optional(
      Type.Array(Uuid, {
        maxItems: MAX_IDS,
        description: `Another name of \`${declared}\`. Send one of them.`,
      }),
    ),
  ]);
  return { ...properties, ...Object.fromEntries(added) };
}

/** What the operations of a record are about. */
export type RecordKind =
  | 'user'
  | 'user_attribute'
  | 'role'
  | 'role_group'
  | 'permission_group'
  | 'permission'
  | 'service_account'
  | 'api_key'
  | 'application'
  | 'application_secret'
  | 'api_resource'
  | 'identity_provider'
  | 'webhook'
  | 'webhook_secret'
  | 'access_change';

const USER = 'PUT /api/v1/users/{user_id}';
const INVITATION = '/api/v1/users/{user_id}/invitation';
const ROLE_PERMISSIONS = 'POST /api/v1/roles/{role_id}/permissions';
const ACCOUNT = 'PUT /api/v1/service-accounts/{service_account_id}';
const CHANGES = 'POST /api/v1/access/changes';
const APPLICATION = 'PUT /api/v1/applications/{application_id}';
const SECRETS = '/api/v1/applications/{application_id}/secrets';
const PROVIDER = 'PUT /api/v1/identity-providers/{provider_id}';
const WEBHOOK = 'PUT /api/v1/webhooks/{webhook_id}';
const WEBHOOK_SECRETS = '/api/v1/webhooks/{webhook_id}/secrets';
const KEYS = '/api/v1/service-accounts/{service_account_id}/keys';

const all = (names: readonly AccessField[], operation: string): Partial<Record<AccessField, string>> =>
  Object.fromEntries(names.map((name) => [name, operation]));
const [roleNames, permissionNames] = idListNames;

/** The operation that sets a field of a record; none if nothing sets it. */
export const operationsThatSet: Readonly<Record<RecordKind, Partial<Record<AccessField, string>>>> = {
  user: {
    ...all(['is_active', 'is_superuser', 'verified', 'must_change_password', 'password'], USER),
    is_verified: `${USER} with \`verified\``,
    invited_at: `POST or DELETE ${INVITATION}`,
    deletion_due_at: `${USER} with \`is_active\``,
    ...all(roleNames, 'POST /api/v1/users/{user_id}/roles'),
    ...all(permissionNames, ROLE_PERMISSIONS),
  },
  user_attribute: all(permissionNames, ROLE_PERMISSIONS),
  role: all(permissionNames, ROLE_PERMISSIONS),
  role_group: {
    ...all(roleNames, 'POST /api/v1/role-groups/{group_id}/roles'),
    ...all(permissionNames, ROLE_PERMISSIONS),
  },
  permission_group: all(permissionNames, 'POST /api/v1/permissions'),
  permission: all([...roleNames, ...permissionNames], ROLE_PERMISSIONS),
  service_account: {
    is_active: ACCOUNT,
    ...all(roleNames, ACCOUNT),
    ...all(permissionNames, ROLE_PERMISSIONS),
    ...all(['password', 'expires_at'], `POST ${KEYS}`),
    revoked_at: `DELETE ${KEYS}/{key_id}`,
  },
  api_key: {
    is_active: `DELETE ${KEYS}/{key_id}`,
    revoked_at: `DELETE ${KEYS}/{key_id}`,
    ...all(roleNames, ACCOUNT),
    permissions: `POST ${KEYS}`,
    permission_ids: `POST ${KEYS} with names in \`permissions\``,
    expires_at: `POST ${KEYS}`,
  },
  application: {
    is_active: APPLICATION,
    ...all(permissionNames, `${APPLICATION} with \`required_permission_id\``),
    ...all(['password', 'expires_at'], `POST ${SECRETS}`),
    revoked_at: `DELETE ${SECRETS}/{secret_id}`,
  },
  application_secret: {
    is_active: APPLICATION,
    expires_at: `POST ${SECRETS}`,
    revoked_at: `DELETE ${SECRETS}/{secret_id}`,
  },
  api_resource: all(
    permissionNames,
    'PUT /api/v1/api-resources/{api_resource_id} with `permission_group_ids`',
  ),
  identity_provider: {
    password: `${PROVIDER} with \`client_secret\``,
    ...all(permissionNames, ROLE_PERMISSIONS),
  },
  webhook: {
    is_active: `${WEBHOOK} with \`status\``,
    ...all(['password', 'expires_at'], `POST ${WEBHOOK_SECRETS}`),
  },
  webhook_secret: { expires_at: `POST ${WEBHOOK_SECRETS} with \`overlap_seconds\`` },
  access_change: {
    is_active: `${USER} or ${ACCOUNT}`,
    ...all(['is_superuser', 'verified', 'must_change_password', 'password'], USER),
    ...all(roleNames, `${CHANGES} with \`add_role_ids\` and \`remove_role_ids\``),
    ...all(permissionNames, `${CHANGES} with \`add_permission_ids\` and \`remove_permission_ids\``),
  },
};
