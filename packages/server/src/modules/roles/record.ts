// A role as its service handles it: found and locked, shown without its version, written to the audit log.
// It must not change a role.
import type { Role } from '@castellan/contract/roles';
import type { Db, Tx } from '../../database.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import type { Logger } from '../../platform/log.ts';
import { type AuditEvent, recordChange } from '../audit/service.ts';
import type { Actor } from '../authz/guard.ts';
import { lockRole, type RoleRecord } from './store.ts';

/** `defaultRole`: the name by which registrations find their role. */
export type RoleDeps = { db: Db; log: Logger; settings: { defaultRole: string } };

export const withoutVersion = ({ version: _version, ...role }: RoleRecord): Role => role;
export const versionedRole = (role: RoleRecord): Versioned<Role> => ({
  record: withoutVersion(role),
  version: role.version,
});

/** Locked until the transaction ends. Throws 404, then 412. */
export async function requireRole(
  tx: Tx,
  id: string,
  ifMatch: readonly number[] | null,
): Promise<RoleRecord> {
  const role = await lockRole(tx, id);
  if (!role) throw new AppError('role_not_found');
  await requireVersion(ifMatch, role.version, () => withoutVersion(role));
  return role;
}

export const permissionNamesOf = (role: RoleRecord): string[] =>
  role.permissions.map((permission) => permission.name);

/** For the audit log, which keeps the fields that differ between two of them. */
export const snapshotOf = (role: RoleRecord) => ({
  name: role.name,
  description: role.description,
  role_group_id: role.role_group_id,
  permissions: permissionNamesOf(role),
});

export async function recordRole(
  tx: Tx,
  deps: RoleDeps,
  client: Client,
  actor: Actor,
  action: AuditEvent['action'],
  id: string,
  change: Pick<AuditEvent, 'before' | 'after'>,
): Promise<void> {
  const about = { action, actorId: actor.user_id, resourceType: 'role', resourceId: id };
  await recordChange(tx, deps.log, client, { ...about, ...change });
}
