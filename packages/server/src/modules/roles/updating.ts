// Changes a role: its name, description, home group and permissions.
import { isDeepStrictEqual } from 'node:util';
import type { AccessPreviewEnvelope } from '@castellan/contract/access-changes';
import type { Role, UpdateRoleBody } from '@castellan/contract/roles';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import { cleanDescription, cleanName, requireNoId } from '../../platform/security/record-text.ts';
import type { Caller } from '../authz/caller.ts';
import { change, type Run } from '../authz/change.ts';
import { requireMayGrantRoles } from '../authz/delegation.ts';
import { preview } from '../authz/impact/preview.ts';
import { lockGroupTree, moveRole, requireGroup } from './group-links.ts';
import { carryOut, changesAnything, permissionsDelta, permissionsEntry } from './permission-plans.ts';
import {
  MAX_NAME_LENGTH,
  type RoleDeps,
  requireRole,
  roleEntry,
  snapshotOf,
  versionedRole,
} from './record.ts';
import { requirePermissionPlan } from './role-permissions.ts';
import { lockRoleNames, type RoleRecord, readRole, updateRoleFields } from './store.ts';

/** Changes a role. Writes nothing if every field already has its value. Throws 404, 412, 403, 409. */
export const updateRole = async (
  deps: RoleDeps,
  caller: Caller,
  id: string,
  body: UpdateRoleBody,
): Promise<Versioned<Role>> => change(deps, caller, updating(deps, id, body));

export const previewRoleUpdate = async (
  deps: RoleDeps,
  caller: Caller,
  id: string,
  body: UpdateRoleBody,
): Promise<AccessPreviewEnvelope> =>
  preview(deps, caller, { resourceType: 'role', resourceId: id }, updating(deps, id, body));

function updating(deps: RoleDeps, id: string, body: UpdateRoleBody): Run<Versioned<Role>> {
  const { name: given, description: text, permission_ids, role_group_id, ...rest } = body;
  allHandled(rest);
  const name = given === undefined ? undefined : cleanName(given, MAX_NAME_LENGTH);
  const description = text === undefined ? undefined : cleanDescription(text);
  const groupId = role_group_id === undefined ? undefined : (role_group_id?.toLowerCase() ?? null);
  return async (locking) => {
    const { tx } = locking;
    if (groupId !== undefined) await lockGroupTree(tx);
    const before = await requireRole(locking, id);
    if (before.is_system && name !== undefined && name !== before.name)
      throw new AppError('system_role', { detail: 'The name of a system role cannot be changed.' });
    if (name !== undefined && name !== before.name) requireNoId(name);
    const isDefault = name !== undefined && becomesDefault(deps, before, name);
    if (groupId) await requireGroup(tx, groupId);
    // Takes every lock before the first write, because a write blocks all other changes of roles.
    if (name !== undefined && name !== before.name) await lockRoleNames(tx);
    const { entitled, plan } = permission_ids
      ? await requirePermissionPlan(locking, before, { replace: permission_ids })
      : { entitled: await locking.entitle(), plan: null };
    const plans = plan && changesAnything(plan) ? [plan] : [];
    // Everyone who registers gets the default role, so taking its name grants the role's permissions to all of them.
    if (isDefault) await requireMayGrantRoles(entitled, [id]);
    const moved = groupId !== undefined && (await moveRole(entitled, id, before.role_group_id, groupId));
    const fields = { name: name ?? before.name, description: description ?? before.description };
    const isRewritten = !isDeepStrictEqual(fields, { name: before.name, description: before.description });
    if (!moved && !isRewritten && plans.length === 0) return entitled.unchanged(versionedRole(before));
    if (isRewritten) await updateRoleFields(entitled, id, fields);
    await carryOut(entitled, plans);
    const after = await readRole(tx, id);
    const updated = roleEntry('role_updated', after, {
      before: snapshotOf(before),
      after: snapshotOf(after),
    });
    const entries = plans.map(() => permissionsEntry(before, after));
    return entitled.done(versionedRole(after), permissionsDelta(plans), updated, ...entries);
  };
}

/**
 * Returns whether the new name makes this the default role. Throws `conflict` if the default role would lose its name.
 */
function becomesDefault(deps: RoleDeps, role: RoleRecord, name: string): boolean {
  const isDefault = (one: string): boolean => one.toLowerCase() === deps.settings.defaultRole.toLowerCase();
  if (isDefault(role.name) && !isDefault(name))
    throw new AppError('conflict', {
      detail: 'New accounts get this role, because DEFAULT_ROLE names it. Change that setting first.',
    });
  return isDefault(name) && !isDefault(role.name);
}
