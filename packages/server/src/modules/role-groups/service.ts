// Rules of single role groups. Bulk operations are in bulk.ts, the roles of a group in roles-of-group.ts.
import type { CreateRoleGroupBody, RoleGroup, UpdateRoleGroupBody } from '@castellan/contract/role-groups';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import type { GroupDeps, GroupInput } from '../group-trees/service.ts';
import { roleGroups } from './record.ts';
import { findSubtrees } from './store.ts';

export { roleGroups } from './record.ts';

/** Returns a group with its descendants, whose roles are left out unless `includeNestedRoles`. Throws 404. */
export async function getRoleGroup(
  deps: GroupDeps,
  id: string,
  includeNestedRoles: boolean,
): Promise<Versioned<RoleGroup>> {
  const rows = await findSubtrees(deps.db, [id]);
  if (!includeNestedRoles) for (const row of rows) if (row.id !== id) row.roles = [];
  const [group] = roleGroups.treesOf(rows);
  if (!group) throw new AppError('role_group_not_found');
  return group;
}

/** Reads a body into changes. A missing field stays unchanged. */
export function readRoleGroup(body: CreateRoleGroupBody): GroupInput & { name: string };
export function readRoleGroup(body: UpdateRoleGroupBody): GroupInput;
export function readRoleGroup({ name, description, parent_id, ...rest }: UpdateRoleGroupBody): GroupInput {
  allHandled(rest);
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(parent_id === undefined ? {} : { parent_id }),
  };
}
