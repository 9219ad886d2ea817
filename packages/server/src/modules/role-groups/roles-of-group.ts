// The roles of a group: adding and taking out, copying them with the group, and repairing the links.
// Which links there may be is the business of the roles module.
import { inTransaction } from '../../platform/db/transaction.ts';
import { fieldsOf } from '../../platform/db/tree-rows.ts';
import type { Client } from '../../platform/http/client.ts';
import { canonicalIds, requireAllFound } from '../../platform/http/ids.ts';
import { newId } from '../../platform/ids.ts';
import { cleanName } from '../../platform/security/record-text.ts';
import { requireStillEntitled } from '../authz/delegation.ts';
import type { Actor } from '../authz/guard.ts';
import { copyLinks, linkRoles, lockGroupTree, lockRoles, syncLinks, unlinkRoles } from '../roles/service.ts';
import {
  type Group,
  MAX_GROUP_NAME_LENGTH,
  type RoleGroupDeps,
  readGroup,
  recordGroup,
  requireGroup,
} from './record.ts';
import { findRoleNames, insertGroups } from './store.ts';

/** Adding a role that is there, or taking out one that is not, changes nothing and is no error. */
export async function changeGroupRoles(
  deps: RoleGroupDeps,
  client: Client,
  actor: Actor,
  id: string,
  change: { add: readonly string[] } | { remove: readonly string[] },
  ifMatch: readonly number[] | null,
): Promise<Group> {
  const ids = canonicalIds('add' in change ? change.add : change.remove);
  return inTransaction(deps.db, async (tx) => {
    await lockGroupTree(tx);
    const group = await requireGroup(tx, id, ifMatch);
    requireAllFound('role_not_found', 'role_ids', ids, await lockRoles(tx, ids));
    await requireStillEntitled(tx, actor);
    const before = await findRoleNames(tx, group.id);
    const changed =
      'add' in change ? await linkRoles(tx, group.id, ids) : await unlinkRoles(tx, group.id, ids);
    if (changed > 0) {
      const links = { before: { roles: before }, after: { roles: await findRoleNames(tx, group.id) } };
      await recordGroup(tx, deps, client, actor, 'role_group_roles_changed', group.id, links);
    }
    return (await readGroup(tx, group.id)) as Group;
  });
}

/** The clone has the original's parent, description and roles, not its children. */
export async function cloneRoleGroup(
  deps: RoleGroupDeps,
  client: Client,
  actor: Actor,
  id: string,
  newName: string,
): Promise<Group> {
  const name = cleanName(newName, MAX_GROUP_NAME_LENGTH);
  return inTransaction(deps.db, async (tx) => {
    await lockGroupTree(tx);
    const original = await requireGroup(tx, id, null);
    const clone = { ...fieldsOf(original), id: newId(), name, created_by_id: actor.user_id };
    await requireStillEntitled(tx, actor);
    await insertGroups(tx, [clone]);
    const roles = await copyLinks(tx, original.id, clone.id);
    const change = { before: null, after: { ...fieldsOf(clone), cloned_from: original.id, roles } };
    await recordGroup(tx, deps, client, actor, 'role_group_cloned', clone.id, change);
    return (await readGroup(tx, clone.id)) as Group;
  });
}

/** Repairs links from each role's `role_group_id`. A second run finds nothing to create. */
export async function syncRoles(
  deps: RoleGroupDeps,
  client: Client,
  actor: Actor,
): Promise<{ created: number; skipped: number }> {
  return inTransaction(deps.db, async (tx) => {
    await lockGroupTree(tx);
    await requireStillEntitled(tx, actor);
    const result = await syncLinks(tx);
    await recordGroup(tx, deps, client, actor, 'role_groups_synced', '', { details: result });
    return result;
  });
}
