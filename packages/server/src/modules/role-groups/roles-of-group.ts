// Adds roles to a group and removes them, clones a group with its roles, and repairs links.
// The roles module decides which links are allowed.
import type { RoleGroup } from '@castellan/contract/role-groups';
import { canonicalIds, requireAllFound } from '../../platform/http/ids.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import { newId } from '../../platform/ids.ts';
import { authorIdOf, type Caller } from '../authz/caller.ts';
import { change, type Locking } from '../authz/change.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { fieldsOf, type GroupDeps, insertNodes } from '../group-trees/service.ts';
import { copyLinks, linkRoles, lockGroupTree, lockRoles, syncLinks, unlinkRoles } from '../roles/service.ts';
import { cleanNewGroupName, roleGroups, TABLE } from './record.ts';
import { findRoleNames } from './store.ts';

type Group = Versioned<RoleGroup>;

/**
 * Adds or removes roles of a group. Adding a linked role or removing an unlinked one changes nothing and is no error.
 */
export async function changeGroupRoles(
  deps: GroupDeps,
  caller: Caller,
  id: string,
  wanted: { add: readonly string[] } | { remove: readonly string[] },
): Promise<Group> {
  const ids = canonicalIds('add' in wanted ? wanted.add : wanted.remove);
  return change(deps, caller, async (locking) => {
    const { tx } = locking;
    await lockGroupTree(tx);
    const group = await roleGroups.requireGroup(tx, id, caller.ifMatch);
    requireAllFound('role_not_found', 'role_ids', ids, await lockRoles(tx, ids));
    const entitled = await locking.entitle();
    const before = await findRoleNames(tx, group.id);
    const changed =
      'add' in wanted ? await linkRoles(entitled, group.id, ids) : await unlinkRoles(entitled, group.id, ids);
    const record = await roleGroups.read(tx, group.id);
    if (changed === 0) return entitled.unchanged(record);
    const links = { before: { roles: before }, after: { roles: await findRoleNames(tx, group.id) } };
    const entry = roleGroups.entry('role_group_roles_changed', group.id, {
      resourceName: group.name,
      ...links,
    });
    return entitled.done(record, sameAccess, entry);
  });
}

/** Clones a group under another name, with its parent, description and roles, but without its child groups. */
export async function cloneRoleGroup(
  deps: GroupDeps,
  caller: Caller,
  wanted: { originalId: string; name: string },
  settle: Settle<Group>,
): Promise<Group> {
  const name = cleanNewGroupName(wanted.name);
  const clone = async (locking: Locking) => {
    const { tx } = locking;
    await lockGroupTree(tx);
    const original = await roleGroups.requireGroup(tx, wanted.originalId);
    const created = { ...fieldsOf(original), id: newId(), name, created_by_id: authorIdOf(caller) };
    const entitled = await locking.entitle();
    await insertNodes(entitled, TABLE, [created]);
    const roles = await copyLinks(entitled, original.id, created.id);
    const after = { ...fieldsOf(created), cloned_from: original.id, roles };
    const cloned = roleGroups.entry('role_group_cloned', created.id, { before: null, after });
    return entitled.done(await roleGroups.read(tx, created.id), sameAccess, cloned);
  };
  return change(deps, caller, clone, settle);
}

/** Creates the missing links of each role's `role_group_id`. A second call creates none. */
export async function syncRoles(
  deps: GroupDeps,
  caller: Caller,
): Promise<{ created: number; skipped: number }> {
  return change(deps, caller, async (locking) => {
    await lockGroupTree(locking.tx);
    const entitled = await locking.entitle();
    const result = await syncLinks(entitled);
    if (result.created === 0) return entitled.unchanged(result);
    return entitled.done(result, sameAccess, roleGroups.entry('role_groups_synced', '', { details: result }));
  });
}
