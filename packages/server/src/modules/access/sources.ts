// Presents the roles through which a subject holds a permission, with their role groups.
// It must not decide through which roles: `sourcesOf` and `allSourcesOf` (authz/effective.ts) do.
import type { PermissionSource } from '@castellan/contract/explanations';
import type { Db } from '../../schema/database.ts';
import type { RoleNode } from '../authz/graph/graph.ts';
import { findRoleGroupPaths } from './sources-store.ts';

/** Returns a function that presents these roles, after one statement for all of them. */
export async function presenterOf(
  db: Db,
  roleIds: readonly string[],
): Promise<(role: RoleNode) => PermissionSource> {
  const groups = Map.groupBy(await findRoleGroupPaths(db, roleIds), ({ role_id }) => role_id);
  // A role holds many permissions, so its record is made once.
  const presented = new Map<string, PermissionSource>();
  return (role) => {
    const known = presented.get(role.id);
    if (known) return known;
    const { id, name, is_system } = role;
    const source = {
      role: { id, name, is_system },
      role_groups: (groups.get(id) ?? []).map(({ path }) => path),
    };
    presented.set(id, source);
    return source;
  };
}
