// The permissions that the service itself checks, by group: the source of the seed and of every route's `access`.
// A product's own permissions live in the database only.

/** Permission group → actions. A permission's name is `<group>.<action>`. */
export const permissionCatalogue = {
  user: ['read', 'update'],
  users: ['read', 'create', 'update', 'delete'],
  self: ['update_profile'],
  role: ['read', 'create', 'update', 'delete'],
  role_group: ['read', 'create', 'update', 'delete'],
  permission_group: ['read', 'create', 'update', 'delete'],
  permission: ['read', 'create', 'delete'],
  audit_log: ['read'],
} as const;

type Catalogue = typeof permissionCatalogue;
export type Permission = { [G in keyof Catalogue]: `${G}.${Catalogue[G][number]}` }[keyof Catalogue];

export const allPermissions: readonly Permission[] = Object.entries(permissionCatalogue).flatMap(
  ([group, actions]) => actions.map((action) => `${group}.${action}` as Permission),
);

/** Who may call an operation. A route without one does not register. */
export type Access = 'public' | 'authenticated' | Permission;
