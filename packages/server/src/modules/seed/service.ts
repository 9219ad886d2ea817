// What a new database starts with: the permissions that the service checks, three roles, their groups, one superuser.
// Safe at every start: it adds what is missing, keeps `Admin` complete and changes nothing else.
import { permissionCatalogue } from '@castellan/contract/permissions';
import type { Tx } from '../../database.ts';
import { newId, randomToken } from '../../platform/ids.ts';
import { addSigningKey } from '../sessions/key-ring.ts';
import {
  addAllPermissions,
  addPermissions,
  ensurePermission,
  ensurePermissionGroup,
  ensureRole,
  ensureRoleGroup,
  hasAnySigningKey,
  hasAnyUser,
  insertSuperuser,
} from './store.ts';

const groupDescriptions: Record<keyof typeof permissionCatalogue, string> = {
  user: 'Reading a user, giving roles to one',
  users: 'Managing user accounts',
  self: 'The own account',
  role: 'Managing roles',
  role_group: 'Managing role groups',
  permission_group: 'Managing permission groups',
  permission: 'Managing permissions',
  audit_log: 'The audit log',
};

const roles = [
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
] as const;

export type FirstSuperuser = { email: string; passwordHash: string };

/** True while nobody has an account: then the caller makes the first superuser's password hash, outside of the transaction. */
export { hasAnyUser };

/** A password for the first superuser: 144 random bits, and a character of each kind. */
export const makePassword = (): string => `${randomToken().slice(0, 24)}aB7!`;

/** In one transaction, under the advisory lock of the start. Answers whether the superuser was made. */
export async function seed(tx: Tx, secretKey: Buffer, superuser: FirstSuperuser | null): Promise<boolean> {
  for (const [group, actions] of Object.entries(permissionCatalogue)) {
    const groupId = await ensurePermissionGroup(
      tx,
      newId(),
      group,
      groupDescriptions[group as keyof typeof permissionCatalogue],
    );
    for (const action of actions) await ensurePermission(tx, newId(), `${group}.${action}`, groupId);
  }
  const isNew = !(await hasAnyUser(tx));
  for (const role of roles) {
    // What an administrator deleted or renamed later does not come back; `Admin` cannot be either.
    if (!isNew && !role.isSystem) continue;
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
  if (!(await hasAnySigningKey(tx))) await addSigningKey(tx, secretKey, 0);
  if (!superuser || !isNew) return false;
  await insertSuperuser(tx, newId(), superuser.email, superuser.passwordHash);
  return true;
}
