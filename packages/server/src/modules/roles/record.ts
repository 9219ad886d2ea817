// Shared by the services of roles: finds and locks a role, presents it, and describes it for the audit log.
// It must not change a role.
import type { Role } from '@castellan/contract/roles';
import { AppError } from '../../platform/errors.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import type { Entry, Locking } from '../authz/change.ts';
import type { PreviewDeps } from '../authz/impact/preview.ts';
import { lockRole, type RoleRecord } from './store.ts';

/** `defaultRole` is the name of the role that registered users get. */
export type RoleDeps = PreviewDeps & { settings: { defaultRole: string } };

/** Maximum characters of a name (decisions: 1 to 250). */
export const MAX_NAME_LENGTH = 250;

export const withoutVersion = ({ version: _version, ...role }: RoleRecord): Role => role;
export const versionedRole = (role: RoleRecord): Versioned<Role> => ({
  record: withoutVersion(role),
  version: role.version,
});

/** Locks a role until the transaction ends and returns it. Throws 404, then 412. */
export async function requireRole({ tx, caller }: Locking, id: string): Promise<RoleRecord> {
  const role = await lockRole(tx, id);
  if (!role) throw new AppError('role_not_found');
  await requireVersion(caller.ifMatch, role.version, () => withoutVersion(role));
  return role;
}

export const permissionNamesOf = (role: RoleRecord): string[] =>
  role.permissions.map((permission) => permission.name);

/** Returns the fields for the audit log, which keeps those that differ between two snapshots. */
export function snapshotOf(role: RoleRecord) {
  const { id, is_system, version, created_at, updated_at, created_by_id, ...fields } = role;
  return { ...fields, permissions: permissionNamesOf(role) };
}

/** Returns the audit entry of a change of a role, which is named as in `role`. */
export const roleEntry = (
  action: Entry['action'],
  role: Pick<RoleRecord, 'id' | 'name'>,
  change: Pick<Entry, 'before' | 'after'>,
): Entry => ({ action, resourceType: 'role', resourceId: role.id, resourceName: role.name, ...change });
