// The built-in permissions by group, from which the seed and the `access` of every route are derived.
// A product's own permissions are only in the database.

/** Permission group → actions. A permission's name is `<group>.<action>`. */
export const permissionCatalogue = {
  user: ['read', 'update'],
  users: ['read', 'create', 'update', 'delete', 'act_as'],
  self: ['update_profile'],
  user_attribute: ['read', 'create', 'update', 'delete'],
  role: ['read', 'create', 'update', 'delete'],
  role_group: ['read', 'create', 'update', 'delete'],
  permission_group: ['read', 'create', 'update', 'delete'],
  permission: ['read', 'create', 'delete'],
  audit_log: ['read'],
  access: ['check', 'explain', 'change', 'watch'],
  service_account: ['read', 'create', 'update', 'delete'],
  application: ['read', 'create', 'update', 'delete'],
  api_resource: ['read', 'create', 'update', 'delete'],
  identity_provider: ['read', 'update'],
  webhook: ['read', 'create', 'update', 'delete'],
  settings: ['read'],
  session: ['read', 'revoke'],
  second_factor: ['read', 'reset'],
  token: ['introspect'],
  authentication: ['read', 'update'],
} as const;

type Catalogue = typeof permissionCatalogue;
export type Permission = { [G in keyof Catalogue]: `${G}.${Catalogue[G][number]}` }[keyof Catalogue];

// The cast is needed because Object.entries() does not keep which actions belong to which group.
export const allPermissions: readonly Permission[] = Object.entries(permissionCatalogue).flatMap(
  ([group, actions]) => actions.map((action) => `${group}.${action}` as Permission),
);

/**
 * The permissions to administer the service: all built-in ones except those of the user's own account. Names identify
 * them: they are unique and contain the group, which cannot be renamed or created a second time.
 */
export const administrativePermissions: readonly Permission[] = allPermissions.filter(
  (permission) => !permission.startsWith('self.'),
);

/**
 * Permissions of whose operations each asks a person for a proof of the last STEP_UP_MAX_AGE minutes. Handing one of them out
 * asks for the same.
 */
export const freshPermissions: readonly Permission[] = [
  'authentication.update',
  'second_factor.reset',
  'users.act_as',
];

/**
 * Who may call an operation: `authenticated` is everyone with a credential, `user` a signed-in user. A route without one does not register. */
export type Access = 'public' | 'authenticated' | 'user' | Permission;
