// Seeds the database at every start: built-in permissions; in a new database also roles, their groups and a superuser.
// It adds missing records and keeps `Admin` complete. The only other change: it renames a customer's permission if a
// new built-in permission needs its name (docs/decisions/0005-names-of-new-permissions.md).
import { type Permission, permissionCatalogue } from '@castellan/contract/permissions';
import { newId, randomToken } from '../../platform/ids.ts';
import type { Logger } from '../../platform/logging/log.ts';
import type { Tx } from '../../schema/database.ts';
import { assignAdmin } from '../assignments/unattended.ts';
import { recordChange } from '../audit/service.ts';
import { addMissingKeys } from '../sessions/keys/ring.ts';
import {
  addAllPermissions,
  addPermissions,
  ensurePermissionGroups,
  ensurePermissions,
  ensureRole,
  ensureRoleGroup,
  freeName,
  hasAnyUser,
  insertSuperuser,
  namesInUse,
} from './store.ts';

const groupDescriptions: Readonly<Record<string, string>> = {
  user: 'Reading a user, giving roles to one',
  users: 'Managing user accounts',
  self: 'The own account',
  user_attribute: 'Managing the attributes of users',
  role: 'Managing roles',
  role_group: 'Managing role groups',
  permission_group: 'Managing permission groups',
  permission: 'Managing permissions',
  audit_log: 'The audit log',
  access: 'Decisions and explanations about others, changes of access, and the change feed',
  service_account: 'Managing service accounts and their API keys',
  application: 'Managing the applications that people sign in to',
  api_resource: 'Managing the APIs that tokens of applications are made for',
  identity_provider: 'Managing the identity providers that people sign in with',
  webhook: 'Managing the endpoints that are told of events',
  settings: 'The settings of the service',
  session: 'The sessions of all users',
  second_factor: 'The second factors of users',
  token: 'Checking access tokens and API keys',
  authentication: 'What roles and permissions ask of sign-ins',
} satisfies Record<keyof typeof permissionCatalogue, string>;

type SeedRole = {
  name: string;
  isSystem: boolean;
  group: string;
  description: string;
  /** Those that the catalogue does not have are left out. */
  permissions: readonly string[];
  /** The permission with which the role came: the start that adds it to a database creates the role, too. */
  since?: Permission;
};

const roles: readonly SeedRole[] = [
  {
    name: 'Admin',
    isSystem: true,
    group: 'Administrative',
    description: 'Every permission',
    permissions: [],
  },
  {
    name: 'Manager',
    isSystem: false,
    group: 'Operational',
    description: 'Sees users, roles and permissions',
    permissions: [
      'user.read',
      'users.read',
      'role.read',
      'role_group.read',
      'permission.read',
      'permission_group.read',
      'self.update_profile',
    ],
  },
  {
    name: 'User',
    isSystem: false,
    group: 'Standard',
    description: 'Takes care of the own account',
    permissions: ['self.update_profile'],
  },
  {
    name: 'Service',
    isSystem: false,
    group: 'Standard',
    description: 'Asks for decisions, as a service account',
    permissions: ['access.check', 'token.introspect', 'access.watch'],
    since: 'access.check',
  },
];

/** Names of the records that every start, or the first one, creates. */
export const seededNames = {
  roles: roles.map(({ name }) => name),
  roleGroups: [...new Set(roles.map(({ group }) => group))],
  permissionGroups: Object.keys(permissionCatalogue),
};

export type FirstSuperuser = { email: string; passwordHash: string };

/** Tells the caller whether to hash a password for the first superuser, which must happen outside the transaction. */
export { hasAnyUser };

/** Returns a password for the first superuser: 144 random bits, and a character of each required kind. */
export const makePassword = (): string => `${randomToken().slice(0, 24)}aB7!`;

/** Seeds the database. Call it under the advisory lock of the start. Returns whether it created the superuser. */
export async function seed(
  tx: Tx,
  log: Logger,
  secretKey: Buffer,
  superuser: FirstSuperuser | null,
): Promise<boolean> {
  const added = await seedPermissions(tx, log);
  const isNew = !(await hasAnyUser(tx));
  for (const role of roles) {
    // A role that an administrator deleted or renamed is not created again. `Admin` can be neither deleted nor renamed.
    const isDue = isNew || role.isSystem || (role.since !== undefined && added.has(role.since));
    if (!isDue) continue;
    const groupId = await ensureRoleGroup(tx, newId(), role.group);
    const { id, created } = await ensureRole(tx, {
      id: newId(),
      name: role.name,
      description: role.description,
      isSystem: role.isSystem,
      groupId,
    });
    if (role.isSystem) await addAllPermissions(tx, id);
    else if (created) await addPermissions(tx, id, role.permissions);
  }
  await addMissingKeys(tx, secretKey);
  if (!superuser || !isNew) return false;
  const id = newId();
  await insertSuperuser(tx, id, superuser.email, superuser.passwordHash);
  await assignAdmin(tx, id);
  return true;
}

/**
 * Adds the missing permissions and their groups. Returns the names of the added permissions. A start that finds all of
 * them sends three statements.
 */
async function seedPermissions(tx: Tx, log: Logger): Promise<Set<string>> {
  const groups = Object.keys(permissionCatalogue);
  const permissions = Object.entries(permissionCatalogue).flatMap(([group, actions]) =>
    actions.map((action) => ({ group, name: `${group}.${action}` })),
  );
  const names = permissions.map(({ name }) => name);
  await ensurePermissionGroups(tx, {
    ids: groups.map(newId),
    names: groups,
    descriptions: groups.map((group) => groupDescriptions[group] ?? ''),
  });
  for (const name of await namesInUse(tx, names)) await renameConflicting(tx, log, name);
  return ensurePermissions(tx, {
    ids: names.map(newId),
    names,
    groups: permissions.map(({ group }) => group),
  });
}

/**
 * Renames a customer's permission that has the name of a built-in one. Its holders were granted the customer's
 * permission, so they must not get the built-in one.
 */
async function renameConflicting(tx: Tx, log: Logger, name: string): Promise<void> {
  const renamed = await freeName(tx, name);
  if (!renamed) return;
  const { id, from, to } = renamed;
  log.warn(
    { permission_id: id, from, to },
    'a new built-in permission has this name: your permission was renamed, and its roles keep it',
  );
  await recordChange(tx, { log, writer: null }, null, {
    action: 'permission_renamed',
    actorId: null,
    resourceType: 'permission',
    resourceId: id,
    before: { name: from },
    after: { name: to },
  });
}
