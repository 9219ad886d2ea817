// Replaces or removes the roles of a user.
import type { AccessPreviewEnvelope } from '@castellan/contract/access-changes';
import type { User } from '@castellan/contract/users';
import { AppError } from '../../../platform/errors.ts';
import type { Versioned } from '../../../platform/http/record-version.ts';
import type { RoleChange } from '../../assignments/service.ts';
import type { Caller } from '../../authz/caller.ts';
import { change, type Run } from '../../authz/change.ts';
import { type PreviewDeps, preview } from '../../authz/impact/preview.ts';
import type { VersionedUser } from '../presentation.ts';
import { present, type UserDeps } from '../service.ts';
import { planChanges } from './change-plans.ts';
import { carryOut } from './changes.ts';

/**
 * Changes the roles of a user; ids are canonical. Removing a role that the user does not have changes nothing. Throws
 * 404 (user or role), 412, 403.
 */
export async function changeRoles(
  deps: UserDeps,
  caller: Caller,
  id: string,
  roles: RoleChange,
): Promise<Versioned<User>> {
  const [record] = await change(deps, caller, changing(id, roles));
  if (!record) throw new AppError('user_not_found');
  return present(deps, record);
}

export const previewRoles = (
  deps: PreviewDeps,
  caller: Caller,
  id: string,
  roles: RoleChange,
): Promise<AccessPreviewEnvelope> =>
  preview(deps, caller, { resourceType: 'user', resourceId: id }, changing(id, roles));

const changing =
  (id: string, roles: RoleChange): Run<VersionedUser[]> =>
  async (locking) => {
    const at = (field: string) => (field === 'role_id' ? 'role_ids' : field);
    return carryOut(await planChanges(locking, [{ id, fields: {}, roles, at }]));
  };
