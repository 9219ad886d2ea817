// Defines role groups as a kind of group tree, with helpers that their services share.
import type { RoleGroup } from '@castellan/contract/role-groups';
import { nest } from '../../platform/db/trees.ts';
import { cleanName, cleanNewName } from '../../platform/security/record-text.ts';
import type { Db } from '../../schema/database.ts';
import { createGroupTrees } from '../group-trees/service.ts';
import { lockGroupTree } from '../roles/service.ts';
import { countMembers, findSubtrees, type GroupRow, requireNoSharedRole } from './store.ts';

export const TABLE = 'role_groups';

/** Maximum characters of a name (decisions: 1 to 250). */
const MAX_GROUP_NAME_LENGTH = 250;

/** Returns the normalized name of a new group. Throws `validation_failed`, which names `field`. */
export const cleanNewGroupName = (name: string, field?: string): string =>
  cleanNewName(name, MAX_GROUP_NAME_LENGTH, field);

export const roleGroups = createGroupTrees<GroupRow, RoleGroup>({
  table: TABLE,
  type: 'role_group',
  actions: {
    created: 'role_group_created',
    updated: 'role_group_updated',
    moved: 'role_group_moved',
    deleted: 'role_group_deleted',
  },
  memberNoun: 'role',
  lockTree: lockGroupTree,
  cleanName: (name) => cleanName(name, MAX_GROUP_NAME_LENGTH),
  findSubtrees,
  // The return type of `nest` describes one level of children only.
  nest: (rows) => nest(rows, 'children') as RoleGroup[],
  requirePlace: async (tx, id, parentId) => {
    if (id !== null) await requireNoSharedRole(tx, id, parentId);
  },
  countMembers,
});

/**
 * Returns the groups in the order of the ids, without children: `parent_id` describes the tree, so nothing is repeated.
 */
export async function readGroups(db: Db, ids: readonly string[]): Promise<RoleGroup[]> {
  const byId = new Map((await findSubtrees(db, ids)).map(({ version: _version, ...row }) => [row.id, row]));
  return ids.flatMap((id) => {
    const node = byId.get(id);
    return node ? [{ ...node, children: [] }] : [];
  });
}
