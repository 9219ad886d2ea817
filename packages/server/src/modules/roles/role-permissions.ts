// Changes the permissions of one role. What a change of permissions requires is in permission-plans.ts.
import type { AccessPreviewEnvelope } from '@castellan/contract/access-changes';
import type { Role } from '@castellan/contract/roles';
import type { Versioned } from '../../platform/http/record-version.ts';
import type { Caller } from '../authz/caller.ts';
import { change, type Entitled, type Locking, type Run } from '../authz/change.ts';
import { requireMayTake } from '../authz/delegation.ts';
import { preview } from '../authz/impact/preview.ts';
import {
  carryOut,
  changesAnything,
  type PermissionChange,
  type PlannedPermissions,
  permissionsDelta,
  permissionsEntry,
  planPermissions,
  requireMayChangePermissions,
  requireNoSystemRoles,
  requirePermissions,
} from './permission-plans.ts';
import { type RoleDeps, requireRole, versionedRole } from './record.ts';
import { type RoleRecord, readRole } from './store.ts';

/**
 * Replaces or removes permissions of a role. Throws 404 (role, or ids that are not permissions), 412, and what
 * `requirePermissionPlan` throws.
 */
export const changePermissions = (
  deps: RoleDeps,
  caller: Caller,
  id: string,
  wanted: PermissionChange,
): Promise<Versioned<Role>> => change(deps, caller, changingPermissions(id, wanted));

export const previewPermissions = (
  deps: RoleDeps,
  caller: Caller,
  id: string,
  wanted: PermissionChange,
): Promise<AccessPreviewEnvelope> =>
  preview(deps, caller, { resourceType: 'role', resourceId: id }, changingPermissions(id, wanted));

const changingPermissions =
  (id: string, wanted: PermissionChange): Run<Versioned<Role>> =>
  async (locking) => {
    const before = await requireRole(locking, id);
    const { entitled, plan } = await requirePermissionPlan(locking, before, wanted);
    if (!changesAnything(plan)) return entitled.unchanged(versionedRole(before));
    await carryOut(entitled, [plan]);
    const after = await readRole(locking.tx, id);
    return entitled.done(versionedRole(after), permissionsDelta([plan]), permissionsEntry(before, after));
  };

/**
 * Locks the permissions, checks the change of one role and returns what is needed. Writes nothing, so that a transaction
 * takes all locks before its first write. Throws `system_role`, `permission_not_found`, 401 or 403 (the caller lost
 * access), `privilege_escalation`. Permissions that stay need not be held by the caller.
 */
export async function requirePermissionPlan(
  locking: Locking,
  role: RoleRecord,
  wanted: PermissionChange,
): Promise<{ entitled: Entitled; plan: PlannedPermissions }> {
  const plan = planPermissions({ role, wanted });
  requireNoSystemRoles([{ role, wanted }]);
  await requirePermissions(locking.tx, [{ role, wanted }]);
  const entitled = await locking.entitle();
  await requireMayChangePermissions(entitled, [plan]);
  await requireMayTake(entitled, { permissions: [plan] });
  return { entitled, plan };
}
